//! The JSON Schemas and the documents they describe, which come from the experiments in `tests/corpus/results`.

use crate::common::result_json;
use crate::schema_keys::{keys_in, keys_of, united};
use flitwise::config::{Plan, experiment_keys, load, written_key};
use flitwise::results::{ComparedRun, comparison_json, comparison_schema, result_schema};
use flitwise::run::{Control, Progress, RunResult, Session, Snapshot};
use flitwise::study::study_schema;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Keys that no experiment of the corpus has, and why.
const UNSEEN: &[(&str, &str)] = &[(
    "experiment.jobs[].placement.hosts",
    "only of a host file, which tests/input/operators.rs has",
)];

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::meta::validate(schema).unwrap_or_else(|e| panic!("{e}"));
    jsonschema::draft202012::new(schema).unwrap_or_else(|e| panic!("{e}"))
}

/// What is wrong with a document, a line each.
fn errors(validator: &Validator, document: &Value) -> String {
    let one = |e: jsonschema::ValidationError<'_>| format!("  {}: {e}\n", e.instance_path());
    validator.iter_errors(document).map(one).collect()
}

/// The experiments of the corpus, with their names.
fn plans() -> Vec<(String, Plan)> {
    let dir = std::fs::read_dir(Path::new(ROOT).join("tests/corpus/results")).unwrap();
    let paths = dir.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    let one = |path: &PathBuf| {
        let mut plan = load(path, &[]).unwrap_or_else(|e| panic!("{e}"));
        let job = plan.experiment.measure.is_none();
        plan.split = job;
        plan.explain = job && plan.experiment.background_gap_skip_ps.is_none();
        (
            path.file_stem().unwrap().to_string_lossy().into_owned(),
            plan,
        )
    };
    paths.iter().map(one).collect()
}

fn run(plan: &Plan, control: &Control<'_>) -> RunResult {
    Session::new(2).run(plan, control).unwrap()
}

/// A document of each experiment, and of one that is interrupted.
fn documents() -> Vec<(String, Value)> {
    let control = Control::default();
    let mut documents = Vec::new();
    for (name, plan) in plans() {
        let result = match name.as_str() {
            "saturated" => run(&plan, &control.ending_when_saturated()),
            _ => run(&plan, &control),
        };
        if name == "tree-explained" {
            let stop = AtomicBool::new(false);
            let progress = StopSoon(&stop);
            let control = control.stopped_by(&stop).reporting_to(&progress);
            let cut = run(&plan, &control.reporting_every(Duration::ZERO));
            documents.push(("interrupted".to_owned(), result_json(&plan, &cut)));
        }
        documents.push((name, result_json(&plan, &result)));
    }
    documents
}

/// Ends a run when it reports for the first time.
struct StopSoon<'a>(&'a AtomicBool);

impl Progress for StopSoon<'_> {
    fn update(&self, _: &Snapshot) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn results_have_the_keys_of_the_schema_and_no_others() {
    let schema = result_schema();
    let (validator, one) = (validator(&schema), united(&schema));
    let mut seen = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    for (name, document) in documents() {
        let wrong = errors(&validator, &document);
        assert!(
            wrong.is_empty(),
            "the result of {name} is not what its schema says:\n{wrong}"
        );
        statuses.insert(document["status"].as_str().unwrap().to_owned());
        keys_in(&document, &one, &one, "", &mut seen);
    }
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    let mut keys = BTreeMap::new();
    keys_of(&one, &one, "", &mut keys);
    // Baselines have experiments of the same form.
    let of_baseline = |key: &str| key.starts_with("baselines[].experiment.");
    let unseen: Vec<&String> = keys
        .keys()
        .filter(|key| !seen.contains(*key) && !of_baseline(key))
        .collect();
    let known: Vec<&str> = UNSEEN.iter().map(|(key, _)| *key).collect();
    assert_eq!(
        unseen, known,
        "keys of the schema that no result of tests/corpus/results has"
    );
}

#[test]
fn every_key_of_a_schema_is_described() {
    for schema in [result_schema(), study_schema(), comparison_schema()] {
        let schema = united(&schema);
        let mut keys = BTreeMap::new();
        keys_of(&schema, &schema, "", &mut keys);
        let empty: Vec<_> = keys.iter().filter(|(_, text)| text.is_empty()).collect();
        assert!(keys.len() > 10 && empty.is_empty(), "{empty:?}");
    }
}

#[test]
fn every_key_of_an_experiment_is_named_as_files_have_it() {
    let mut known: BTreeSet<String> = experiment_keys().into_iter().map(|key| key.path).collect();
    for key in known.clone() {
        let ends = key.match_indices('.').map(|(at, _)| at);
        known.extend(ends.map(|end| key[..end].to_owned()));
    }
    let schema = united(&result_schema());
    let mut keys = BTreeMap::new();
    keys_of(&schema, &schema, "", &mut keys);
    let of_experiment = keys
        .keys()
        .filter_map(|key| key.strip_prefix("experiment."));
    let unnamed = |key: &&str| !known.contains(&written_key(&key.replace("[]", ".0")).path);
    let unnamed: Vec<&str> = of_experiment.filter(unnamed).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
    for (key, path, unit) in [
        ("jobs.2.tasks_per_node", "job.2.ranks_per_nic", Some("")),
        (
            "jobs.0.calls.eager_threshold_bytes",
            "job.0.eager_threshold",
            Some(" B"),
        ),
        (
            "background.1.messages.3.share",
            "background.1.message",
            None,
        ),
        (
            "fabric.switch.hca_sink_flits_per_tick",
            "fabric.hca_sink_rate",
            Some(" flits/tick"),
        ),
        (
            "fabric.switch.input_buffer.credits",
            "fabric.input_buffer",
            None,
        ),
        (
            "fabric.switch.allocator.iterations",
            "fabric.allocator_iterations",
            Some(""),
        ),
        ("fabric.outages.3.port", "event", None),
        ("qos.scheduler.weights", "qos.scheduler", None),
        ("power.sleep_ticks", "power.sleep", Some(" ticks")),
    ] {
        let found = written_key(key);
        assert_eq!((&*found.path, found.unit), (path, unit), "{key}");
    }
}

#[test]
fn a_wrong_document_is_refused() {
    let validator = validator(&result_schema());
    let (_, good) = documents().pop().unwrap();
    for (pointer, value) in [
        ("/status", Value::from("done")),
        ("/traffic/messages", Value::from("many")),
        ("/traffic/more", Value::from(1)),
        ("/experiment/fabric/more", Value::from(1)),
    ] {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut document = good.clone();
        document.pointer_mut(parent).unwrap()[key] = value;
        assert!(!validator.is_valid(&document), "{pointer}");
    }
}

#[test]
fn comparisons_have_the_keys_of_their_schema_and_add_up() {
    let path = Path::new(ROOT).join("tests/corpus/results/tree-explained.toml");
    let plan_with = |sets: &[String]| {
        let mut plan = load(&path, sets).unwrap();
        plan.explain = true;
        plan.baselines.clear();
        plan
    };
    let (plan, other) = (plan_with(&[]), plan_with(&["background=[]".to_owned()]));
    let control = Control::default();
    let (result, other_result) = (run(&plan, &control), run(&other, &control));
    let compared = |name, plan, result| ComparedRun {
        name,
        file: Path::new("some.toml"),
        plan,
        result,
    };
    let document = comparison_json(
        compared("one", &plan, &result),
        compared("quiet", &other, &other_result),
    );
    let mut document = serde_json::to_value(document).unwrap();
    let validator = validator(&comparison_schema());
    let wrong = errors(&validator, &document);
    assert!(wrong.is_empty(), "{wrong}");
    for (side, (name, run)) in ["this", "other"]
        .into_iter()
        .zip([("one", &result), ("quiet", &other_result)])
    {
        let plan = if name == "one" { &plan } else { &other };
        let hash = result_json(plan, run)["experiment_hash"].clone();
        let expected = json!({ "name": name, "file": "some.toml", "experiment_hash": hash });
        assert_eq!(document[side], expected);
    }
    assert_eq!(document["different_keys"], json!(["background"]));
    let job = &document["jobs"][0];
    let number = |value: &Value| value.as_i64().unwrap();
    let all = number(&job["difference"]["total_ps"]);
    let [this, other] = ["this", "other"].map(|run| number(&job[run]["total_ps"]));
    assert_eq!(this - other, all);
    assert_ne!(all, 0);
    let parts = job["difference"]["parts"].as_object().unwrap();
    assert_eq!(parts.values().map(number).sum::<i64>(), all);
    document["jobs"][0]["more"] = Value::from(1);
    assert!(!errors(&validator, &document).is_empty());
}

#[test]
fn studies_have_the_keys_of_their_schema() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("schemas.toml");
    let text = format!(
        "name = \"schemas\"\nseeds = [1, 2]\ntags = [\"a\"]\n\
         experiment = \"{ROOT}/tests/corpus/results/single.toml\"\n\
         [set]\n\"baseline.enabled\" = false\n\
         [[axis]]\nname = \"case\"\n[axis.variants]\none = {{ seed = 1 }}\ntwo = {{ seed = 2 }}\n"
    );
    std::fs::write(&file, text).unwrap();
    let out = dir.path().join("out");
    let study = Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(["study", "--quiet", "--out"])
        .args([&out, &file])
        .output()
        .unwrap();
    assert!(study.status.success(), "{study:?}");
    let document = std::fs::read_to_string(out.join("study.json")).unwrap();
    let mut document: Value = serde_json::from_str(&document).unwrap();
    let validator = validator(&study_schema());
    let wrong = errors(&validator, &document);
    assert!(wrong.is_empty(), "study.json:\n{wrong}");
    document["axes"][0]["more"] = Value::from(1);
    assert!(!errors(&validator, &document).is_empty());
}
