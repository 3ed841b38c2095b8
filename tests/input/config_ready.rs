//! The experiments, studies and DTable specifications under `configs/` can be loaded as they are.

use flitwise::config::{Study, load, load_dtable};
use flitwise::results::DTableReport;
use flitwise::study::Grid;
use std::path::Path;

#[test]
fn ready_experiments_load() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        count += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        if text.lines().any(|line| line == "[dtable]") {
            let input = load_dtable(&path, &[]).unwrap_or_else(|e| panic!("{e}"));
            let report = DTableReport::new(input).unwrap();
            assert_eq!(report.json()["warnings"].as_array().map(Vec::len), Some(0));
            continue;
        }
        match load(&path, &[]) {
            Ok(plan) if plan.experiment.measure.is_some() => {
                assert_eq!(plan.baselines.len(), 0, "{}", path.display());
            }
            Ok(plan) => {
                let jobs = plan.experiment.jobs.len();
                assert_eq!(plan.baselines.len(), jobs, "{}", path.display());
            }
            // The traces may be installed elsewhere; nothing else may be wrong.
            Err(e) => assert!(e.to_string().contains("no trace `"), "{e}"),
        }
        // With any trace in place of the real one everything must resolve.
        let trace = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/corpus/experiments/tiny.vef"
        );
        let text = std::fs::read_to_string(&path).unwrap();
        let jobs = text.lines().filter(|line| line.trim() == "[[job]]").count();
        let sets: Vec<String> = (0..jobs)
            .map(|job| format!("job.{job}.trace=\"{trace}\""))
            .collect();
        load(&path, &sets).unwrap_or_else(|e| panic!("{e}"));
    }
    assert!(count >= 16, "{count}");
}

/// Every point of every shipped study resolves.
#[test]
fn ready_studies_load() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(root.join("configs/studies")).unwrap() {
        let path = entry.unwrap().path();
        let study = Study::load(&path).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(study.name, path.file_stem().unwrap().to_string_lossy());
        assert!(
            study.description.is_some() && !study.tags.is_empty(),
            "{}",
            path.display()
        );
        let name = study.name.clone();
        let grid = Grid::of(study).unwrap();
        for point in 0..grid.points.len() {
            match grid.plan(point, Some(1)) {
                Ok(_) => count += 1,
                // Traces that its head says how to make; nothing else may be wrong.
                Err(e) => assert!(
                    e.to_string().contains("no trace `")
                        && (name.ends_with("-512") || name == "computation"),
                    "{e}"
                ),
            }
        }
    }
    assert!(count > 300, "{count}");
}
