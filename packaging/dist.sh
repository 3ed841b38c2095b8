#!/usr/bin/env bash
# Makes the files of a release in dist/: wheels and static programs for Linux on x86-64 and aarch64, the sources
# for pip, the pages of the book, and the SHA-256 sums.
# Needs Rust by rustup and Python 3.9 with pip; the cross compiler for C comes from PyPI. `packaging/dist.sh aarch64` makes one machine's.
set -eu
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} CARGO_INCREMENTAL=0
tools=$CARGO_TARGET_DIR/dist-tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check -r packaging/requirements.txt
export PATH=$tools/bin:$PATH
[ $# -gt 0 ] || set -- x86_64 aarch64
rm -rf dist

for machine; do
    target=$machine-unknown-linux-musl
    rustup target add "$target"
    # A static program suits glibc and musl, so one wheel has the tags of both.
    (cd python && maturin build --profile dist --target "$target" --zig --compatibility manylinux_2_17 musllinux_1_1 --out ../dist)
    install -m 755 "$CARGO_TARGET_DIR/$target/dist/flitwise" "dist/flitwise-linux-$machine"
done
# For other systems, where pip compiles the program. maturin first asks for a Cargo.toml in python/, and prints an error that means nothing.
(cd python && maturin sdist --out ../dist)
# The pages that help and messages name.
tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - README.md CHANGELOG.md docs | gzip -n > dist/flitwise-docs.tar.gz
cd dist
sha256sum -- * > SHA256SUMS
ls -l
