#!/usr/bin/env bash
# Draws the pictures of docs/howto/gallery.md: runs the commands of the page, in a directory of their own.
#   docs/howto/gallery/make.sh target/release/flitwise
set -euo pipefail
program=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
root=$here/../../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/flitwise"
ln -s "$root/configs" "$root/traces" "$work/"
cd "$work"
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$here/../gallery.md" > commands
PATH=$work/bin:$PATH bash -euo pipefail commands
rm -f "$here"/*.svg
for picture in $(sed -n 's|^!.*(gallery/\(.*\))$|\1|p' "$here/../gallery.md"); do
    cp "$picture" "$here/"
done
du -cb "$here"/*.svg | tail -1
