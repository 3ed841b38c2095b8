//! Computation is the time between calls, by the clock that is asked for.

use super::write::{NULL, Stream, Times, collective, description, none, ranks};
use super::*;
use crate::trace::ComputeTime;

/// A barrier with these times.
fn barrier(stream: &mut Stream, times: Times) {
    stream.call_at("MPI_Barrier", collective(0, NULL).vs([0, 0]), times);
}

/// The computations of rank 0 in nanoseconds.
fn computed(file: &dyn TraceFile, clock: Option<ComputeTime>) -> Vec<u64> {
    let reading = Reading {
        compute_time: clock,
        ..Reading::default()
    };
    let ops = operations(file, 0, &reading);
    ops.iter().map(|op| op.compute_ps / 1000).collect()
}

#[test]
fn each_clock_counts_its_time_without_the_overhead() {
    let mut streams = ranks(2, |stream| {
        stream.overhead = [200, 20, 0, 300];
        barrier(stream, Times(1200, 1520, 700));
        barrier(stream, Times(2200, 2020, 700));
    });
    streams[0].overhead = [200, 20, 0, 300];
    let dir = super::write::directory(&streams);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    let end = [800, 980];
    assert_eq!(
        computed(&*file, Some(ComputeTime::Cpu)),
        [1000, 2000, end[0]]
    );
    assert_eq!(
        computed(&*file, Some(ComputeTime::Wall)),
        [1500, 2000, end[1]]
    );
    assert_eq!(computed(&*file, None), [1500, 2000, end[1]]);
    assert!(file.remarks().is_empty() && file.clock_remark().is_none());
}

#[test]
fn cpu_time_counts_where_ranks_shared_processors() {
    let dir = super::write::directory(&ranks(2, |stream| barrier(stream, Times(10, 20, 7))));
    std::fs::write(dir.path().join("recording.toml"), description(2, 1)).unwrap();
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert_eq!(computed(&*file, None)[0], 10);
    let remark = file.clock_remark().unwrap();
    assert!(
        remark.contains("CPU time, because 2 ranks of host `node1` shared 1 processor;"),
        "{remark}"
    );

    let dir = super::write::directory(&ranks(2, |stream| {
        barrier(stream, Times(1_000_000, 9_000_000, 7))
    }));
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert_eq!(computed(&*file, None)[0], 1_000_000);
    let remark = file.clock_remark().unwrap();
    assert!(
        remark.contains("the ranks took 18.002 ms between their calls, but computed 2.002 ms"),
        "{remark}"
    );
}

/// The CPU time of a rank lacks the computation of threads that do not call MPI.
#[test]
fn threads_that_do_not_call_mpi_are_said() {
    let streams: Vec<Stream> = (0..2)
        .map(|rank| {
            let mut stream = Stream::new(rank, 2);
            barrier(&mut stream, Times(1_000_000, 9_000_000, 7));
            stream.end([0, 900_000_000, 100_000_000, 9]);
            stream
        })
        .collect();
    let dir = super::write::directory(&streams);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert_eq!(computed(&*file, None)[0], 9_000_000);
    assert!(file.remarks()[0].contains("2 ranks have threads that compute without calling MPI"));
}

#[test]
fn polls_of_a_loop_are_no_computation() {
    let poll = || none().seq(&[3]).v(0);
    let streams = ranks(2, |stream| {
        // The first one follows another call, a long gap is no loop's, and short ones are.
        stream.call_at("MPI_Test", poll(), Times(0, 1000, 10));
        stream.call_at("MPI_Test", poll(), Times(0, 5000, 10));
        stream.repeat(10, "MPI_Test", poll(), Times(0, 30_000, 10));
        barrier(stream, Times(0, 100, 10));
    });
    let dir = super::write::directory(&streams);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert_eq!(computed(&*file, Some(ComputeTime::Wall))[0], 6100);
    let reading = Reading {
        compute_time: Some(ComputeTime::Wall),
        poll_gap_ps: 1_000_000,
        ..Reading::default()
    };
    let ops = operations(&*file, 0, &reading);
    assert_eq!(ops[0].compute_ps / 1000, 36_100);
}

#[test]
fn time_before_mpi_init_is_left_out() {
    let mut stream = Stream::bare(0, 0, 1);
    stream.comm([0, 0, 0, 0], "MPI_Init", &[&[0]]);
    stream.call_at("MPI_Init", none().v(0), Times(5000, 5000, 10));
    barrier(&mut stream, Times(100, 100, 10));
    let dir = super::write::directory(&[stream]);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    assert_eq!(computed(&*file, None), [100, 0]);
    assert!(file.remarks()[0].contains("1 streams have no end"));
}
