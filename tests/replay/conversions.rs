//! Traces converted from one format into another send the same messages, and at the same times where both formats can say as much:
//! on a fabric without contention, all messages eager, which is all that a VEF trace can say of them.

use crate::formats::data::{data, own};
use crate::naive::fabric::{play, replay_of};
use crate::naive::{Case, Sent};
use flitwise::convert::{Form, Written, convert};
use flitwise::fabric::workload::Workload;
use flitwise::replay::mpi::Protocol;
use flitwise::replay::trace::{Reading, check_file};
use flitwise::stop::Stop;
use flitwise::units::Ratio;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub const FORMS: [Form; 4] = [Form::Vef3, Form::Goal, Form::GoalBinary, Form::Ti];

/// The recorded TI traces count a flop for each nanosecond.
pub fn reading() -> Reading {
    Reading {
        host_speed: Ratio::whole(1_000_000_000),
        ..Reading::default()
    }
}

pub fn shipped(name: &str) -> PathBuf {
    own("traces").join(name)
}

/// What a trace sends, by tick, and how long it takes.
#[derive(Debug, PartialEq)]
pub struct Played {
    log: Vec<Sent>,
    execution_ps: u64,
}

impl Played {
    /// The messages without their times.
    fn messages(&self) -> Vec<(u32, u32, u64)> {
        let message = |sent: &Sent| (sent.src, sent.dst, sent.bytes);
        let mut messages: Vec<_> = self.log.iter().map(message).collect();
        messages.sort_unstable();
        messages
    }
}

/// With all messages eager.
#[track_caller]
fn played(trace: &Path) -> Played {
    let protocol = Protocol {
        eager_threshold_bytes: u64::MAX,
        ..Protocol::default()
    };
    played_with(trace, protocol)
}

#[track_caller]
pub fn played_with(trace: &Path, protocol: Protocol) -> Played {
    let file = check_file(trace, Stop::never());
    let file = file.unwrap_or_else(|e| panic!("{}: {e}", trace.display()));
    let program = file.open(&reading(), Stop::never()).unwrap();
    let case = Case {
        protocol,
        ..Case::of(vec![vec![]; file.ranks() as usize])
    };
    let mut replay = replay_of(&case, program);
    let mut log = play(&mut replay, false);
    assert!(replay.finished(), "{}", trace.display());
    let outcome = replay.outcomes().remove(0);
    assert!(outcome.complete, "{}", trace.display());
    log.sort_unstable();
    Played {
        log,
        execution_ps: outcome.execution_ps,
    }
}

/// Converts a trace into a file in `dir`.
#[track_caller]
pub fn converted(trace: &Path, form: Form, dir: &TempDir) -> (PathBuf, Written) {
    let file = check_file(trace, Stop::never()).unwrap();
    let number = std::fs::read_dir(dir.path()).unwrap().count();
    let path = dir.path().join(format!("{number}-{form:?}"));
    let mut out = BufWriter::new(File::create(&path).unwrap());
    let written = convert(&*file, trace, &reading(), form, &mut out);
    let written = written.unwrap_or_else(|e| panic!("{} to {form:?}: {e:#}", trace.display()));
    (path, written)
}

/// A trace and all that becomes of it, once and twice converted, send the same messages at the same times.
#[track_caller]
fn is_the_same_everywhere(trace: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let original = played(trace);
    for form in FORMS {
        let (once, _) = converted(trace, form, &dir);
        assert!(played(&once) == original, "{} as {form:?}", trace.display());
        for form_again in FORMS {
            let (twice, _) = converted(&once, form_again, &dir);
            let shown = format!("{} as {form:?}, {form_again:?}", trace.display());
            assert!(played(&twice) == original, "{shown}");
        }
    }
}

/// Messages of MPI that overtake one another wait, those of VEF do not: so times may differ in between, and are the same again
/// in what is VEF at last.
#[test]
fn recorded_vef_is_the_same_after_another_format() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["randomaccess-16.vef.gz", "gromacs_water-16.vef.gz"] {
        let original = played(&shipped(name));
        for form in FORMS {
            let (once, _) = converted(&shipped(name), form, &dir);
            assert_eq!(
                played(&once).messages(),
                original.messages(),
                "{name} as {form:?}"
            );
            let (twice, _) = converted(&once, Form::Vef3, &dir);
            assert!(
                played(&twice) == original,
                "{name} as {form:?} and again VEF"
            );
        }
    }
}

#[test]
fn recorded_calls_send_the_same_messages_in_all_formats() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["dumpi/nas_is_S-16.tar.gz", "dumpi/nas_dt_WH_W-11"] {
        let original = played(&shipped(name));
        for form in FORMS {
            let (copy, _) = converted(&shipped(name), form, &dir);
            let copy = played(&copy);
            assert_eq!(copy.messages(), original.messages(), "{name} as {form:?}");
        }
    }
}

/// The same of recordings by the own recorder: persistent and partitioned requests, collectives of MPI-3, probes.
#[test]
fn own_recordings_send_the_same_messages_in_all_formats() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "mpich-partitioned-2",
        "mpich-requests-4",
        "openmpi-collectives-4",
        "openmpi-communicators-4",
        "openmpi-probes-4",
    ] {
        let trace = shipped("recordings").join(name);
        let original = played(&trace);
        for form in FORMS {
            let (copy, written) = converted(&trace, form, &dir);
            let copy = played(&copy);
            let shown = format!("{name} as {form:?}: {:?}", written.losses);
            assert_eq!(copy.messages(), original.messages(), "{shown}");
            let changes = |loss: &String| !loss.contains("CPU time");
            if !written.losses.iter().any(changes) {
                assert_eq!(copy.execution_ps, original.execution_ps, "{shown}");
            }
        }
    }
}

/// The same of recordings with communicators of their own, messages from anyone and polls.
#[test]
fn recorded_communicators_send_the_same_messages_in_all_formats() {
    let Some(folder) = data("traces/dumpi") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    for name in ["gromacs_water-16", "lammps_melt-8", "randomaccess-16"] {
        let trace = folder.join(name);
        let original = played(&trace);
        for form in FORMS {
            let (copy, _) = converted(&trace, form, &dir);
            let copy = played(&copy);
            assert!(copy.messages() == original.messages(), "{name} as {form:?}");
        }
    }
}

/// Where a conversion changes nothing, times are the same; messages always are.
#[test]
fn schedules_send_the_same_messages_in_all_formats() {
    let dir = tempfile::tempdir().unwrap();
    let mut same = 0;
    for entry in std::fs::read_dir(shipped("goal")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "gz") {
            continue;
        }
        let original = played(&path);
        for form in FORMS {
            let (copy, written) = converted(&path, form, &dir);
            let copy = played(&copy);
            let shown = format!("{} as {form:?}: {:?}", path.display(), written.losses);
            assert_eq!(copy.messages(), original.messages(), "{shown}");
            if written.losses.is_empty() {
                assert!(copy == original, "{shown}");
                same += 1;
            }
        }
    }
    assert!(same >= 24, "{same}");
}

#[test]
fn actions_send_the_same_messages_in_all_formats() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["nas_is_S-16", "nas_dt_SH_W-32", "comd-16"] {
        let trace = shipped(&format!("ti/{name}.tar.gz"));
        let original = played(&trace);
        for form in FORMS {
            let (copy, written) = converted(&trace, form, &dir);
            let copy = played(&copy);
            assert_eq!(copy.messages(), original.messages(), "{name} as {form:?}");
            match form {
                // Flops may have fractions, which become whole nanoseconds.
                Form::Goal | Form::GoalBinary => {
                    let rounded = written.losses.iter().any(|loss| loss.contains("rounded"));
                    let difference = copy.execution_ps.abs_diff(original.execution_ps);
                    assert!(difference < 1_000_000, "{name}: {difference} ps");
                    assert!(rounded || copy == original, "{name}: {:?}", written.losses);
                }
                Form::Vef3 | Form::Ti => assert!(copy == original, "{name} as {form:?}"),
            }
        }
    }
}

#[test]
fn what_is_lost_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let losses = |trace: &Path, form| converted(trace, form, &dir).1.losses.join("\n");
    let gromacs = shipped("gromacs_water-16.vef.gz");
    let said = losses(&gromacs, Form::Goal);
    assert_eq!(
        said,
        "4 collectives have only sizes of 0, which tell no root; the first member of each is taken for it\n\
         186 collectives become the messages of their usual algorithms"
    );
    let path = dir.path().join("a.goal");
    let text = "num_ranks 2\n\
        rank 0 {\na: recv 8b from -1 tag -1\nc: calc 5 cpu 1\nd: calc 6\nd requires a\ns: send 1b to 1 nic 1\n}\n\
        rank 1 {\nrecv 1b from 0\nsend 8b to 0 tag 3\n}\n";
    std::fs::write(&path, text).unwrap();
    let said = losses(&path, Form::Vef3);
    for part in [
        "1 receives of any source or tag name the message",
        "1 messages lose the number of their NIC",
        "independent operations of a rank are put into the order",
        "1 operations wait for a computation beside them",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let said = losses(&path, Form::Ti);
    assert!(
        said.contains("1 operations wait for a computation beside them"),
        "{said}"
    );
    // The only CPU of a rank may have any number.
    std::fs::write(&path, text.replace("calc 6", "calc 6 cpu 1")).unwrap();
    let said = losses(&path, Form::Vef3);
    assert!(!said.contains("beside them"), "{said}");
    let said = losses(&shipped("ti/nas_is_S-16.tar.gz"), Form::Vef3);
    assert!(said.contains("collectives become the messages"), "{said}");
}

#[test]
fn a_schedule_that_never_ends_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.goal");
    // Each waits for the other's message before it sends its own.
    let rank = |me: u32| {
        let other = 1 - me;
        format!("rank {me} {{\nr: recv 1b from {other}\ns: send 1b to {other}\ns requires r\n}}\n")
    };
    std::fs::write(&path, format!("num_ranks 2\n{}{}", rank(0), rank(1))).unwrap();
    let file = check_file(&path, Stop::never()).unwrap();
    let refused = convert(&*file, &path, &reading(), Form::Vef3, &mut Vec::new());
    let message = format!("{:#}", refused.unwrap_err());
    let name = path.display();
    for part in [
        format!("{name}: never ends, not even on an ideal network"),
        format!("\n{name}:3: rank 0 waits for a message from rank 1 (tag 0)"),
        format!("\n{name}:8: rank 1 waits for a message from rank 0 (tag 0)"),
    ] {
        assert!(message.contains(&part), "{message}");
    }
}

pub const RANKS: u32 = 4;
/// Messages below take equally long, so that none overtakes another: those of MPI would wait for it.
pub const SMALL: u64 = 8;

/// A VEF trace of messages: each piece is a computation of a rank and a message from it, which its receiver may wait for
/// later on.
fn vef(pieces: &[[u8; 6]]) -> String {
    let mut lines = Vec::new();
    let mut waits: Vec<(u32, u64)> = Vec::new();
    let mut id = 0_u64;
    for piece in pieces {
        let (rank, to) = (u32::from(piece[0]) % RANKS, u32::from(piece[1]) % RANKS);
        let time = u64::from(piece[2]) * 3;
        // A message to this rank that it has not waited for, if the piece says so.
        let mine = waits.iter().position(|&(of, _)| of == rank);
        let (dep, after) = match mine.filter(|_| piece[3] % 3 > 0) {
            Some(at) => (2, waits.remove(at).1.to_string()),
            None => (0, "-1".to_owned()),
        };
        if piece[4] % 4 == 0 {
            lines.push(format!("{id} {rank} {rank} 0 {dep} {time} {after}"));
        } else {
            let bytes = u64::from(piece[5]) % SMALL;
            let dep = dep + 4;
            lines.push(format!("{id} {rank} {to} {bytes} {dep} {time} {after}"));
            waits.push((to, id));
        }
        id += 1;
    }
    let ranks: Vec<String> = (0..RANKS).map(|rank| rank.to_string()).collect();
    let mut text = format!("VEF3 {RANKS} {id} 1 0 0 0 1000\nC0 {}\n", ranks.join(" "));
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// A schedule in which every rank does one thing after the other.
fn chain(pieces: &[[u8; 6]]) -> String {
    let mut ranks = vec![(String::new(), 0, String::new()); RANKS as usize];
    let mut add = |rank: usize, what: String, counts: bool| {
        let (ops, number, edges) = &mut ranks[rank];
        *number += 1;
        writeln!(ops, "l{number}: {what}").unwrap();
        if counts && *number > 1 {
            writeln!(edges, "l{number} requires l{}", *number - 1).unwrap();
        }
    };
    for (tag, piece) in pieces.iter().enumerate() {
        let (rank, to) = (u32::from(piece[0]) % RANKS, u32::from(piece[1]) % RANKS);
        let bytes = u64::from(piece[5]) % SMALL;
        match piece[4] % 3 {
            0 => add(
                rank as usize,
                format!("calc {}", u64::from(piece[2]) * 3),
                true,
            ),
            _ => {
                let tag = tag % 5;
                add(
                    rank as usize,
                    format!("send {bytes}b to {to} tag {tag}"),
                    true,
                );
                add(
                    to as usize,
                    format!("recv {bytes}b from {rank} tag {tag}"),
                    true,
                );
            }
        }
    }
    goal_text(&ranks)
}

/// A GOAL schedule: of each rank its operations, their number, and what they require.
pub(crate) fn goal_text<N>(ranks: &[(String, N, String)]) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, (ops, _, edges)) in ranks.iter().enumerate() {
        write!(text, "rank {rank} {{\n{ops}{edges}}}\n").unwrap();
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_vef_of_messages_is_the_same_everywhere(
        pieces in prop::collection::vec(any::<[u8; 6]>(), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("random.vef");
        std::fs::write(&path, vef(&pieces)).unwrap();
        is_the_same_everywhere(&path);
    }

    #[test]
    fn any_schedule_without_choices_is_the_same_everywhere(
        pieces in prop::collection::vec(any::<[u8; 6]>(), 1..40),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("random.goal");
        std::fs::write(&path, chain(&pieces)).unwrap();
        is_the_same_everywhere(&path);
    }
}
