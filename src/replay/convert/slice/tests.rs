//! Slices of recordings of the recorder against slices of the VEF3 that these become.

use super::{Part, SliceError, Sliced, slice};
use crate::convert::{Form, convert};
use crate::trace::{ComputeTime, Reading, TraceFile, check_file};
use flitwise_base::stop::Stop;
use flitwise_formats::source::Input;
use flitwise_formats::vef::slice::starts;
use flitwise_formats::vef::{Cut, Message, Plan, Reader, Record, SliceError as Uncut};
use std::path::{Path, PathBuf};

fn recording(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("traces/recordings").join(name)
}

fn open(path: &Path) -> Box<dyn TraceFile> {
    check_file(path, Stop::never()).unwrap()
}

fn reading(clock: ComputeTime) -> Reading {
    Reading {
        compute_time: Some(clock),
        skip_unsupported: true,
        allow_no_communication: true,
        ..Reading::default()
    }
}

/// Writes the trace as VEF3, and says whether all its collectives are still ones. Of those that become messages, a slice of the
/// VEF3 may have a part.
fn as_vef(file: &dyn TraceFile, clock: ComputeTime, to: &Path) -> bool {
    let mut out = std::fs::File::create(to).unwrap();
    let written = convert(file, to, &reading(clock), Form::Vef3, &mut out).unwrap();
    let mut losses = written.losses.iter();
    !losses.any(|loss| loss.contains("collectives become the messages"))
}

/// The slice, as a recording.
fn cut(file: &dyn TraceFile, clock: ComputeTime, part: &Part, to: &Path) -> Option<Sliced> {
    let mut out = std::fs::File::create(to).unwrap();
    match slice(file, to, &reading(clock), part, &mut out) {
        Ok(sliced) => Some(sliced),
        Err(SliceError::Nothing { .. }) => None,
        Err(e) => panic!("{e:#}"),
    }
}

/// The messages, their bytes and the ideal span of the slice of a VEF3 trace.
fn cut_vef(vef: &Path, part: &Part, to: &Path) -> Option<(u64, u64, u64)> {
    let cut = Cut {
        from_ps: part.from_ps,
        to_ps: part.to_ps,
        ranks: part.ranks.clone(),
        ..Cut::default()
    };
    let plan = match Plan::make(vef, &cut) {
        Ok(plan) => plan,
        Err(Uncut::Nothing { .. }) => return None,
        Err(e) => panic!("{e}"),
    };
    plan.write(std::fs::File::create(to).unwrap()).unwrap();
    let span = open(to).ideal_ps().unwrap();
    Some((plan.messages(), plan.bytes(), span))
}

/// The messages of a VEF3 trace: source, start on the ideal clock, destination and bytes.
fn sends(path: &Path) -> Vec<(u32, u64, u32, u64)> {
    let mut reader = Reader::open(path).unwrap();
    let mut messages = Vec::new();
    while let Some((_, record)) = reader.next_record().unwrap() {
        match record {
            Record::Message(message) if !message.is_marker() => messages.push(message),
            _ => {}
        }
    }
    let ids = messages.iter().map(|message| message.id);
    let starts = starts(&Input::new(path), ids).unwrap();
    let send = |one: &Message| (one.src, starts[&one.id], one.dst, one.size);
    let mut sends: Vec<_> = messages.iter().map(send).collect();
    sends.sort_unstable();
    sends
}

/// Windows of a trace of this span, and halves of its ranks.
fn parts(span: u64, ranks: u32) -> Vec<Part> {
    let mut parts = Vec::new();
    for (from, to) in [(0, 8), (0, 3), (2, 5), (1, 7), (5, 8), (7, 8)] {
        for half in [false, true] {
            let half = half.then(|| (0..ranks).filter(|rank| rank % 2 == 0).collect());
            parts.push(Part {
                from_ps: span / 8 * from,
                to_ps: (to < 8).then_some(span / 8 * to),
                ranks: half,
                region: None,
            });
        }
    }
    parts
}

/// Compares slices of a recording with slices of its VEF3, and says how many there are.
fn compared(name: &str, clock: ComputeTime) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (whole, expected, sliced, again) = (at("a.vef"), at("b.vef"), at("c.tar"), at("d.vef"));
    let file = open(&recording(name));
    let are_kept = as_vef(&*file, clock, &whole);
    let span = open(&whole).ideal_ps().unwrap();
    let mut compared = 0;
    for part in parts(span, file.ranks()) {
        let shown = format!("{name} {clock:?} {part:?}");
        let theirs = cut_vef(&whole, &part, &expected);
        let ours = cut(&*file, clock, &part, &sliced);
        let is_whole = part.from_ps == 0 && part.to_ps.is_none() && part.ranks.is_none();
        if !are_kept && !is_whole {
            continue;
        }
        assert_eq!(theirs.is_some(), ours.is_some(), "{shown}");
        let (Some((_, _, ideal)), Some(ours)) = (theirs, ours) else {
            continue;
        };
        let slice = open(&sliced);
        assert_eq!(slice.format(), "FLITREC", "{shown}");
        assert_eq!(slice.doubts(), None, "{shown}");
        assert_eq!(ours.written.ranks, slice.ranks(), "{shown}");
        // The slice has the clock of the whole, unless another one is asked for.
        assert_eq!(slice.recording().unwrap().1, clock, "{shown}");
        as_vef(&*slice, clock, &again);
        let found = open(&again).ideal_ps().unwrap();
        assert_eq!(sends(&again), sends(&expected), "{shown}");
        assert_eq!(found, ideal, "{shown}");
        if is_whole {
            // Nothing of it waits for anything that is left out: its other clock is the other clock of the recording.
            let clock = super::other(clock);
            as_vef(&*file, clock, &expected);
            as_vef(&*slice, clock, &again);
            assert_eq!(
                sends(&again),
                sends(&expected),
                "{shown} by the other clock"
            );
        }
        compared += 1;
    }
    compared
}

#[test]
fn slices_take_as_long_as_slices_of_the_vef() {
    for (name, least) in [
        ("openmpi-communicators-4", 1),
        ("openmpi-probes-4", 9),
        ("openmpi-collectives-4", 1),
        ("mpich-requests-4", 9),
        ("mpich-partitioned-2", 9),
        ("mpich-killed-2", 9),
    ] {
        for clock in [ComputeTime::Wall, ComputeTime::Cpu] {
            let compared = compared(name, clock);
            assert!(compared >= least, "{name}: {compared}");
        }
    }
}

/// Without communication a recording is refused, so a slice is as well.
#[test]
fn a_slice_can_be_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let (mut made, mut refused) = (0, 0);
    for name in ["openmpi-probes-4", "mpich-requests-4", "mpich-killed-2"] {
        let (file, whole) = (open(&recording(name)), dir.path().join("whole.vef"));
        as_vef(&*file, ComputeTime::Cpu, &whole);
        let span = open(&whole).ideal_ps().unwrap();
        for part in parts(span, file.ranks()) {
            let to = dir.path().join("slice.tar");
            let reading = Reading {
                allow_no_communication: false,
                ..reading(ComputeTime::Cpu)
            };
            let mut out = std::fs::File::create(&to).unwrap();
            match slice(&*file, &to, &reading, &part, &mut out) {
                Ok(_) => {
                    let program = open(&to).open(&Reading::default(), Stop::never());
                    assert!(program.is_ok(), "{name} {part:?}: {:?}", program.err());
                    made += 1;
                }
                Err(SliceError::Nothing { .. }) => {}
                Err(SliceError::Failed(e)) => {
                    assert!(format!("{e:#}").contains("choose another window"), "{e:#}");
                    refused += 1;
                }
            }
        }
    }
    assert!(made > 5 && refused > 0, "{made}, {refused}");
}

#[test]
fn the_other_clock_counts_waits_and_a_part_of_a_computation() {
    use super::write::beside;
    // It waited 5 for what does not remain.
    assert_eq!(beside(15, 10, 30), 35);
    assert_eq!(beside(15, 0, 7), 22);
    // The window begins when a fifth of the computation is left.
    assert_eq!(beside(2, 10, 30), 6);
    assert_eq!(beside(0, 10, 30), 0);
    assert_eq!(beside(u64::MAX - 1, u64::MAX, u64::MAX), u64::MAX - 1);
}

#[test]
fn regions_remain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = open(&root.join("tests/corpus/results/regions"));
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("solve.tar");
    let part = Part {
        region: Some(crate::program::RegionId::new(0)),
        ..Part::default()
    };
    let sliced = cut(&*file, ComputeTime::Wall, &part, &to).unwrap();
    let slice = open(&to);
    assert_eq!(slice.regions(), file.regions());
    // The window of its region is the whole slice.
    let again = dir.path().join("again.tar");
    let second = cut(&*slice, ComputeTime::Wall, &part, &again).unwrap();
    let (from, to) = sliced.window_ps;
    assert_eq!(second.window_ps, (0, to.map(|to| to - from)));
    assert_eq!(second.written, sliced.written);
    assert_eq!(
        std::fs::read(&again).unwrap().len(),
        std::fs::metadata(dir.path().join("solve.tar"))
            .unwrap()
            .len() as usize
    );
}
