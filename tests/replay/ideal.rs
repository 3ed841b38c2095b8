//! Conversions put the operations of a rank into an order in which the trace takes as long on an ideal network.

use crate::conversions::{FORMS, RANKS, SMALL, converted, goal_text, reading, shipped};
use crate::naive::Case;
use crate::naive::fabric::{play_on, replay_of};
use flitwise::convert::{Form, Written};
use flitwise::replay::mpi::Protocol;
use flitwise::replay::trace::check_file;
use flitwise::stop::Stop;
use flitwise::units::TickLength;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::path::Path;

/// How long a trace takes on an ideal network, in picoseconds; `None` if it does not end.
#[track_caller]
fn ideal_ps(trace: &Path) -> Option<u64> {
    let file = check_file(trace, Stop::never()).unwrap();
    let program = file.open(&reading(), Stop::never()).unwrap();
    let protocol = Protocol {
        eager_threshold_bytes: u64::MAX,
        ..Protocol::default()
    };
    let case = Case {
        protocol,
        tick: TickLength::whole(1),
        ..Case::of(vec![vec![]; file.ranks() as usize])
    };
    let mut replay = replay_of(&case, program);
    play_on(|tick, _| [tick; 2], &mut replay, false);
    let outcome = replay.outcomes().remove(0);
    outcome.complete.then_some(outcome.execution_ps)
}

/// The losses that may make a trace longer.
const DELAYS: [&str; 2] = [
    "operations wait for a computation beside them",
    "waits also name an older request of the same message",
];

/// Whether a conversion said that operations wait for what they do not wait for in the trace.
fn delays(written: &Written) -> bool {
    let delays = |loss: &String| DELAYS.iter().any(|delay| loss.contains(delay));
    written.losses.iter().any(delays)
}

/// A trace takes as long on an ideal network as what becomes of it, unless the conversion said otherwise.
#[track_caller]
fn takes_as_long(trace: &Path, forms: &[Form]) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let original = ideal_ps(trace).unwrap();
    let mut same = 0;
    for &form in forms {
        let (copy, written) = converted(trace, form, &dir);
        let shown = format!("{} as {form:?}: {:?}", trace.display(), written.losses);
        if !delays(&written) {
            assert_eq!(ideal_ps(&copy).unwrap(), original, "{shown}");
            same += 1;
        }
    }
    same
}

/// The order of independent operations is the order of the replay.
#[test]
fn schedules_take_as_long_on_an_ideal_network() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tie.goal");
    // Both messages come when the other rank's computation ends: it sends before it computes again.
    let rank = |me: u32| {
        let other = 1 - me;
        format!(
            "rank {me} {{\nr: recv 8b from {other}\na: calc 1000\ns: send 8b to {other}\ns requires a\n\
            c: calc 4000\nc requires r\n}}\n"
        )
    };
    std::fs::write(&path, format!("num_ranks 2\n{}{}", rank(0), rank(1))).unwrap();
    assert_eq!(ideal_ps(&path), Some(5_000_000));
    assert_eq!(takes_as_long(&path, &FORMS), 4);
    let mut same = 0;
    for entry in std::fs::read_dir(shipped("goal")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "gz") {
            same += takes_as_long(&path, &FORMS);
        }
    }
    assert!(same >= 40, "{same}");
}

#[test]
fn schedules_of_recordings_take_as_long_on_an_ideal_network() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "mpich-requests-4",
        "openmpi-collectives-4",
        "openmpi-communicators-4",
    ] {
        let trace = shipped("recordings").join(name);
        let (schedule, _) = converted(&trace, Form::GoalBinary, &dir);
        takes_as_long(&schedule, &FORMS);
    }
}

/// A schedule whose operations wait for any earlier ones of their rank, and take messages from anyone.
fn graph(pieces: &[[u8; 6]], cpus: u8) -> String {
    let mut ranks = vec![(String::new(), 0_u8, String::new()); RANKS as usize];
    for piece in pieces {
        let (rank, to) = (u32::from(piece[0]) % RANKS, u32::from(piece[1]) % RANKS);
        let (bytes, tag) = (u64::from(piece[5]) % SMALL, piece[5] % 2);
        let from = if piece[2] % 4 == 0 {
            -1
        } else {
            i64::from(rank)
        };
        let ops = match piece[4] % 3 {
            // A message to the own rank takes its time inside the node.
            1 | 2 if rank != to => vec![
                (rank, format!("send {bytes}b to {to} tag {tag}")),
                (to, format!("recv {bytes}b from {from} tag {tag}")),
            ],
            // Ties are common.
            _ => vec![(rank, format!("calc {}", piece[2] % 4))],
        };
        for (rank, op) in ops {
            let (text, number, edges) = &mut ranks[rank as usize];
            writeln!(text, "l{number}: {op} cpu {}", piece[3] % cpus).unwrap();
            for back in [piece[3] / 16, piece[5] / 16] {
                if let Some(on) = number.checked_sub(back).filter(|on| on < number) {
                    let kind = if back % 5 == 4 {
                        "irequires"
                    } else {
                        "requires"
                    };
                    writeln!(edges, "l{number} {kind} l{on}").unwrap();
                }
            }
            *number += 1;
        }
    }
    goal_text(&ranks)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_schedule_takes_as_long_on_an_ideal_network(
        pieces in prop::collection::vec(any::<[u8; 6]>(), 1..60),
        cpus in 1_u8..3,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("random.goal");
        std::fs::write(&path, graph(&pieces, cpus)).unwrap();
        // A receive may take the message that another one is meant for.
        prop_assume!(ideal_ps(&path).is_some());
        takes_as_long(&path, &[Form::Vef3, Form::Ti]);
    }
}
