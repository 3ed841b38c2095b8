//! What of the time before a poll is computation.

use super::write::{File, Head, Value, function};
use super::{directory, operations_of};
use flitwise::replay::trace::Reading;
use std::path::Path;

/// `MPI_COMM_WORLD`, any source and any tag.
const WORLD: i64 = 2;
const ANY: i64 = -1;

/// A rank that calls these a number of microseconds after the call before, each of which takes no time.
fn rank(calls: &[(u64, &str, &[Value])]) -> File {
    let mut file = File::default();
    let mut now = 0;
    let end = (0, "MPI_Finalize", &[][..]);
    for &(after_us, name, values) in calls.iter().chain([&end]) {
        now += after_us;
        let time = (0, now as u32 * 1000);
        let head = Head {
            wall: [time, time],
            ..Head::default()
        };
        file.record(function(name), head, values);
    }
    file
}

/// The computation of a rank in microseconds.
fn computes_us(dir: &Path, poll_gap_us: Option<u64>) -> u64 {
    let mut reading = Reading::default();
    if let Some(us) = poll_gap_us {
        reading.poll_gap_ps = us * 1_000_000;
    }
    let ops = operations_of(dir, &reading);
    ops[0].iter().map(|op| op.compute_ps).sum::<u64>() / 1_000_000
}

/// Ten microseconds of computation, a poll that finds nothing, another one 3 and a last one 20 us later.
fn polling() -> File {
    let nothing = [ANY, ANY, WORLD, 0].map(Value::from).to_vec();
    let nothing = [&nothing[..], &[Value::Statuses(Vec::new())]].concat();
    rank(&[
        (0, "MPI_Init", &[Value::List(Vec::new())]),
        (10, "MPI_Iprobe", &nothing),
        (3, "MPI_Iprobe", &nothing),
        (20, "MPI_Iprobe", &nothing),
    ])
}

#[test]
fn a_loop_is_as_long_as_the_job_says() {
    let dir = directory(&[polling()]);
    assert_eq!(computes_us(dir.path(), None), 30);
    assert_eq!(computes_us(dir.path(), Some(2)), 33);
    assert_eq!(computes_us(dir.path(), Some(3)), 30);
    // What came before the first poll is no loop.
    assert_eq!(computes_us(dir.path(), Some(20)), 10);
}

#[test]
fn polls_that_are_not_recorded_may_come_before_any() {
    let mut file = polling();
    // MPI_Testany and all functions.
    let number = usize::from(function("MPI_Testany").number);
    file.ignored[number] = 5;
    *file.ignored.last_mut().unwrap() += 5;
    file.calls[number] += 5;
    *file.calls.last_mut().unwrap() += 5;
    let dir = directory(&[file]);
    assert_eq!(computes_us(dir.path(), None), 30);
    assert_eq!(computes_us(dir.path(), Some(10)), 20);
    assert_eq!(computes_us(dir.path(), Some(20)), 0);
    // Of another function they say nothing.
    let mut file = polling();
    let number = usize::from(function("MPI_Send").number);
    file.ignored[number] = 5;
    file.calls[number] += 5;
    let dir = directory(&[file]);
    assert_eq!(computes_us(dir.path(), Some(10)), 30);
}
