//! Regions that a program marks: factors on their computation, and their names in outputs.

use crate::perfetto::perfetto;
use crate::recording::{NULL, Stream, collective, directory, none, ranks};
use flitwise::config::{Plan, resolve_text};
use flitwise::explain::Part;
use flitwise::results::{
    MessageFile, TableFormat, TimelineFile, TimelineFormat, WatchedByBoth, explanation_page,
};
use flitwise::run::{Control, run_plan};
use std::path::Path;
use tempfile::TempDir;

fn mark(stream: &mut Stream, level: i64, name: &str) {
    stream.call("MPI_Pcontrol", none().s(level).text(name));
}

/// Two ranks, which compute 1 us before each call, and barriers outside of regions, in `solve`, in `dot` within it, and in
/// `3`.
fn recording() -> TempDir {
    let barrier = |stream: &mut Stream| stream.call("MPI_Barrier", collective(0, NULL).vs([0, 0]));
    directory(&ranks(2, |stream| {
        barrier(stream);
        mark(stream, 1, "solve");
        barrier(stream);
        mark(stream, 1, "dot");
        barrier(stream);
        mark(stream, -1, "dot");
        mark(stream, -1, "solve");
        // The standard gives these levels a meaning, and none of them is a region.
        mark(stream, 1, "");
        mark(stream, 0, "off");
        mark(stream, 3, "");
        barrier(stream);
        mark(stream, -3, "");
        mark(stream, -3, "");
    }))
}

fn plan(dir: &Path, keys: &str) -> Plan {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"single\", nics = 2 }}\n[baseline]\nenabled = false\n\
         [[job]]\nname = \"app\"\ntrace = '{}'\n{keys}\n",
        dir.display()
    );
    resolve_text("test", &text, Path::new(""), &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// Nanoseconds of computation of a rank.
fn computed_ns(dir: &Path, keys: &str) -> u64 {
    let result = run_plan(&plan(dir, keys), &Control::default(), 1).unwrap();
    result.main.jobs[0].as_ref().unwrap().compute_ps / 1000
}

/// Of the 14 calls after the first one, with a microsecond before each: 2 up to the entry of `solve`; in it 4, of them 2 in
/// `dot`, and the exit of `solve` 1; 4 up to the entry of `3`, in which are 2; 2 at the end.
#[test]
fn a_computation_has_the_factor_of_its_region() {
    let dir = recording();
    let dir = dir.path();
    let all = computed_ns(dir, "");
    assert_eq!(all, computed_ns(dir, "compute_scale = { default = 1 }"));
    assert_eq!(computed_ns(dir, "compute_scale = { default = 2 }"), 2 * all);
    let more = |keys: &str| computed_ns(dir, &format!("compute_scale = {{ {keys} }}")) - all;
    assert_eq!(more("dot = 101"), 2 * 100_000);
    assert_eq!(more("solve = 11"), 5 * 10_000);
    assert_eq!(more("solve = 11, dot = 101"), 3 * 10_000 + 2 * 100_000);
    assert_eq!(more("'3' = '3/2'"), 1000);
    assert_eq!(more("default = 2, solve = 1"), all - 5000);
}

/// The functions of an archive are regions as well. Both ranks compute 4 us in `main`, 15 in `init` and 52 in `output`; in
/// `solve` 13 and 8, and rank 0 in `dot` within it 32. Results have the mean of the ranks.
#[test]
fn functions_of_an_archive_are_regions() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/otf2/regions");
    let dir = Path::new(dir);
    let all = computed_ns(dir, "");
    assert_eq!(all, 4_000 + 15_000 + 52_000 + (13_000 + 8_000 + 32_000) / 2);
    let more = |keys: &str| computed_ns(dir, &format!("compute_scale = {{ {keys} }}")) - all;
    assert_eq!(more("init = 2"), 15_000);
    assert_eq!(more("dot = 2"), 32_000 / 2);
    assert_eq!(more("solve = 2"), (13_000 + 8_000 + 32_000) / 2);
    assert_eq!(more("solve = 11, dot = 1"), 10 * (13_000 + 8_000) / 2);
    assert_eq!(more("progress = 100"), 0);
    let mut plan = plan(dir, "");
    plan.explain = true;
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let explained = &result.main.explanation.as_ref().unwrap()[0];
    let dot = explained.regions.iter().find(|share| share.name == "dot");
    assert_eq!(dot.unwrap().parts.of(Part::Computing), 32_000_000);
}

#[test]
fn an_unknown_region_is_refused() {
    let dir = recording();
    let refused = |dir: &Path| {
        let plan = plan(dir, "compute_scale = { slove = 0.5 }");
        let error = run_plan(&plan, &Control::default(), 1).err().unwrap();
        error.to_string()
    };
    let error = refused(dir.path());
    assert!(
        error.starts_with("job.0.compute_scale: there is no region `slove` in trace"),
        "{error}"
    );
    assert!(
        error.ends_with("which has `solve`, `dot`, `3`; did you mean `solve`?"),
        "{error}"
    );
    let without = directory(&ranks(2, |stream| {
        stream.call("MPI_Barrier", collective(0, NULL).vs([0, 0]));
    }));
    let error = refused(without.path());
    assert!(error.ends_with("whose program marks none"), "{error}");
}

/// The rows of a timeline that is written beside a table of messages.
fn with_messages(plan: &Plan, dir: &Path) -> String {
    let create = |name: &str| {
        let path = dir.join(name);
        let format = TimelineFormat::of_name(&path).unwrap();
        TimelineFile::create(&path, format, &plan.experiment, None).unwrap()
    };
    let timeline = create("both.csv");
    let table = dir.join("messages.csv");
    let format = TableFormat::Csv;
    let messages = MessageFile::create(&table, format, &plan.experiment.fabric.topology).unwrap();
    let both = WatchedByBoth {
        timeline: &timeline,
        messages: &messages,
    };
    run_plan(plan, &Control::default().seen_by(&both), 1).unwrap();
    timeline.finish().unwrap();
    messages.finish().unwrap();
    std::fs::read_to_string(dir.join("both.csv")).unwrap()
}

#[test]
fn timelines_name_regions() {
    let dir = recording();
    let plan = plan(dir.path(), "");
    let write = |name: &str| {
        let path = dir.path().join(name);
        let format = TimelineFormat::of_name(&path).unwrap();
        let timeline = TimelineFile::create(&path, format, &plan.experiment, None).unwrap();
        run_plan(&plan, &Control::default().seen_by(&timeline), 1).unwrap();
        timeline.finish().unwrap();
        std::fs::read(path).unwrap()
    };
    let rows = String::from_utf8(write("t.csv")).unwrap();
    assert_eq!(rows, with_messages(&plan, dir.path()));
    let of_rank: Vec<[&str; 3]> = rows
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|row| row[1] == "0" && row[4] == "barrier")
        .map(|row| [row[1], row[4], row[8]])
        .collect();
    assert_eq!(
        of_rank,
        ["", "solve", "dot", "3"].map(|region| ["0", "barrier", region])
    );
    let paje = String::from_utf8(write("t.paje")).unwrap();
    let states: Vec<&str> = paje.lines().filter(|line| line.contains(" G r0")).collect();
    // Leaving `dot` is back in `solve`.
    let regions: Vec<&str> = states
        .iter()
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert_eq!(regions, ["solve", "dot", "solve", "3"]);
    assert_eq!(states.len(), 8);
    let tracks = perfetto(&write("t.pftrace")).slices;
    for slices in tracks.values() {
        let names = slices.iter().map(|slice| slice.0.as_str());
        let regions = names.filter(|name| ["solve", "dot", "3"].contains(name));
        assert_eq!(regions.collect::<Vec<_>>(), ["solve", "dot", "solve", "3"]);
    }
}

#[test]
fn an_explanation_names_regions() {
    let dir = recording();
    let mut plan = plan(dir.path(), "");
    plan.explain = true;
    let result = run_plan(&plan, &Control::default(), 1).unwrap();
    let explained = &result.main.explanation.as_ref().unwrap()[0];
    let work = |name: &str| {
        let share = explained.regions.iter().find(|share| share.name == name);
        let parts = share.unwrap_or_else(|| panic!("no {name}")).parts;
        assert!(parts.of(Part::Latency) > 0, "{name}: its barrier sends");
        parts.of(Part::Computing)
    };
    // In `solve` itself are 3 computations, in `dot` and `3` 2.
    assert_eq!(
        [work("solve"), work("dot"), work("3")],
        [3_000_000, 2_000_000, 2_000_000]
    );
    assert_eq!(explained.regions.len(), 3);
    let page = explanation_page(&plan, &result, None);
    assert!(page.contains("\nregion "), "{page}");
}
