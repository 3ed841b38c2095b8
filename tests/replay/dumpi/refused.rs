//! What is refused, and what `skip_unsupported` leaves out.

use super::write::{File, Head, Value, function};
use super::{barrier, calls, checked, directory, operations_of, rank};
use flitwise::config::resolve_text;
use flitwise::convert::{Form, convert};
use flitwise::replay::mpi::Call;
use flitwise::replay::trace::{ComputeTime, Reading, Wording, check_file};
use flitwise::results::result_json;
use flitwise::run::{Control, run_plan};
use flitwise::stop::Stop;
use std::path::Path;

fn refusal(dir: &Path) -> String {
    match check_file(dir, Stop::never()) {
        Ok(_) => panic!("it is refused"),
        Err(e) => format!("{e:#}"),
    }
}

fn not_opened(dir: &Path, reading: &Reading) -> String {
    match checked(dir).open(reading, Stop::never()) {
        Ok(_) => panic!("it is not opened"),
        Err(e) => format!("{e:#}"),
    }
}

/// Without what can't be replayed, every rank calls a collective and nothing else.
#[track_caller]
fn a_collective_is_left(dir: &Path) {
    let skipping = Reading {
        skip_unsupported: true,
        ..Reading::default()
    };
    for ops in operations_of(dir, &skipping) {
        let calls = calls(&ops).collect::<Vec<_>>();
        assert!(matches!(calls[..], [Call::Collective { .. }]), "{calls:?}");
    }
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn one_sided_calls_are_counted_and_left_out_on_request() {
    let one_sided = |file: &mut File| {
        file.call(
            "MPI_Win_create",
            &[64.into(), 1.into(), 1.into(), 2.into(), 4.into()],
        );
        file.call("MPI_Win_fence", &[0.into(), 4.into()]);
        barrier(2)(file);
        file.call("MPI_Win_free", &[4.into()]);
    };
    let dir = directory(&[rank(one_sided), rank(one_sided)]);
    let refused = not_opened(dir.path(), &Reading::default());
    let parts = [
        "has 6 calls of one-sided communication",
        "the first is MPI_Win_create of rank 0 at byte",
        "skip_unsupported = true",
    ];
    says(&refused, &parts);
    a_collective_is_left(dir.path());
    let on_the_command_line = Reading {
        wording: Wording::Options,
        ..Reading::default()
    };
    let refused = not_opened(dir.path(), &on_the_command_line);
    says(
        &refused,
        &["; a replay has no counterpart for them: --skip-unsupported leaves them out"],
    );
    // A conversion says what it leaves out.
    let skipping = Reading {
        skip_unsupported: true,
        ..Reading::default()
    };
    let file = checked(dir.path());
    let written = convert(&*file, dir.path(), &skipping, Form::Vef3, &mut Vec::new()).unwrap();
    let [said] = &written.losses[..] else {
        panic!("{:?}", written.losses);
    };
    says(said, &["6 calls of one-sided communication", " left out"]);
}

#[test]
fn processes_that_are_started_or_met_are_counted_and_left_out_on_request() {
    let (empty, world) = (|| Value::List(Vec::new()), 2_i64);
    let dynamic = move |me: i64| {
        move |file: &mut File| {
            let heads = |new: i64| [me, 0, world, new].map(Value::from);
            let rest = [empty(), empty(), 1.into(), 0.into(), empty()];
            file.call("MPI_Comm_spawn", &[&heads(4)[..], &rest].concat());
            // A message to a process that the trace does not have.
            file.call("MPI_Send", &[1, 9, 0, 7, 4].map(Value::from));
            let port = [empty(), 0.into(), 0.into(), world.into(), 5.into()];
            file.call("MPI_Comm_accept", &port);
            file.call("MPI_Comm_connect", &port);
            file.call("MPI_Comm_join", &[3.into(), 6.into()]);
            file.call("MPI_Comm_get_parent", &[7.into()]);
            barrier(5)(file);
            barrier(world)(file);
        }
    };
    let dir = directory(&[rank(dynamic(0)), rank(dynamic(1))]);
    let refused = not_opened(dir.path(), &Reading::default());
    let parts = [
        "has 10 calls that start or meet other processes (the first is MPI_Comm_spawn of rank 0 at byte",
        "4 calls on communicators that no recorded call makes (the first is MPI_Send of rank 0",
        "skip_unsupported = true",
    ];
    says(&refused, &parts);
    a_collective_is_left(dir.path());
}

/// A recording of which nothing is left that the ranks say to each other is no program that uses a network.
#[test]
fn recordings_without_communication_are_refused_unless_allowed() {
    let one_sided = |file: &mut File| {
        file.call("MPI_Win_fence", &[0.into(), 4.into()]);
    };
    let skipping = Reading {
        skip_unsupported: true,
        ..Reading::default()
    };
    for dir in [
        directory(&[rank(one_sided), rank(one_sided)]),
        directory(&[rank(|_| {}), rank(|_| {})]),
    ] {
        let refused = not_opened(dir.path(), &skipping);
        let parts = [
            "has no message and no collective that a replay has, of 2 ranks",
            "allow_no_communication = true",
        ];
        says(&refused, &parts);
        let allowing = Reading {
            allow_no_communication: true,
            ..skipping.clone()
        };
        assert!(checked(dir.path()).open(&allowing, Stop::never()).is_ok());
    }
    // One rank has none to talk to.
    let alone = directory(&[rank(|_| {})]);
    assert!(checked(alone.path()).open(&skipping, Stop::never()).is_ok());
}

#[test]
fn a_result_says_what_was_left_out() {
    let one_sided = |file: &mut File| {
        file.call("MPI_Win_fence", &[0.into(), 4.into()]);
        barrier(2)(file);
    };
    let dir = directory(&[rank(one_sided), rank(one_sided)]);
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"single\", nics = 2 }}\n\
         [baseline]\nenabled = false\n\
         [[job]]\ntrace = '{}'\nskip_unsupported = true\n",
        dir.path().display()
    );
    let plan = resolve_text("test", &text, Path::new(""), &[]).unwrap();
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let job = &result_json(&plan, &result).jobs[0];
    let left_out = job.left_out.as_deref().unwrap();
    says(left_out, &["2 calls of one-sided communication"]);
    assert_eq!(job.collectives, 1);
}

#[test]
fn communicators_from_nowhere_are_not_guessed() {
    let dir = directory(&[rank(barrier(9)), rank(barrier(9))]);
    let refused = not_opened(dir.path(), &Reading::default());
    says(
        &refused,
        &[
            "2 calls on communicators that no recorded call makes",
            "MPI_Barrier of rank 0",
        ],
    );
}

#[test]
fn ranks_that_make_different_communicators_are_of_different_runs() {
    let dup = |file: &mut File| {
        file.call("MPI_Comm_dup", &[2.into(), 4.into()]);
    };
    let dir = directory(&[rank(dup), rank(barrier(2))]);
    let parts = [
        "t-0000.bin: byte ",
        ": rank 0 (MPI_Comm_dup): ",
        "not all members of its communicator call it",
    ];
    says(&refusal(dir.path()), &parts);
    let split = |file: &mut File| {
        file.call("MPI_Comm_split", &[2.into(), 0.into(), 0.into(), 4.into()]);
    };
    let dir = directory(&[rank(dup), rank(split)]);
    says(
        &refusal(dir.path()),
        &["in its place, on the same communicator"],
    );
    let sized = |file: &mut File| {
        dup(file);
        file.call("MPI_Comm_size", &[4.into(), 3.into()]);
    };
    let dir = directory(&[rank(sized), rank(sized)]);
    says(
        &refusal(dir.path()),
        &["a communicator of 2 ranks, but MPI_Comm_size says 3"],
    );
}

#[test]
fn a_clock_that_was_not_recorded_is_asked_for_in_vain() {
    let no_cpu = Head {
        mask: 0x4b,
        ..Head::default()
    };
    let mut file = File::default();
    file.record(function("MPI_Init"), no_cpu, &[Value::List(Vec::new())]);
    file.record(function("MPI_Finalize"), no_cpu, &[]);
    let dir = directory(&[file]);
    let by = |clock| Reading {
        compute_time: Some(clock),
        ..Reading::default()
    };
    let refused = not_opened(dir.path(), &by(ComputeTime::Cpu));
    says(
        &refused,
        &["2 calls lack the cpu time that compute_time asks for"],
    );
    assert!(
        checked(dir.path())
            .open(&by(ComputeTime::Wall), Stop::never())
            .is_ok()
    );
}

#[test]
fn files_that_are_cut_or_missing_are_named() {
    let dir = directory(&[rank(barrier(2)), rank(barrier(2)), rank(barrier(2))]);
    let file = dir.path().join("t-0001.bin");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let refused = refusal(dir.path());
    says(
        &refused,
        &["t-0001.bin: byte ", ": rank 1: expected an index"],
    );
    assert_eq!(refused.matches("byte ").count(), 1, "{refused}");
    std::fs::remove_file(&file).unwrap();
    says(&refusal(dir.path()), &["lacks the file of rank 1"]);
}
