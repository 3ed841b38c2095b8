//! A recording of a halo exchange: receives, sends, a wait for all, and now and then a reduction.

#[path = "../../formats/tests/recording/write.rs"]
mod write;

use crate::measure::Bench;
use std::hint::black_box;

use flitwise_formats::recording::{Item, Set, check};
use write::{NULL, Stream, Times, all_done, collective, directory, last, message};

/// Neighbours of a rank.
const PEERS: i64 = 6;

/// 2 million calls times the scale.
pub fn run(bench: &mut Bench) {
    let calls = bench.scaled(2_000_000);
    let mut stream = Stream::new(0, 7);
    let requests: Vec<i64> = (0..2 * PEERS).rev().map(last).collect();
    let sum = || collective(0, NULL).vs([2, 1, 8, 2, 1, 8]);
    let mut made = 0;
    while made < calls {
        for peer in 1..=PEERS {
            let times = Times(300 + peer as u64 * 10, 320 + peer as u64 * 10, 400);
            stream.call_at("MPI_Irecv", message(0, peer, 7, 65_536), times);
        }
        for peer in 1..=PEERS {
            stream.call_at(
                "MPI_Isend",
                message(0, peer, 7, 65_536),
                Times(1_000, 1_100, 900),
            );
        }
        let gap = 2_000_000 + made % 4096;
        stream.call_at(
            "MPI_Waitall",
            all_done(&requests),
            Times(gap, gap + 5_000, 80_000),
        );
        stream.call_at("MPI_Allreduce", sum(), Times(10_000, 10_500, 30_000));
        made += 2 * PEERS as u64 + 2;
        if stream.payload.0.len() > 65_536 {
            stream.flush();
        }
    }
    stream.finalize();
    let bytes = stream.bytes().len() as u64;
    println!("{made} calls, {:.2} bytes each", bytes as f64 / made as f64);
    let mut streams = vec![stream];
    streams.extend((1..7).map(|rank| Stream::new(rank, 7)));
    let dir = directory(&streams);
    drop(streams);

    let set = Set::open(dir.path()).expect("a recording");
    bench.rate("recording reader", "MB/s", bytes, || {
        let mut reader = set.reader(0).expect("a rank");
        let mut calls = 0_u64;
        while let Some(is_call) = reader
            .next(|_, item| match item {
                Item::Call(record) => {
                    black_box(&record.call);
                    true
                }
                _ => false,
            })
            .expect("a record")
        {
            calls += u64::from(is_call);
        }
        assert!(calls > made);
    });
    bench.rate("recording check", "MB/s", bytes, || {
        let check = check(&set).expect("a recording");
        assert!(check.is_clean(), "{:?}", check.errors);
    });
}
