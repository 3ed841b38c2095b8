//! A VEF3 file of a halo exchange.

use crate::halo::write_halo;
use crate::measure::Bench;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;

use flitwise_formats::vef::{Parser, Reader, Step, check_file};

/// A file of 200 MB times the scale.
pub fn run(bench: &mut Bench) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plain = dir.path().join("halo.vef");
    let bytes = write_halo(&plain, bench.scaled(200_000_000), 8192).expect("space");
    let gz = dir.path().join("halo.vef.gz");
    let mut packer = flate2::write::GzEncoder::new(
        File::create(&gz).expect("a file"),
        flate2::Compression::default(),
    );
    std::io::copy(&mut File::open(&plain).expect("a file"), &mut packer).expect("space");
    packer.finish().expect("space");

    let text = std::fs::read(&plain).expect("the file");
    bench.rate("VEF parser alone", "MB/s", bytes, || {
        let mut parser = Parser::new();
        let mut pos = 0;
        loop {
            match parser.next(&text[pos..], true).expect("a valid trace") {
                Step::Header { consumed, .. } | Step::Comm { consumed, .. } => pos += consumed,
                Step::Record { consumed, record } => {
                    black_box(&record);
                    pos += consumed;
                }
                Step::NeedMore | Step::End => break,
            }
        }
    });
    drop(text);
    files(bench, "plain", &plain, bytes);
    files(bench, "gzip", &gz, bytes);
}

fn files(bench: &mut Bench, name: &str, path: &Path, bytes: u64) {
    bench.rate(&format!("VEF reader, {name}"), "MB/s", bytes, || {
        for record in Reader::open(path).expect("a valid trace") {
            black_box(&record.expect("a valid record"));
        }
    });
    bench.rate(&format!("VEF check, {name}"), "MB/s", bytes, || {
        let check = check_file(path).expect("a valid trace");
        assert!(check.is_clean(), "{:?}", check.errors);
    });
}
