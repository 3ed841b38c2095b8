//! Ranks that do not agree are found without a replay.

use super::write::{File, Value, list};
use super::{barrier, checked, directory, rank};
use flitwise::replay::agreement::{Disagreements, disagreements};
use flitwise::replay::trace::{Reading, check_file};
use flitwise::stop::Stop;

/// `MPI_COMM_WORLD`, the number of `MPI_INT`, and any source.
const WORLD: i64 = 2;
const INT: i64 = 9;
const ANY: i64 = -1;

fn found(files: &[File]) -> Disagreements {
    let dir = directory(files);
    let file = checked(dir.path());
    let reading = Reading {
        allow_no_communication: true,
        ..Reading::default()
    };
    let mut program = file.open(&reading, Stop::never()).unwrap();
    disagreements(&mut *program).unwrap()
}

/// The only error: its rank and message.
#[track_caller]
fn error(files: &[File]) -> (u32, String) {
    let found = found(files);
    assert_eq!(
        (found.error_total, found.warning_total),
        (1, 0),
        "{found:?}"
    );
    let one = &found.errors[0];
    assert!(one.place.is_some());
    (one.rank.get(), one.message.clone())
}

fn send(to: i64, tag: i64, comm: i64) -> impl Fn(&mut File) {
    move |file| {
        let values = [3, INT, to, tag, comm].map(Value::from);
        file.call("MPI_Send", &values);
    }
}

fn receive(from: i64, tag: i64, comm: i64) -> impl Fn(&mut File) {
    move |file| {
        let mut values = [3, INT, from, tag, comm].map(Value::from).to_vec();
        values.push(Value::Statuses(Vec::new()));
        file.call("MPI_Recv", &values);
    }
}

fn bcast(count: i64, root: i64) -> impl Fn(&mut File) {
    move |file| {
        let values = [count, INT, root, WORLD].map(Value::from);
        file.call("MPI_Bcast", &values);
    }
}

/// A replay of different collectives can't come to its end; messages that nobody waits for do no harm.
#[test]
fn ranks_that_do_not_agree_are_refused_or_doubted() {
    let dir = directory(&[rank(bcast(3, 0)), rank(bcast(3, 1))]);
    let refused = check_file(dir.path(), Stop::never()).err().unwrap();
    let message = format!("{refused:#}");
    assert!(message.contains("0001.bin"), "{message}");
    assert!(message.contains("bcast with root 1"), "{message}");
    let dir = directory(&[rank(send(1, 7, WORLD)), rank(|_: &mut File| {})]);
    let file = check_file(dir.path(), Stop::never()).unwrap();
    let doubts = file.doubts().unwrap();
    assert!(doubts.contains("0000.bin"), "{doubts}");
    assert!(
        doubts.contains("rank 0: sends 1 more to rank 1"),
        "{doubts}"
    );
}

#[test]
fn messages_that_lack_their_counterpart() {
    let nothing = |_: &mut File| {};
    let (at, message) = error(&[rank(send(1, 7, WORLD)), rank(nothing)]);
    assert_eq!(at, 0);
    assert!(
        message.starts_with("sends 1 more to rank 1 with tag 7 on MPI_COMM_WORLD than it receives"),
        "{message}"
    );
    let (at, message) = error(&[rank(nothing), rank(receive(0, 7, WORLD))]);
    assert_eq!(at, 1);
    assert!(
        message.starts_with("receives 1 more from rank 0 with tag 7 on MPI_COMM_WORLD"),
        "{message}"
    );
    // Tags of two communicators are two tags.
    let dup = |then: &dyn Fn(&mut File)| {
        rank(|file| {
            file.call("MPI_Comm_dup", &[WORLD.into(), 4.into()]);
            then(file);
        })
    };
    let files = [dup(&send(1, 7, WORLD)), dup(&receive(0, 7, 4))];
    assert_eq!(found(&files).error_total, 2);
    let files = [dup(&send(1, 7, 4)), dup(&receive(0, 7, 4))];
    assert_eq!(found(&files), Disagreements::default());
}

#[test]
fn communicators_are_called_as_the_file_of_the_rank_calls_them() {
    // Rank 1 calls 9 what rank 0 calls 7.
    let dup = |handle: i64, then: &dyn Fn(&mut File)| {
        rank(|file| {
            file.call("MPI_Comm_dup", &[WORLD.into(), handle.into()]);
            then(file);
        })
    };
    let (at, message) = error(&[dup(7, &barrier(7)), dup(9, &|_| {})]);
    assert_eq!(at, 0);
    let says = "calls 1 collective on communicator 7, of which";
    assert!(message.starts_with(says), "{message}");
    let (at, message) = error(&[dup(7, &|_| {}), dup(9, &barrier(9))]);
    assert_eq!(at, 1);
    let says = "calls 1 collective on communicator 9, of which";
    assert!(message.starts_with(says), "{message}");
    // A message to itself.
    let (_, message) = error(&[rank(send(0, 7, 3)), rank(|_| {})]);
    assert!(message.contains("with tag 7 on MPI_COMM_SELF"), "{message}");
}

#[test]
fn receives_from_anyone_are_counted() {
    let two = rank(|file| {
        receive(ANY, 7, WORLD)(file);
        receive(ANY, 7, WORLD)(file);
    });
    let found = found(&[rank(send(1, 7, WORLD)), two]);
    assert_eq!(found.error_total, 1);
    assert_eq!(
        found.errors[0].message,
        "receives 2 messages, but 1 are sent to it; record the program to its end"
    );
}

#[test]
fn other_collectives_of_other_ranks() {
    let allreduce = |file: &mut File| {
        let values = [1, INT, 1, WORLD].map(Value::from);
        file.call("MPI_Allreduce", &values);
    };
    let (at, message) = error(&[rank(barrier(WORLD)), rank(allreduce)]);
    assert_eq!(at, 1);
    assert!(
        message.starts_with(
            "collective 0 of MPI_COMM_WORLD is allreduce here, but barrier at rank 0 (byte "
        ),
        "{message}"
    );
    let (_, message) = error(&[rank(bcast(1, 0)), rank(bcast(1, 1))]);
    assert!(
        message.contains("is bcast with root 1 here, but bcast with root 0 at rank 0"),
        "{message}"
    );
    let (at, message) = error(&[rank(barrier(WORLD)), rank(|_| {}), rank(barrier(WORLD))]);
    assert_eq!(at, 0);
    assert!(
        message.starts_with(
            "calls 1 collective on MPI_COMM_WORLD, of which this is the last, but rank 1 calls 0"
        ),
        "{message}"
    );
    // The sizes of communicators that the program made are known only when all ranks were read.
    let far = |file: &mut File| {
        file.call("MPI_Comm_dup", &[WORLD.into(), 4.into()]);
        file.call("MPI_Bcast", &[1, INT, 5, 4].map(Value::from));
    };
    let (_, message) = error(&[rank(far)]);
    assert!(message.contains("the root is member 5"), "{message}");
}

#[test]
fn sizes_that_differ_are_a_warning() {
    let found = found(&[rank(bcast(1, 0)), rank(bcast(2, 0))]);
    assert_eq!(
        (found.error_total, found.warning_total),
        (0, 1),
        "{found:?}"
    );
    let message = &found.warnings[0].message;
    assert!(
        message.contains("bcast with root 0, is of 8 bytes here, but of 4 at rank 0"),
        "{message}"
    );
}

#[test]
fn blocks_that_only_one_side_knows_of() {
    // Rank `me` sends `has` elements to rank 0, which expects `expected` elements of rank 1.
    let gatherv = |me: i64, has: i64, expected: i64| {
        rank(move |file| {
            let [me, two, has, root]: [Value; 4] = [me, 2, has, 0].map(Value::from);
            let (counts, places) = (list(&[0, expected]), list(&[0, 0]));
            let [int, comm]: [Value; 2] = [INT, WORLD].map(Value::from);
            let of_all = [me, two, has, int.clone(), root, comm];
            let values = [&of_all[..], &[counts, places, int]].concat();
            file.call("MPI_Gatherv", &values);
        })
    };
    let pair = |has, expected| [gatherv(0, 0, expected), gatherv(1, has, expected)];
    assert_eq!(found(&pair(2, 2)), Disagreements::default());
    const CURE: &str =
        "; the files are not of one run, or one is damaged: record the program again";
    let of_the_first = "in collective 0 of MPI_COMM_WORLD, but that";
    assert_eq!(
        error(&pair(2, 0)),
        (
            1,
            format!("sends a block to rank 0 {of_the_first} expects nothing of it{CURE}")
        )
    );
    assert_eq!(
        error(&pair(0, 2)),
        (
            0,
            format!("expects a block of rank 1 {of_the_first} sends it nothing{CURE}")
        )
    );
}
