//! The JSON Schemas in `docs/schema`, the documents they describe, and `docs/result.md`: each says what the others
//! say. The documents come from the experiments in `tests/corpus/results`.

use flitwise::config::{Plan, load};
use flitwise::results::result_json;
use flitwise::run::{Control, Progress, RunResult, Session, Snapshot};
use jsonschema::Validator;
use serde_json::Value;
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

fn schema(name: &str) -> Value {
    let path = Path::new(ROOT).join(format!("docs/schema/{name}.schema.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

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

/// A key: its path, in which lists are `[]`, with its description and unit.
type Keys = BTreeMap<String, (String, Option<String>)>;

/// The keys of a schema. Names that follow from the experiment are `<…>`, as the schema's title of them says.
fn keys_of(schema: &Value, root: &Value, path: &str, keys: &mut Keys) {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let target = text("$ref").map(|target| root.pointer(&target[1..]).unwrap());
    let node = target.unwrap_or(schema);
    if let Some(Value::Object(properties)) = node.get("properties") {
        for (key, property) in properties {
            let path = match path {
                "" => key.clone(),
                _ => format!("{path}.{key}"),
            };
            let word = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
            let description = word("description").unwrap_or_default();
            keys.insert(path.clone(), (description, word("unit")));
            keys_of(property, root, &path, keys);
        }
    }
    if let Some(named @ Value::Object(_)) = node.get("additionalProperties") {
        let path = format!("{path}.{}", named["title"].as_str().unwrap());
        keys.insert(
            path.clone(),
            (
                named["description"].as_str().unwrap_or_default().to_owned(),
                None,
            ),
        );
        keys_of(named, root, &path, keys);
    }
    if let Some(items) = node.get("items") {
        keys_of(items, root, &format!("{path}[]"), keys);
    }
}

/// The keys of a document, named as those of the schema are.
fn keys_in(value: &Value, schema: &Value, root: &Value, path: &str, keys: &mut BTreeSet<String>) {
    let target = schema.get("$ref").and_then(Value::as_str);
    let node = target.map_or(schema, |target| root.pointer(&target[1..]).unwrap());
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let (name, inner) = match node.pointer(&format!("/properties/{key}")) {
                    Some(inner) => (key.as_str(), inner),
                    None => match &node["additionalProperties"] {
                        named @ Value::Object(_) => (named["title"].as_str().unwrap(), named),
                        _ => (key.as_str(), &Value::Null),
                    },
                };
                let path = match path {
                    "" => name.to_owned(),
                    _ => format!("{path}.{name}"),
                };
                keys_in(value, inner, root, &path, keys);
                keys.insert(path);
            }
        }
        Value::Array(list) => {
            let (path, items) = (format!("{path}[]"), &node["items"]);
            for value in list {
                keys_in(value, items, root, &path, keys);
            }
        }
        _ => {}
    }
}

/// The rows of the tables of `docs/result.md` about `result.json`: path to unit and meaning.
fn rows() -> BTreeMap<String, (String, String)> {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/result.md")).unwrap();
    let (page, _) = page.split_once("# JSON of `flitwise trace`").unwrap();
    let mut rows = BTreeMap::new();
    for table in page
        .split("\n\n")
        .filter(|part| part.starts_with("| field |"))
    {
        for line in table.lines().skip(2) {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [names, unit, meaning] = cells[..] else {
                panic!("{line}");
            };
            let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
            for name in &names {
                let path = match name.strip_prefix('.') {
                    Some(last) => format!("{}.{last}", names[0].rsplit_once('.').unwrap().0),
                    None => (*name).to_owned(),
                };
                let old = rows.insert(path, (unit.to_owned(), meaning.to_owned()));
                // Two kinds of switch have some parameters in common.
                let same = old.is_none_or(|(other, _)| other == unit);
                assert!(same, "{name} has two rows with two units");
            }
        }
    }
    rows
}

/// The row of a path: its own, or of the same key where a row says `as …` of an object.
fn row_of<'a>(
    path: &str,
    rows: &'a BTreeMap<String, (String, String)>,
) -> Option<(String, &'a (String, String))> {
    if let Some(row) = rows.get(path) {
        return Some((path.to_owned(), row));
    }
    let ends = path.match_indices(['.', '[']).map(|(at, _)| at);
    let ends = ends
        .flat_map(|at| [at, at + 2])
        .filter(|&at| path.is_char_boundary(at));
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        let (start, rest) = path.split_at(end.min(path.len()));
        let Some((_, meaning)) = rows.get(start) else {
            continue;
        };
        let Some(other) = meaning
            .strip_prefix("as `")
            .and_then(|m| m.split('`').next())
        else {
            continue;
        };
        return row_of(&format!("{other}{rest}"), rows);
    }
    None
}

/// A unit of the page as that of the schema.
fn unit_of(cell: &str) -> &str {
    let cell = cell.split(" or ").next().unwrap_or(cell);
    let cell = cell.split(',').next().unwrap_or(cell);
    cell.strip_prefix("list of ").unwrap_or(cell)
}

#[test]
fn results_have_the_keys_of_the_schema_and_no_others() {
    let schema = schema("result");
    let validator = validator(&schema);
    let mut seen = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    for (name, document) in documents() {
        let wrong = errors(&validator, &document);
        assert!(
            wrong.is_empty(),
            "the result of {name} is not what docs/schema/result.schema.json says; describe a new key there and in \
             docs/result.md:\n{wrong}"
        );
        statuses.insert(document["status"].as_str().unwrap().to_owned());
        keys_in(&document, &schema, &schema, "", &mut seen);
    }
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    let mut keys = Keys::new();
    keys_of(&schema, &schema, "", &mut keys);
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
fn the_page_and_the_schema_say_the_same() {
    let schema = schema("result");
    let mut keys = Keys::new();
    keys_of(&schema, &schema, "", &mut keys);
    let (rows, mut used, mut wrong) = (rows(), BTreeSet::new(), String::new());
    for (key, (description, unit)) in &keys {
        if description.is_empty() {
            wrong += &format!("{key} has no description in the schema\n");
        }
        let Some((row, (cell, _))) = row_of(key, &rows) else {
            wrong += &format!("{key} has no row in docs/result.md\n");
            continue;
        };
        used.insert(row);
        if let Some(unit) = unit {
            let cell = unit_of(cell);
            if cell != unit {
                wrong += &format!(
                    "{key}: the unit is `{cell}` on the page and `{unit}` in the schema\n"
                );
            }
        }
    }
    for row in rows
        .keys()
        .filter(|row| !used.contains(*row) && !row.ends_with("[]"))
    {
        wrong += &format!("{row} is on the page and not in the schema\n");
    }
    assert!(
        wrong.is_empty(),
        "docs/result.md and docs/schema/result.schema.json differ:\n{wrong}"
    );
}

#[test]
fn a_wrong_document_is_refused() {
    let validator = validator(&schema("result"));
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
    let validator = validator(&schema("study"));
    let wrong = errors(&validator, &document);
    assert!(wrong.is_empty(), "study.json:\n{wrong}");
    document["axes"][0]["more"] = Value::from(1);
    assert!(!errors(&validator, &document).is_empty());
}
