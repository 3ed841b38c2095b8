//! The JSON Schemas, the documents they describe, and the tables of `docs/reference/result.md`. The documents come from the experiments
//! in `tests/corpus/results`.

use crate::common::{bless, result_json};
use flitwise::config::{Plan, load};
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

/// The schema that says which keys a value has: behind a reference, or the one of several that is not null or a text.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return resolved(root.pointer(&target[1..]).unwrap(), root);
    }
    let Some(Value::Array(choices)) = schema.get("anyOf") else {
        return schema;
    };
    let choices = choices.iter().map(|choice| resolved(choice, root));
    let with_keys = |choice: &&Value| {
        ["object", "array"]
            .iter()
            .any(|kind| choice["type"] == *kind)
    };
    choices.rev().find(with_keys).unwrap_or(schema)
}

/// The keys of a schema with their descriptions. A key is a path in which lists are `[]`, and in which names that follow from
/// the experiment are `<…>`, as the schema's title of them says.
fn keys_of(schema: &Value, root: &Value, path: &str, keys: &mut BTreeMap<String, String>) {
    let node = resolved(schema, root);
    let described = |of: &Value| of["description"].as_str().unwrap_or_default().to_owned();
    if let Some(Value::Object(properties)) = node.get("properties") {
        for (key, property) in properties {
            let path = below(path, key);
            keys.insert(path.clone(), described(property));
            keys_of(property, root, &path, keys);
        }
    }
    if let Some(named @ Value::Object(_)) = node.get("additionalProperties") {
        let path = below(path, named["title"].as_str().unwrap());
        keys.insert(path.clone(), described(named));
        keys_of(named, root, &path, keys);
    }
    if let Some(items) = node.get("items") {
        keys_of(items, root, &format!("{path}[]"), keys);
    }
}

fn below(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    }
}

/// The keys of a document, named as those of the schema are.
fn keys_in(value: &Value, schema: &Value, root: &Value, path: &str, keys: &mut BTreeSet<String>) {
    let node = resolved(schema, root);
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
                let path = below(path, name);
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

/// The section whose fields are listed by name, with the key of the experiment file or the schema to describe them.
const BY_NAME: &str = "experiment";

/// The tables of `docs/reference/result.md`, from the schema.
struct Tables<'a> {
    schema: &'a Value,
    /// Paths that have a table of their own.
    sections: Vec<&'a str>,
    /// Fields with their descriptions, and the path of the object that has them in a table.
    shown: Vec<(Vec<(&'a String, &'a Value)>, String)>,
    /// The objects around the present one, with their paths.
    around: Vec<(&'a Value, String)>,
    /// The rows of the present table: fields of one object, and their meaning.
    rows: Vec<(Vec<String>, String)>,
}

impl<'a> Tables<'a> {
    /// The fields of what is at `path`.
    fn table(&mut self, path: &str) -> String {
        let mut node = resolved(self.schema, self.schema);
        for key in path.split('.').filter(|key| !key.is_empty()) {
            let property = &node["properties"][key.trim_end_matches("[]")];
            node = resolved(property, self.schema);
            if key.ends_with("[]") {
                node = resolved(&node["items"], self.schema);
            }
        }
        self.rows.clear();
        if path == BY_NAME {
            self.names(node, path);
        } else {
            self.fields(node, path);
        }
        let head = if path == BY_NAME {
            "| object | fields |\n|---|---|\n"
        } else {
            "| field | meaning |\n|---|---|\n"
        };
        let rows = self.rows.iter();
        let rows = rows.map(|(fields, meaning)| format!("| {} | {meaning} |\n", fields.join(", ")));
        head.to_owned() + &rows.collect::<String>()
    }

    /// The rows of an object: each field, and what is in it unless another table or row has that.
    fn fields(&mut self, node: &'a Value, path: &str) {
        self.around.push((node, path.to_owned()));
        let required = node["required"].as_array();
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            let is_required = required.is_some_and(|all| all.iter().any(|name| name == key));
            self.field(property, path, key, is_required);
        }
        if let named @ Value::Object(_) = &node["additionalProperties"] {
            self.field(named, path, named["title"].as_str().unwrap(), true);
        }
        self.around.pop();
    }

    fn field(&mut self, property: &'a Value, path: &str, key: &str, is_required: bool) {
        let text = property["description"].as_str().unwrap();
        let (mut meaning, _) = text.split_once("\n\n").unwrap_or((text, ""));
        let (node, inner) = self.inside(property, &below(path, key));
        let same = |(outer, _): &&(&Value, String)| outer["properties"][key]["description"] == text;
        let (_, outer) = self.around.split_last().unwrap();
        let as_outer = outer.iter().rev().find(same);
        let as_outer = as_outer.map(|(_, outer)| format!("As in `{outer}`."));
        if let Some(reference) = &as_outer {
            meaning = reference;
        }
        let fields = fields_of(node);
        let has_fields = !fields.is_empty() || node["additionalProperties"].is_object();
        let elsewhere = meaning.starts_with("As ") || self.sections.contains(&inner.as_str());
        let mut shown = self.shown.iter();
        let before = shown.find(|(known, _)| !fields.is_empty() && *known == fields);
        let mut meaning = meaning.to_owned();
        let is_new = before.is_none();
        if let (Some((_, before)), false) = (before, elsewhere) {
            meaning += &format!(" Fields: as `{before}`.");
        }
        let unit = property["unit"].as_str();
        let unit = unit.filter(|unit| !elsewhere && *unit != "number" && !is_told(key, unit));
        let unit = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        let null = if may_be_null(property) { "?" } else { "" };
        let absent = if is_required { "" } else { "†" };
        let has_rows = has_fields && !elsewhere && is_new;
        let name = |path: &str| format!("`{path}`{null}{absent}{unit}");
        match self.rows.last_mut() {
            Some((fields, known))
                if *known == meaning
                    && !has_rows
                    && fields[0].starts_with(&format!("`{path}.")) =>
            {
                fields.push(name(key));
            }
            _ => self.rows.push((vec![name(&below(path, key))], meaning)),
        }
        if has_rows {
            if !fields.is_empty() {
                self.shown.push((fields, inner.clone()));
            }
            self.fields(node, &inner);
        }
    }

    /// The rows of an object and of the objects in it: the names of their fields.
    fn names(&mut self, node: &'a Value, path: &str) {
        let mut fields = Vec::new();
        let mut objects = Vec::new();
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            let (inner, path) = self.inside(property, &below(path, key));
            fields.push(format!("`{key}`"));
            if property["description"]
                .as_str()
                .unwrap()
                .starts_with("As `")
            {
                continue;
            }
            objects.push((inner, path));
        }
        if let named @ Value::Object(_) = &node["additionalProperties"] {
            let key = named["title"].as_str().unwrap();
            fields.push(format!("`{key}`"));
            objects.push(self.inside(named, &below(path, key)));
        }
        self.rows
            .push((vec![format!("`{path}`")], fields.join(", ")));
        for (node, path) in objects {
            if node["properties"].is_object() || node["additionalProperties"].is_object() {
                self.names(node, &path);
            }
        }
    }

    /// The value that a property at `path` has, or the values in its list; with the path of these.
    fn inside(&self, property: &'a Value, path: &str) -> (&'a Value, String) {
        let node = resolved(property, self.schema);
        match node.get("items") {
            Some(items) => (resolved(items, self.schema), format!("{path}[]")),
            None => (node, path.to_owned()),
        }
    }
}

/// The fields of an object with their descriptions.
fn fields_of(node: &Value) -> Vec<(&String, &Value)> {
    let fields = node["properties"].as_object().into_iter().flatten();
    fields
        .map(|(key, property)| (key, &property["description"]))
        .collect()
}

/// Whether the name of a field ends with its unit.
fn is_told(key: &str, unit: &str) -> bool {
    let end = key.rsplit('_').next().unwrap_or_default();
    let long = [
        ("bytes", "B"),
        ("watts", "W"),
        ("bits", "bit"),
        ("hops", "flits"),
    ];
    key.ends_with("_per_nic") || end.eq_ignore_ascii_case(unit) || long.contains(&(end, unit))
}

fn may_be_null(schema: &Value) -> bool {
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let null = Value::from("null");
    let is_null =
        |kind: &Value| *kind == null || kind.as_array().is_some_and(|all| all.contains(&null));
    std::iter::once(schema)
        .chain(choices)
        .any(|schema| is_null(&schema["type"]))
}

#[test]
fn results_have_the_keys_of_the_schema_and_no_others() {
    let schema = result_schema();
    let validator = validator(&schema);
    let mut seen = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    for (name, document) in documents() {
        let wrong = errors(&validator, &document);
        assert!(
            wrong.is_empty(),
            "the result of {name} is not what its schema says:\n{wrong}"
        );
        statuses.insert(document["status"].as_str().unwrap().to_owned());
        keys_in(&document, &schema, &schema, "", &mut seen);
    }
    assert_eq!(statuses.len(), 4, "{statuses:?}");
    let mut keys = BTreeMap::new();
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
fn every_key_of_a_schema_is_described() {
    for schema in [result_schema(), study_schema(), comparison_schema()] {
        let mut keys = BTreeMap::new();
        keys_of(&schema, &schema, "", &mut keys);
        let empty: Vec<_> = keys.iter().filter(|(_, text)| text.is_empty()).collect();
        assert!(keys.len() > 10 && empty.is_empty(), "{empty:?}");
    }
}

#[test]
fn the_page_has_the_fields_of_the_schema() {
    const BEGIN: &str = "<!-- fields of `";
    const END: &str = "<!-- end of fields -->";
    let path = Path::new(ROOT).join("docs/reference/result.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut parts = page.split(BEGIN);
    let mut text = parts.next().unwrap().to_owned();
    let parts: Vec<(&str, &str)> = parts
        .map(|part| part.split_once("` -->").unwrap())
        .collect();
    let schema = result_schema();
    let mut tables = Tables {
        schema: &schema,
        sections: parts.iter().map(|(path, _)| *path).collect(),
        shown: Vec::new(),
        around: Vec::new(),
        rows: Vec::new(),
    };
    for (path, rest) in parts {
        let (_, after) = rest.split_once(END).expect("the table has an end");
        let table = tables.table(path.trim_start_matches("result.json"));
        text += &format!("{BEGIN}{path}` -->\n\n{table}\n{END}{after}");
    }
    if bless::is_on() {
        bless::write(&path, &text);
        return;
    }
    assert_eq!(page, text, "FLITWISE_BLESS=1 writes what holds");
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
