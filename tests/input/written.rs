//! The experiments and studies that results write beside themselves mean what the results came from.

use flitwise::config::{
    Base, Origin, Override, Plan, Study, experiment_hash, experiment_json, load, resolve_with,
};
use flitwise::results::experiment_toml;
use flitwise::run::{Control, Session};
use flitwise::study::Grid;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn files(dir: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(Path::new(ROOT).join(dir)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    });
    files.sort();
    files
}

/// Overrides that put a small trace in the place of each trace of the file.
fn with_tiny_traces(text: &str) -> Vec<String> {
    let jobs = text.lines().filter(|line| line.trim() == "[[job]]").count();
    let trace = |job| format!("job.{job}.trace={ROOT}/tests/corpus/experiments/tiny.vef");
    (0..jobs).map(trace).collect()
}

fn same(a: &Plan, b: &Plan, what: &str) {
    assert_eq!(
        experiment_hash(&a.experiment),
        experiment_hash(&b.experiment),
        "{what}"
    );
    assert_eq!((&a.about, &a.series), (&b.about, &b.series), "{what}");
    let baselines = |plan: &Plan| -> Vec<_> {
        let all = plan.baselines.iter();
        all.map(|base| (experiment_json(&base.experiment), base.jobs.clone()))
            .collect()
    };
    assert_eq!(baselines(a), baselines(b), "{what}");
    let traces = |plan: &Plan| -> Vec<_> {
        let jobs = plan.experiment.jobs.iter();
        jobs.map(|job| job.trace_path.canonicalize().unwrap())
            .collect()
    };
    assert_eq!(traces(a), traces(b), "{what}");
}

/// Writes the experiment of a plan into a new directory and reads it again. Paths of the plan may lead through the
/// directory.
fn again(plan: &Plan, session: &mut Session) -> (String, Plan, tempfile::TempDir) {
    session.prepare(plan, &Control::default()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let hash = session.experiment_hash(plan);
    let text = experiment_toml(plan, &session.digests(plan), &hash, dir.path(), Vec::new());
    let file = dir.path().join("experiment.toml");
    std::fs::write(&file, &text).unwrap();
    let read = load(&file, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    session.prepare(&read, &Control::default()).unwrap();
    assert_eq!(session.experiment_hash(&read), hash, "{text}");
    (text, read, dir)
}

#[test]
fn ready_experiments_are_written_and_read() {
    let mut session = Session::new(1);
    let mut count = 0;
    for path in files("configs") {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.lines().any(|line| line == "[dtable]") {
            continue;
        }
        let own = with_tiny_traces(&text);
        for more in [
            vec![],
            vec!["seed=7", "name=other \"title\"", "tags=['a', 'b']"],
        ] {
            let mut sets = own.clone();
            sets.extend(more.iter().map(|set| (*set).to_owned()));
            let plan = load(&path, &sets).unwrap_or_else(|e| panic!("{e}"));
            let (_, read, _dir) = again(&plan, &mut session);
            same(&plan, &read, &path.display().to_string());
            // What was written is written the same again.
            assert_eq!(read.written.text, plan.written.text, "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 60, "{count}");
}

/// What a file means may depend on whether a table is in the file or only in an override.
#[test]
fn overrides_keep_their_meaning() {
    let dir = Path::new(ROOT).join("tests/corpus/experiments");
    let mut session = Session::new(1);
    for (text, sets) in [
        (
            "job = [{ trace = 'tiny.vef' }]",
            vec!["qos.scheduler=rr-vl"],
        ),
        (
            "job = [{ trace = 'tiny.vef' }]\n[qos]\n",
            vec!["qos.scheduler=sbt"],
        ),
        (
            "job = [{ trace = 'tiny.vef' }]",
            vec!["fabric.kind=voq", "qos.mtu=1KiB"],
        ),
        (
            "[[job]]\ntrace = 'tiny.vef'\n[job.collectives]\nbcast = 'chain'\n[[job]]\ntrace = 'tiny.vef'\nname = 'b \"c\\d'",
            vec![
                "job.1.placement={ list = [4, 5, 6, 7] }",
                "job.0.start=10ns",
                "seed=0x1F",
            ],
        ),
        (
            "job = [{ trace = 'tiny.vef' }]\nfabric.topology.kind = 'torus'\nfabric.topology.dimensions = [\n 4,\n 4 ]\n\
             [baseline]\noverrides = { 'qos.scheduler' = 'rr' }",
            vec![
                "description=\"two\\nlines \\\"A\\u0042\"",
                "tags=['x', 'y']",
            ],
        ),
    ] {
        let base = Base::of_text("here", text, &dir);
        let sets: Vec<Override> = sets.iter().map(|set| Override::typed(set)).collect();
        let plan = resolve_with(&base, &sets.iter().collect::<Vec<_>>());
        let plan = plan.unwrap_or_else(|e| panic!("{e}"));
        let (written, read, _dir) = again(&plan, &mut session);
        same(&plan, &read, &written);
    }
}

#[test]
fn ready_studies_are_written_and_read() {
    let mut count = 0;
    for path in files("configs/studies") {
        let study = Study::load(&path).unwrap();
        let base = study.base_written().unwrap();
        let mut origin = Origin::default();
        origin.directory = Some(base.dir.canonicalize().unwrap());
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("study.toml");
        let text = study.written(&base, &origin);
        std::fs::write(&file, &text).unwrap();
        let read = Study::load(&file).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(
            (&read.name, &read.description, &read.tags, &read.seeds),
            (&study.name, &study.description, &study.tags, &study.seeds)
        );
        assert_eq!((read.until_ci, read.split), (study.until_ci, study.split));
        let (before, after) = (Grid::of(study).unwrap(), Grid::of(read).unwrap());
        assert_eq!(before.points, after.points, "{text}");
        for point in [0, before.points.len() / 2, before.points.len() - 1] {
            assert_eq!(before.name(point), after.name(point), "{text}");
            // Some traces must be generated first.
            let Ok(plan) = before.plan(point, Some(3)) else {
                continue;
            };
            let read = after.plan(point, Some(3));
            let read = read.unwrap_or_else(|e| panic!("{e}\n{text}"));
            same(&plan, &read, &text);
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
