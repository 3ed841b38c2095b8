//! The properties of the targets that read what Flitwise wrote, as `properties.rs` has those of the others.
#![allow(dead_code, reason = "each target uses one of them")]

use flitwise::config::{Study, resolve_text};
use flitwise::figure::Theme;
use flitwise::oblivious::CONGESTION_SCHEMA;
use flitwise::quote::message;
use flitwise::report::{FigureKind, figures, open, page};
use flitwise::results::{self, explanation_page, result_json, summary};
use flitwise::run::{Control, Record, RunResult, Session};
use flitwise::study::{self, Grid, compare};
use serde_json::Value;
use tempfile::TempDir;
use twox_hash::XxHash3_128;

#[allow(clippy::duplicate_mod, reason = "the tests have it as well")]
#[path = "../common/markup.rs"]
mod markup;

/// What lies beside the file that an input is.
const RESULT: &[u8] = include_bytes!("corpus/result_json/a-job");
const STUDY: &[u8] = include_bytes!("corpus/study_json/a-job");
const RUNS: &[u8] = include_bytes!("corpus/runs_jsonl/a-job");
const ANALYSIS: &[u8] = include_bytes!("corpus/congestion_json/a-tree");
/// The tables that reports read; a seed of `result_tables` begins with the name of its table.
const TABLES: [&str; 9] = [
    "links.csv",
    "latencies.csv",
    "matrix.csv",
    "waits.csv",
    "ranks.csv",
    "flows.csv",
    "port_vls.csv",
    "sources.csv",
    "cables.csv",
];
/// The most digits of a number in a record whose checksum is right.
const MAX_DIGITS: usize = 12;
/// The most bytes of an error message.
const MAX_MESSAGE: usize = 2000;

fn directory(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

/// `data` with the version of its layout replaced by the one that is read: seeds outlive versions.
fn of_this_version(data: &[u8], schema: &str) -> Vec<u8> {
    let stem = schema.trim_end_matches(|c: char| c.is_ascii_digit());
    let Some(at) = data
        .windows(stem.len())
        .position(|part| part == stem.as_bytes())
    else {
        return data.to_vec();
    };
    let (before, rest) = data.split_at(at);
    let digits = rest[stem.len()..].iter().take_while(|b| b.is_ascii_digit());
    let end = stem.len() + digits.count();
    [before, schema.as_bytes(), &rest[end..]].concat()
}

/// A message is short, and printed it holds no control sequence.
fn assert_readable(text: &str) {
    assert!(!text.is_empty() && text.len() <= MAX_MESSAGE, "{text}");
    assert_eq!(message(text), text);
}

/// The page about a directory with its figures, as `report` and `plot` make them; `None` if `file` in it is refused. A
/// refusal names the file, and text of the input is no markup.
fn shown(dir: &TempDir, file: &str) -> Option<String> {
    let sources = match open(&[dir.path().to_owned()], &[]) {
        Ok(sources) => sources,
        Err(error) => {
            let text = error.to_string();
            assert_readable(&text);
            assert!(text.contains(file), "{text} names no {file}");
            return None;
        }
    };
    for kind in FigureKind::ALL {
        match figures(kind, &sources) {
            Ok(figures) => {
                for figure in figures {
                    markup::assert_well_formed(&figure.draw(700, Theme::File));
                }
            }
            Err(error) => assert_readable(&error.to_string()),
        }
    }
    let page = page(&sources, None).unwrap();
    markup::assert_well_formed(&page);
    Some(page)
}

/// The page about a directory in which `file` has this content. Printed as JSON of another form it gives the same page.
fn of_json(dir: &TempDir, file: &str, data: &[u8]) -> Option<String> {
    let path = dir.path().join(file);
    std::fs::write(&path, data).unwrap();
    let page = shown(dir, file)?;
    let value: Value = serde_json::from_slice(data).unwrap();
    std::fs::write(&path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    assert!(
        shown(dir, file).as_ref() == Some(&page),
        "printed anew it differs"
    );
    Some(page)
}

/// A `result.json` is refused with its name, or has a page and figures without markup of its own, the same ones when it
/// is printed anew.
pub fn result_json_read(data: &[u8]) {
    let dir = directory(&[]);
    of_json(&dir, "result.json", &of_this_version(data, results::SCHEMA));
}

/// The same of `congestion.json`.
pub fn congestion_json(data: &[u8]) {
    let dir = directory(&[]);
    let data = of_this_version(data, CONGESTION_SCHEMA);
    of_json(&dir, "congestion.json", &data);
}

/// A table beside a sound document (its name is the first line) is refused with its name, or is in figures and pages.
pub fn result_tables(data: &[u8]) {
    let end = data.iter().position(|&b| b == b'\n').map_or(0, |at| at + 1);
    let (name, table) = data.split_at(end);
    let found = TABLES
        .into_iter()
        .find(|one| name.trim_ascii() == one.as_bytes());
    let name = found.unwrap_or(TABLES[data.len() % TABLES.len()]);
    let (document, text, schema) = match name {
        "cables.csv" => ("congestion.json", ANALYSIS, CONGESTION_SCHEMA),
        _ => ("result.json", RESULT, results::SCHEMA),
    };
    let document_text = of_this_version(text, schema);
    shown(
        &directory(&[(document, &document_text), (name, table)]),
        name,
    );
}

/// A `study.json` beside sound rows is refused with its name, or has a page, the same one when it is printed anew; it
/// compares with itself.
pub fn study_json(data: &[u8]) {
    let dir = directory(&[("runs.jsonl", RUNS)]);
    of_json(&dir, "study.json", &of_this_version(data, study::SCHEMA));
    compared(&dir);
}

/// The rows beside a sound `study.json`: as of [`study_json`].
pub fn runs_jsonl(data: &[u8]) {
    let study = of_this_version(STUDY, study::SCHEMA);
    let dir = directory(&[("study.json", &study), ("runs.jsonl", data)]);
    shown(&dir, "runs.jsonl");
    compared(&dir);
}

/// Compares a study with itself and with a sound one.
fn compared(dir: &TempDir) {
    let study = of_this_version(STUDY, study::SCHEMA);
    let sound = directory(&[("study.json", &study), ("runs.jsonl", RUNS)]);
    for (one, other) in [(dir, dir), (dir, &sound), (&sound, dir)] {
        match compare(one.path(), other.path()) {
            Ok(text) => assert!(!text.is_empty()),
            Err(error) => assert_readable(&format!("{error:#}")),
        }
    }
}

/// A study file is read twice the same, or refused with the place of one error; so are its points.
pub fn study_file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // An experiment or a baseline in a file of its own could be any file of the machine.
    if text.contains("file") || text.contains('/') {
        return;
    }
    let dir = directory(&[("study.toml", data)]);
    let read = || Study::load(&dir.path().join("study.toml"));
    let grid = |study| Grid::of(study).and_then(|grid| Ok((grid.plan(0, None)?, grid)));
    match (read(), read()) {
        (Ok(study), Ok(again)) => {
            assert_eq!(study, again);
            match (grid(study), grid(again)) {
                (Ok((plan, grid)), Ok((again, _))) => {
                    assert!(!grid.points.is_empty());
                    assert_eq!(plan, again);
                }
                (Err(error), Err(again)) => assert_eq!(error, again),
                _ => panic!("resolved once and refused once"),
            }
        }
        (Err(error), Err(again)) => {
            assert_eq!(error, again);
            // What is missing has no place.
            let missing = error.problem.starts_with('`');
            assert!(
                missing || error.location.is_some() || !error.key.is_empty(),
                "{error}"
            );
        }
        _ => panic!("accepted once and refused once"),
    }
}

const JOB: &str = "fabric.topology = { kind = \"single\", nics = 4 }\n\
    [[job]]\ntrace = \"tiny.vef\"\nstart = \"1us\"\n[[background]]\nrate = 0.1\n";
const LOADS: &str = "fabric.topology = { kind = \"single\", nics = 2 }\n\
    [[background]]\nrate = 0.1\n[measure]\nwarm_up = \"5us\"\nwindow = \"5us\"\nloads = [0.1, 0.2]\n";
const POWER: &str = "fabric.topology = { kind = \"k-ary-n-tree\", k = 2, n = 2 }\n\
    power.policy = \"on-off\"\n[[job]]\ntrace = \"tiny.vef\"\n";
/// The experiments whose records are replaced, by the first byte of an input.
const EXPERIMENTS: [(u8, &str); 3] = [(b'j', JOB), (b'l', LOADS), (b'p', POWER)];

thread_local! {
    static KEPT: Vec<Kept> = EXPERIMENTS.iter().map(|(_, text)| Kept::of(text)).collect();
}

/// An experiment with its records.
struct Kept {
    dir: TempDir,
    plan: flitwise::config::Plan,
    said: (Value, String),
    /// The file of the first task's record, and what it holds.
    path: std::path::PathBuf,
    sound: String,
}

impl Kept {
    fn of(text: &str) -> Self {
        let dir = directory(&[("tiny.vef", include_bytes!("../corpus/experiments/tiny.vef"))]);
        let mut plan = resolve_text("records.toml", text, dir.path(), &[]).unwrap();
        plan.split = text == JOB;
        plan.explain = text == POWER;
        let result = run(&dir, &plan);
        let said = said(&plan, &result);
        let mut session = session(&dir);
        session.prepare(&plan, &Control::default()).unwrap();
        let id = session.tasks(&plan)[0].id;
        let path = dir.path().join(format!("records/{id}.json.zst"));
        let sound = unpacked(&path);
        Self {
            dir,
            plan,
            said,
            path,
            sound,
        }
    }
}

fn unpacked(path: &std::path::Path) -> String {
    let bytes = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn pack(text: &[u8], path: &std::path::Path) {
    std::fs::write(path, zstd::bulk::compress(text, 1).unwrap()).unwrap();
}

fn session(dir: &TempDir) -> Session {
    let records = dir.path().join("records");
    Session::new(1).with_records(&records).unwrap()
}

fn run(dir: &TempDir, plan: &flitwise::config::Plan) -> RunResult {
    session(dir).run(plan, &Control::default()).unwrap()
}

/// All texts of a result, without the times of the engine.
fn said(plan: &flitwise::config::Plan, result: &RunResult) -> (Value, String) {
    let mut json = serde_json::to_value(result_json(plan, result)).unwrap();
    json["engine"] = Value::Null;
    let text = summary(plan, result, true) + &explanation_page(plan, result, None);
    (json, text)
}

/// A record is the file, or the text in it, or, where the first line is the letter of an experiment, a sound record whose result
/// is replaced by the rest of the text, with the right checksum. The first is made again, unless it is the right one;
/// the second is read and can be told as a result, or made again. What is read is the same when it is written.
pub fn record(data: &[u8]) {
    KEPT.with(|kept| {
        let letter = data.first().filter(|_| data.get(1) == Some(&b'\n'));
        let found = EXPERIMENTS.iter().position(|(one, _)| Some(one) == letter);
        match found {
            Some(at) => {
                replaced(&kept[at], &data[2..]);
            }
            None => damaged(&kept[0], data),
        }
    });
}

fn damaged(kept: &Kept, data: &[u8]) {
    let again = || said(&kept.plan, &run(&kept.dir, &kept.plan));
    std::fs::write(&kept.path, data).unwrap();
    assert!(again() == kept.said);
    pack(data, &kept.path);
    assert!(again() == kept.said);
}

/// Returns whether the record was taken.
fn replaced(kept: &Kept, simulation: &[u8]) -> bool {
    let (head, _) = kept.sound.split_once("\"simulation\":").unwrap();
    let simulation = String::from_utf8_lossy(simulation);
    // Nothing counts so far, and sums of such counts are not checked.
    let digits = simulation.split(|c: char| !c.is_ascii_digit());
    if digits.map(str::len).max() > Some(MAX_DIGITS) {
        return false;
    }
    let body = format!("{head}\"simulation\":{}", simulation.trim_end());
    if let Ok(record) = serde_json::from_str::<Record>(&format!("{body}}}")) {
        let written = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&written).unwrap(), record);
    }
    let sum = XxHash3_128::oneshot(body.as_bytes());
    let text = format!("{body},\"checksum\":\"{sum:032x}\"}}\n");
    pack(text.as_bytes(), &kept.path);
    let result = run(&kept.dir, &kept.plan);
    said(&kept.plan, &result);
    let taken = unpacked(&kept.path) == text;
    pack(kept.sound.as_bytes(), &kept.path);
    taken
}

/// The sound seeds are read: targets that refuse all of them would show nothing.
pub fn sound_seeds_are_read() {
    let pages = [
        ("result.json", of_this_version(RESULT, results::SCHEMA)),
        (
            "congestion.json",
            of_this_version(ANALYSIS, CONGESTION_SCHEMA),
        ),
        ("study.json", of_this_version(STUDY, study::SCHEMA)),
    ];
    for (name, text) in pages {
        let dir = directory(&[("runs.jsonl", RUNS)]);
        assert!(of_json(&dir, name, &text).is_some(), "{name}");
    }
    for seed in [
        &include_bytes!("corpus/record/a-job-0")[..],
        include_bytes!("corpus/record/a-load-0"),
        include_bytes!("corpus/record/explained-with-power-0"),
    ] {
        let (letter, simulation) = seed.split_at(2);
        let at = EXPERIMENTS.iter().position(|(one, _)| *one == letter[0]);
        let taken = KEPT.with(|kept| replaced(&kept[at.unwrap()], simulation));
        assert!(taken, "{}", letter.escape_ascii());
    }
}
