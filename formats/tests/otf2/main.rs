//! OTF2: archives that the library wrote, held against its own program, and broken ones.

mod archives;
mod broken;
mod printed;

#[path = "../../../tests/fuzz/archives.rs"]
mod properties;

use properties::write;
use std::path::{Path, PathBuf};

/// An archive of `tests/corpus/otf2`.
fn corpus(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    root.join("../tests/corpus/otf2").join(name)
}
