//! The schemas of experiment and study files accept what the program accepts, and say what is so.

use flitwise::config::{
    Base, Override, experiment_json, experiment_keys, experiment_schema, resolve_with,
    study_file_schema,
};
use jsonschema::Validator;
use serde_json::Value;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn validator(schema: &Value) -> Validator {
    jsonschema::draft7::new(schema).unwrap()
}

/// A TOML text as JSON.
fn json(text: &str) -> Value {
    let table: toml::Table = text.parse().unwrap();
    serde_json::to_value(table).unwrap()
}

/// The files below `dir` that end with `.toml`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file with a base experiment is a study; one with a [dtable] has a schema of its own.
#[test]
fn all_of_configs_fits() {
    let (experiment, study) = (
        validator(&experiment_schema()),
        validator(&study_file_schema()),
    );
    let (mut experiments, mut studies) = (0, 0);
    for path in files(&Path::new(ROOT).join("configs")) {
        let value = json(&std::fs::read_to_string(&path).unwrap());
        if value.get("dtable").is_some() {
            continue;
        }
        let is_study = value.get("experiment").is_some();
        let schema = if is_study { &study } else { &experiment };
        let errors: Vec<String> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        if is_study {
            studies += 1;
        } else {
            experiments += 1;
        }
    }
    assert!(experiments > 20 && studies > 10, "{experiments}, {studies}");
}

#[test]
fn wrong_files_do_not_fit() {
    let schema = validator(&experiment_schema());
    for wrong in [
        "sede = 1",
        "seed = \"one\"",
        "[fabric]\nlink_ratio = \"1GB/s\"",
        "[fabric]\nacks = \"none\"",
        "[fabric]\nkind = \"voq\"\nmport_speedup = 3",
        "[fabric]\nkind = \"hierarchical\"\npreset = \"ib-qdr\"",
        "[fabric]\nkind = \"torus\"",
        "[fabric]\nflit = 8",
        "[fabric]\nflit = \"8 bytes\"",
        "[fabric]\nlink_latency = \"5\"",
        "[fabric]\nring_tie = \"negative\"",
        "[fabric]\ntopology = { dimensions = [4, 4] }",
        "[fabric]\ntopology = { kind = \"torus\" }",
        "[fabric]\ntopology = { kind = \"torus\", dimensions = [4, 4], k = 2 }",
        "[qos]\nscheduler = \"fifo\"",
        "[congestion_control]\nThreshold = 300",
        "[power]\npolicy = \"off\"",
        "[[job]]\nname = \"without a trace\"",
        "[[job]]\ntrace = \"a.vef\"\nplacement = { list = [0], file = \"hosts\" }",
        "[[job]]\ntrace = \"a.vef\"\nrepeat = 0",
        "[[job]]\ntrace = \"a.vef\"\ncollectives = { bcast = \"ring\" }",
        "[[background]]\npattern = \"uniform\"",
        "[[background]]\nrate = 0.1\npattern = \"hotspots\"",
        "[measure]\nwindow = 50",
        "[series]\nformat = \"csv\"",
        "[congestion]\nsubset = \"last\"",
    ] {
        assert!(!schema.is_valid(&json(wrong)), "{wrong}");
    }
    let schema = validator(&study_file_schema());
    for wrong in [
        "name = \"without an experiment\"",
        "experiment = \"a.toml\"\nseed = 1",
        "experiment = \"a.toml\"\nseeds = 1",
        "[experiment]\nsede = 1",
        "experiment = \"a.toml\"\n[[axis]]\nkeys = \"seed\"",
    ] {
        assert!(!schema.is_valid(&json(wrong)), "{wrong}");
    }
}

/// A value of the schema as it is written behind `--set`.
fn toml(value: &Value) -> String {
    let value: toml::Value = serde_json::from_value(value.clone()).unwrap();
    value.to_string()
}

/// What the program makes of an experiment: itself, and the time series to record.
fn meaning(text: &str, sets: &[String]) -> Option<String> {
    let dir = Path::new(ROOT).join("configs");
    let sets: Vec<Override> = sets.iter().map(|set| Override::typed(set)).collect();
    let sets: Vec<&Override> = sets.iter().collect();
    let plan = resolve_with(&Base::of_text("test", text, &dir), &sets).ok()?;
    Some(format!(
        "{}{:?}{}",
        experiment_json(&plan.experiment),
        plan.series,
        plan.baselines.len()
    ))
}

/// The parts of `schema` that may stand at the end of `path`.
fn at<'a>(schema: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut open = vec![schema];
    for name in path.split('.') {
        let mut next = Vec::new();
        while let Some(part) = open.pop() {
            for list in ["oneOf", "anyOf"] {
                open.extend(part[list].as_array().into_iter().flatten());
            }
            let inner = if name == "0" {
                part.get("items")
            } else {
                part["properties"].get(name)
            };
            next.extend(inner);
        }
        open = next;
    }
    open
}

/// The experiments in which defaults are tried.
const BASES: &[&str] = &[
    "[[job]]\ntrace = \"../traces/hpl-16.vef.gz\"\n[qos]\npreset = \"single\"\n",
    "[[job]]\ntrace = \"../traces/hpl-16.vef.gz\"\n[congestion_control]\nkind = \"ib\"\n[series]\ninterval = \"10us\"\n",
    "[[job]]\ntrace = \"../traces/hpl-16.vef.gz\"\n[fabric]\npreset = \"ib-qdr\"\n[power]\npolicy = \"on-off\"\n\
     [congestion_control]\nkind = \"ib\"\nlevel = \"sl\"\n",
    "[[job]]\ntrace = \"../traces/hpl-16.vef.gz\"\n[fabric]\npreset = \"ib-qdr\"\n[power]\npolicy = \"high-low\"\n",
    "[[job]]\ntrace = \"../traces/hpl-16.vef.gz\"\n[fabric]\ntopology = { kind = \"torus\", dimensions = [4, 4] }\n",
    "[[job]]\ntrace = \"../traces/hpl-16.vef.gz\"\n[fabric]\ntopology = { kind = \"dragonfly\", p = 2, a = 4, h = 2 }\n",
    "[[background]]\nrate = 0.5\n",
    "[congestion]\n",
];

/// Tables that ask for something by being there.
const ALONE_SAY_MUCH: &[&str] = &["power", "series", "congestion"];

/// A key that is set to the default that the schema names changes nothing.
#[test]
fn defaults_are_true() {
    let schema = experiment_schema();
    let mut held = 0;
    for key in experiment_keys() {
        for part in at(&schema, &key.path) {
            let by_preset = part["x-defaults"].as_object().into_iter().flatten();
            for (preset, value) in by_preset {
                let base =
                    format!("background = [{{ rate = 0.5 }}]\n[fabric]\npreset = \"{preset}\"\n");
                let usual = meaning(&base, &[]).unwrap();
                let set = format!("{}={}", key.path, toml(value));
                let same = meaning(&base, std::slice::from_ref(&set));
                assert_eq!(same.as_ref(), Some(&usual), "{preset}: {set}");
                held += 1;
            }
            let Some(value) = part
                .get("default")
                .filter(|_| part.get("x-defaults").is_none())
            else {
                continue;
            };
            let set = format!("{}={}", key.path, toml(value));
            let mut holds = 0;
            for base in BASES {
                let file = json(base);
                let table = key.path.split('.').next().unwrap();
                if ALONE_SAY_MUCH.contains(&table) && file.get(table).is_none() {
                    continue;
                }
                let given = file
                    .pointer(&format!("/{}", key.path.replace('.', "/")))
                    .is_some();
                let same = meaning(base, std::slice::from_ref(&set)).filter(|_| !given);
                if let Some(same) = same {
                    assert_eq!(same, meaning(base, &[]).unwrap(), "{base}: {set}");
                    holds += 1;
                }
            }
            held += holds.min(1);
        }
    }
    assert!(held > 120, "only {held} defaults were tried");
}

/// The schema that `value` refers to, if it refers to one.
fn followed<'a>(schema: &'a Value, value: &'a Value) -> &'a Value {
    let reference = value["$ref"].as_str();
    let target = reference.and_then(|at| schema.pointer(at.strip_prefix('#')?));
    target.unwrap_or(value)
}

/// A wrong value in a list of tables is not taken for a wrong bracket.
#[test]
fn a_wrong_value_in_a_list_of_tables_is_named() {
    let schema = experiment_schema();
    let mut lists = Vec::new();
    for (name, value) in schema["properties"].as_object().unwrap() {
        let item = followed(&schema, &followed(&schema, value)["items"]);
        let Some(key) = item["properties"]
            .as_object()
            .and_then(|all| all.keys().next())
        else {
            continue;
        };
        let text = format!("[[{name}]]\n{key} = [[1]]\n");
        let refused = flitwise::config::resolve_text("test", &text, Path::new(""), &[]);
        let refused = refused.unwrap_err().to_string();
        assert!(!refused.contains("bracket"), "{text}{refused}");
        lists.push(name.as_str());
    }
    lists.sort_unstable();
    assert_eq!(lists, ["background", "event", "job", "vfabric"]);
}
