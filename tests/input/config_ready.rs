//! The experiments and DTable specifications under `configs/` can be loaded as they are.

use flitwise::config::{load, load_dtable};
use flitwise::results::DTableReport;
use std::path::Path;

#[test]
fn ready_experiments_load() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut count = 0;
    let dirs = [dir.clone(), dir.join("interference")];
    for entry in dirs.iter().flat_map(|dir| std::fs::read_dir(dir).unwrap()) {
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
