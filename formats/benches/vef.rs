//! Parse and check speed on a generated VEF3 file:
//! `cargo bench -p flitwise-formats --bench vef [-- MEGABYTES]`.
//! Above 500 MB only the plain file is read, without the text in memory.
//! Prints the median of five runs, by the clock and by the CPU time of the calling
//! thread, which a busy machine disturbs less; the file is in the page cache.

mod halo;

use std::fs::File;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use flitwise_formats::vef::{Parser, Reader, Step, check_file};
use halo::write_halo;

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

fn median(name: &str, bytes: u64, mut run: impl FnMut()) {
    let mut rates: Vec<(f64, f64)> = (0..5)
        .map(|_| {
            let (start, cpu) = (Instant::now(), cpu_seconds());
            run();
            let mb = bytes as f64 / 1e6;
            let cpu = cpu_seconds() - cpu;
            (mb / start.elapsed().as_secs_f64(), mb / cpu)
        })
        .collect();
    rates.sort_by(|a, b| f64::total_cmp(&a.1, &b.1));
    let (wall, cpu) = rates[2];
    println!("{name:16} {wall:6.0} MB/s of text by the clock, {cpu:6.0} by CPU time");
}

/// Largest resident memory of this process so far.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    kb.map_or(0, |kb| kb / 1024)
}

/// CPU time of this thread; not a number where the system doesn't tell.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    ns.map_or(f64::NAN, |ns| ns * 1e-9)
}
