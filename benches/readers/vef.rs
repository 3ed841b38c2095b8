//! Parse and check speed on a generated VEF3 file:
//! `cargo bench -p flitwise-formats --bench vef [-- MEGABYTES]`.
//! Above 500 MB only the plain file is read, without the text in memory.
//! Prints the median of five runs, by the clock and by the CPU time of the calling
//! thread, which a busy machine disturbs less; the file is in the page cache.

mod halo;
mod measure;

use std::fs::File;
use std::hint::black_box;
use std::path::Path;

use flitwise_formats::vef::{Parser, Reader, Step, check_file};
use halo::write_halo;
use measure::{median, peak_mb};

fn main() {
    let args = std::env::args().skip(1);
    let mb: u64 = args.filter_map(|a| a.parse().ok()).next().unwrap_or(200);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plain = dir.path().join("halo.vef");
    let bytes = write_halo(&plain, mb * 1_000_000, 8192).expect("space");
    if mb > 500 {
        measure("plain", &plain, bytes);
        println!("peak memory: {} MB", peak_mb());
        return;
    }
    let gz = dir.path().join("halo.vef.gz");
    let mut packer = flate2::write::GzEncoder::new(
        File::create(&gz).expect("a file"),
        flate2::Compression::default(),
    );
    std::io::copy(&mut File::open(&plain).expect("a file"), &mut packer).expect("space");
    packer.finish().expect("space");

    let text = std::fs::read(&plain).expect("the file");
    median("parser alone", bytes, || {
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
    println!("peak memory, with the text: {} MB", peak_mb());
    measure("plain", &plain, bytes);
    measure("gzip", &gz, bytes);
}

fn measure(name: &str, path: &Path, bytes: u64) {
    median(&format!("reader, {name}"), bytes, || {
        for record in Reader::open(path).expect("a valid trace") {
            black_box(&record.expect("a valid record"));
        }
    });
    median(&format!("check, {name}"), bytes, || {
        let check = check_file(path).expect("a valid trace");
        assert!(check.is_clean(), "{:?}", check.errors);
    });
}
