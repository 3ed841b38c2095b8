//! The inputs that the fuzz targets keep (docs/evidence/fuzzing.md), without the rest of the workspace.

use std::path::Path;

use crate::properties;

#[test]
fn kept_inputs_hold_the_properties() {
    for folder in ["dumpi_parser", "dumpi_set"] {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus");
        let files = std::fs::read_dir(corpus.join(folder)).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        assert!(files.len() > 10, "{folder} has {} files", files.len());
        for file in files {
            println!("{}", file.display());
            let bytes = std::fs::read(&file).unwrap();
            properties::dumpi_parser(&bytes);
            properties::dumpi_set(&bytes);
        }
    }
}
