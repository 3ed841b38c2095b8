//! The inputs that the fuzzer found worth keeping, and every broken file of the corpora,
//! through the properties of the fuzz targets (docs/evidence/fuzzing.md). A failed test prints the
//! file last.

use std::path::{Path, PathBuf};

#[path = "../fuzz/archives.rs"]
mod archives;
#[path = "../fuzz/chakra.rs"]
mod chakra;
#[path = "../fuzz/dumpi.rs"]
mod dumpi;
#[path = "../fuzz/graphs.rs"]
pub mod graphs;
#[path = "../fuzz/jobs.rs"]
mod jobs;
#[path = "../fuzz/properties.rs"]
mod properties;
#[path = "../fuzz/recordings.rs"]
mod recordings;
#[path = "../fuzz/replays.rs"]
mod replays;
#[path = "../fuzz/results.rs"]
mod results;
#[path = "../fuzz/schedules.rs"]
mod schedules;

/// Gives `property` every file of the folders below `tests`.
fn replay(property: fn(&[u8]), folders: &[&str]) {
    for folder in folders {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests")
            .join(folder);
        let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let mut files: Vec<PathBuf> = entries.map(|f| f.unwrap().path()).collect();
        files.sort();
        assert!(files.len() > 10, "{folder} has {} files", files.len());
        for file in files {
            println!("{}", file.display());
            property(&std::fs::read(&file).unwrap());
        }
    }
}

#[test]
fn vef_parser() {
    replay(
        properties::vef_parser,
        &["fuzz/corpus/vef_parser", "corpus/vef"],
    );
}

#[test]
fn vef_container() {
    replay(
        properties::vef_container,
        &["fuzz/corpus/vef_container", "corpus/vef"],
    );
}

#[test]
fn trace_check() {
    replay(
        properties::trace_check,
        &["fuzz/corpus/trace_check", "corpus/vef"],
    );
}

#[test]
fn trace_replay() {
    replay(
        replays::trace_replay,
        &[
            "fuzz/corpus/trace_replay",
            "fuzz/corpus/trace_check",
            "corpus/vef",
        ],
    );
}

#[test]
fn experiment() {
    replay(
        properties::experiment,
        &["fuzz/corpus/experiment", "corpus/experiments"],
    );
}

#[test]
fn dtable_spec() {
    replay(
        properties::dtable_spec,
        &["fuzz/corpus/dtable_spec", "corpus/experiments"],
    );
}

#[test]
fn quantity() {
    replay(properties::quantity, &["fuzz/corpus/quantity"]);
}

#[test]
fn infiniband_dumps() {
    replay(
        properties::infiniband_dumps,
        &["fuzz/corpus/infiniband_dumps"],
    );
}

#[test]
fn dot_graph() {
    replay(graphs::dot_graph, &["fuzz/corpus/dot_graph"]);
}

#[test]
fn graph_file() {
    replay(
        graphs::graph_file,
        &["fuzz/corpus/graph_file", "fuzz/corpus/dot_graph"],
    );
}

#[test]
fn chakra_trace() {
    replay(chakra::chakra_trace, &["fuzz/corpus/chakra_trace"]);
}

#[test]
fn inspector_logs() {
    replay(chakra::inspector_logs, &["fuzz/corpus/inspector_logs"]);
}

#[test]
fn job_schedule() {
    replay(jobs::job_schedule, &["fuzz/corpus/job_schedule"]);
}

#[test]
fn otf2_archive() {
    replay(archives::otf2_archive, &["fuzz/corpus/otf2_archive"]);
}

#[test]
fn otf2_edits() {
    replay(archives::otf2_edits, &["fuzz/corpus/otf2_edits"]);
}

#[test]
fn dumpi_parser() {
    replay(dumpi::dumpi_parser, &["fuzz/corpus/dumpi_parser"]);
}

#[test]
fn dumpi_set() {
    replay(
        dumpi::dumpi_set,
        &["fuzz/corpus/dumpi_set", "fuzz/corpus/dumpi_parser"],
    );
}

#[test]
fn recording() {
    replay(recordings::recording, &["fuzz/corpus/recording"]);
}

#[test]
fn goal_parser() {
    replay(schedules::goal_parser, &["fuzz/corpus/goal_parser"]);
}

#[test]
fn goal_schedule() {
    replay(schedules::goal_schedule, &["fuzz/corpus/goal_schedule"]);
}

#[test]
fn ti_trace() {
    replay(schedules::ti_trace, &["fuzz/corpus/ti_trace"]);
}

#[test]
fn result_json() {
    replay(results::result_json_read, &["fuzz/corpus/result_json"]);
}

#[test]
fn study_json() {
    replay(results::study_json, &["fuzz/corpus/study_json"]);
}

#[test]
fn runs_jsonl() {
    replay(results::runs_jsonl, &["fuzz/corpus/runs_jsonl"]);
}

#[test]
fn congestion_json() {
    replay(results::congestion_json, &["fuzz/corpus/congestion_json"]);
}

#[test]
fn result_tables() {
    replay(results::result_tables, &["fuzz/corpus/result_tables"]);
}

#[test]
fn record() {
    replay(results::record, &["fuzz/corpus/record"]);
}

#[test]
fn study_file() {
    replay(results::study_file, &["fuzz/corpus/study_file"]);
}

#[test]
fn sound_seeds_are_read() {
    results::sound_seeds_are_read();
}
