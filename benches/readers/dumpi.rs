//! DUMPI files of a halo exchange: receives, sends, waits with a status each, and now and then a reduction,
//! as recordings of stencil codes have them.

use crate::dumpi_files::{File, Value, list, status, text};
use crate::measure::Bench;
use flitwise_formats::dumpi::{Call, Layout, Parser, Set, Step, check};
use std::hint::black_box;
use std::io::Write;

/// Neighbours of a rank.
const PEERS: i64 = 6;

/// Files of 200 MB times the scale.
pub fn run(bench: &mut Bench) {
    let file = halo(bench.scaled(200_000_000) as usize);
    let bytes = file.len() as u64;

    let mut calls = 0_u64;
    bench.rate("DUMPI parser alone", "MB/s", bytes, || calls = parse(&file));
    println!("{calls} calls, {} bytes each", bytes / calls);

    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(dir.path().join("halo-0000.bin"), &file).expect("space");
    let packed = tempfile::tempdir().expect("a temporary directory");
    let gz = std::fs::File::create(packed.path().join("halo-0000.bin.gz")).expect("a file");
    let mut packer = flate2::write::GzEncoder::new(gz, flate2::Compression::default());
    packer.write_all(&file).expect("space");
    packer.finish().expect("space");
    drop(file);

    for (name, dir) in [("plain", dir.path()), ("gzip", packed.path())] {
        let set = Set::open(dir).expect("a trace");
        bench.rate(&format!("DUMPI reader, {name}"), "MB/s", bytes, || {
            let mut reader = set.reader(0).expect("a rank");
            while reader
                .next_record(|r| {
                    black_box(r.thread);
                })
                .expect("a record")
                .is_some()
            {}
        });
        bench.rate(&format!("DUMPI check, {name}"), "MB/s", bytes, || {
            let check = check(&set).expect("a trace");
            assert!(check.is_clean(), "{:?}", check.errors);
        });
    }
}

/// Parses a file and returns its number of calls.
fn parse(file: &[u8]) -> u64 {
    let mut parser = Parser::new(Layout::default());
    let (mut rest, mut calls) = (file, 0);
    loop {
        let consumed = match parser.next(rest, true).expect("a valid file") {
            Step::Call { consumed, record } => {
                calls += 1;
                if let Call::Waitall(call) = &record.call {
                    black_box(call.statuses.len());
                }
                black_box(record.wall);
                consumed
            }
            Step::Start { consumed } | Step::EndOfCalls { consumed } => consumed,
            _ => return calls,
        };
        rest = &rest[consumed..];
    }
}

/// The file of a rank with about `bytes` bytes.
fn halo(bytes: usize) -> Vec<u8> {
    let mut file = File::default();
    file.call("MPI_Init", &[Value::List(vec![text("halo")])]);
    let before = file.body.len();
    step(&mut file);
    let one = file.body[before..].to_vec();
    let counted: Vec<u32> = file.calls.clone();
    let times = bytes / one.len();
    for _ in 1..times {
        file.body.extend(&one);
    }
    for calls in &mut file.calls {
        *calls *= times as u32;
    }
    file.calls[124] = counted[124];
    file.call("MPI_Finalize", &[]);
    file.bytes()
}

/// A step of the program.
fn step(file: &mut File) {
    file.call("MPI_Comm_rank", &[2.into(), 0.into()]);
    for peer in 0..PEERS {
        let to: Vec<Value> = [4096, 14, -2, 7, 2, 10 + peer].map(Value::Number).to_vec();
        file.call("MPI_Irecv", &to);
    }
    for peer in 0..PEERS {
        let to: Vec<Value> = [4096, 14, -2, 7, 2, 20 + peer].map(Value::Number).to_vec();
        file.call("MPI_Isend", &to);
    }
    for peer in 0..PEERS {
        file.call("MPI_Wait", &[(10 + peer).into(), status(32768, -2, 7)]);
    }
    let requests: Vec<i64> = (0..PEERS).map(|peer| 20 + peer).collect();
    let all = Value::Statuses(vec![(0, -2, false, 0, -1); PEERS as usize]);
    file.call("MPI_Waitall", &[PEERS.into(), list(&requests), all]);
    file.call("MPI_Allreduce", &[1.into(), 14.into(), 3.into(), 2.into()]);
}
