//! Studies: what is simulated, what of it is shared, and what the tables say.

use crate::common::result_json;
use flitwise::config::{Base, Study};
use flitwise::run::{Control, Session};
use flitwise::stop::Stop;
use flitwise::study::{
    Grid, Here, RowStatus, Studied, StudyProgress, StudySnapshot, StudyTask, Unwatched, estimate,
    summary_text, write_tables,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// A job beside background traffic on a small tree, its baseline the job alone under round robin.
const EXPERIMENT: &str = r#"
    fabric.topology = { kind = "k-ary-n-tree", k = 4, n = 2 }
    [qos]
    preset = "opa-5sl"
    scheduler = "dtable"
    [[job]]
    trace = "traces/randomaccess-16.vef.gz"
    sl = "CL"
    placement = "random"
    compute_scale = 0.05
    [[background]]
    rate = 0.1
    sl = "BK"
"#;

fn study(text: &str) -> Study {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Study::of("test", Base::of_text("test.toml", text, root))
}

fn run(study: Study, session: &mut Session, threads: usize, seen: &dyn StudyProgress) -> Studied {
    let control = Control::default();
    let grid = Grid::of(study).unwrap();
    let prepared = Studied::prepare(&grid, session, &control).unwrap();
    Studied::run(grid, prepared, session, &Here, &control, seen, threads).unwrap()
}

fn tables(studied: &Studied) -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    write_tables(dir.path(), studied).unwrap();
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap())
    };
    entries.map(|entry| read(entry.unwrap())).collect()
}

fn grid_of_two_axes() -> Study {
    let mut study = study(EXPERIMENT);
    study.set_seeds("1..2").unwrap();
    study.vary("qos.scheduler=rr,dtable").unwrap();
    study.vary("background.0.rate=0..0.2:0.1").unwrap();
    study
}

/// The furthest snapshot: those of two threads may come in either order.
#[derive(Default)]
struct Last(Mutex<Option<StudySnapshot>>);

impl StudyProgress for Last {
    fn update(&self, snapshot: &StudySnapshot) {
        let mut last = self.0.lock().unwrap();
        if last.is_none_or(|last| last.tasks_done < snapshot.tasks_done) {
            *last = Some(*snapshot);
        }
    }
}

/// 12 runs. All share the baseline of a seed, and those of a scheduler its unloaded and ideal runs.
#[test]
fn equal_tasks_are_simulated_once_over_the_whole_study() {
    let dir = tempfile::tempdir().unwrap();
    let kept = || Session::new(2).with_records(dir.path()).unwrap();
    let last = Last::default();
    let studied = run(grid_of_two_axes(), &mut kept(), 2, &last);
    assert_eq!(
        (studied.runs, studied.missing, studied.failed()),
        (12, 0, 0)
    );
    let last = last.0.into_inner().unwrap().unwrap();
    let (experiments, baselines, references) = (12, 2, 2 * 2 * 2);
    let tasks = experiments + baselines + references;
    assert_eq!((last.tasks_done, last.tasks), (tasks, tasks));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), tasks);

    let mut session = kept();
    let grid = Grid::of(grid_of_two_axes()).unwrap();
    let prepared = Studied::prepare(&grid, &mut session, &Control::default()).unwrap();
    let plan = estimate(&prepared, &session);
    assert_eq!((plan.runs, plan.tasks, plan.recorded), (12, tasks, tasks));
    assert!(plan.left.unwrap().is_zero());
}

#[test]
fn tables_depend_neither_on_threads_nor_on_records() {
    let alone = tables(&run(
        grid_of_two_axes(),
        &mut Session::new(1),
        1,
        &Unwatched,
    ));
    assert!(alone.len() >= 9, "{:?}", alone.keys());
    let dir = tempfile::tempdir().unwrap();
    for _ in ["fresh", "read back"] {
        let mut session = Session::new(1).with_records(dir.path()).unwrap();
        let others = tables(&run(grid_of_two_axes(), &mut session, 4, &Unwatched));
        assert!(alone == others);
    }
}

/// A tree that is analysed in place of a simulation.
const ANALYSED: &str = r#"
    fabric.topology = { kind = "k-ary-n-tree", k = 4, n = 2 }
    [congestion]
    runs = 7
    fair = true
    delay = true
"#;

fn static_patterns() -> Study {
    let mut study = study(ANALYSED);
    study.set_seeds("1..3").unwrap();
    study.vary("congestion.pattern=bisect,tree,shift").unwrap();
    study.vary("congestion.ranks=9,16").unwrap();
    study
}

#[test]
fn tables_of_analyses_depend_neither_on_threads_nor_on_records() {
    let alone = run(static_patterns(), &mut Session::new(1), 1, &Unwatched);
    assert_eq!((alone.runs, alone.failed()), (18, 0));
    let alone = tables(&alone);
    let dir = tempfile::tempdir().unwrap();
    for _ in ["fresh", "read back"] {
        let mut session = Session::new(1).with_records(dir.path()).unwrap();
        let others = tables(&run(static_patterns(), &mut session, 2, &Unwatched));
        assert!(alone == others);
    }
    let header = String::from_utf8(alone["runs.csv"].clone()).unwrap();
    assert!(header.starts_with(
        "run,point,congestion_pattern,congestion_ranks,seed,load,status,reason,bandwidth,fair_bandwidth,"
    ));
}

/// A row has the means of the analysis of its settings: a seed draws the same mappings at all points.
#[test]
fn rows_of_analyses_are_what_the_analysis_says() {
    use flitwise::oblivious::{Analysis, Network, Pattern, Request};
    let studied = run(static_patterns(), &mut Session::new(1), 2, &Unwatched);
    let row = studied.rows.last().unwrap();
    assert_eq!((row.point, row.seed), (5, 3));
    let request = Request {
        pattern: Pattern::Shift,
        ranks: Some(16),
        fair: true,
        delay: true,
        runs: 7,
        ..Request::default()
    };
    let plan = studied.grid.plan(row.point, Some(row.seed)).unwrap();
    assert_eq!(plan.experiment.congestion.as_deref(), Some(&request));
    let network = Network::of_fabric(&plan.experiment.fabric).unwrap();
    let settings = request.settings(&network.graph, 3, None).unwrap();
    let mut analysis = Analysis::default();
    analysis.extend(&network, &settings, request.runs, 2, Stop::never());
    let spreads = analysis.spreads().unwrap();
    assert_eq!(row.value("bandwidth"), Some(spreads.bandwidth.mean));
    assert_eq!(row.value("delay"), Some(spreads.delay.unwrap().mean));
    assert_eq!(row.value("connections"), Some(16.0 * 15.0));
    assert_eq!(row.value("execution_time_ps"), None);
}

/// A row says what `flitwise run` says of the same experiment.
#[test]
fn rows_are_what_single_runs_say() {
    use flitwise::results::{baseline_time_ps, execution_time_ps};
    let studied = run(grid_of_two_axes(), &mut Session::new(1), 2, &Unwatched);
    let row = studied.rows.last().unwrap();
    assert_eq!((row.point, row.seed), (5, 2));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sets = ["qos.scheduler=dtable", "background.0.rate=0.2", "seed=2"].map(String::from);
    let plan = flitwise::config::resolve_text("test.toml", EXPERIMENT, root, &sets).unwrap();
    let result = flitwise::run::run_plan(&plan, &Control::default(), 1).unwrap();
    let time = execution_time_ps(&plan.experiment, &result.main);
    assert_eq!(row.value("execution_time_ps"), Some(time as f64));
    let baseline = baseline_time_ps(&plan, &result).unwrap();
    assert_eq!(row.value("baseline_time_ps"), Some(baseline as f64));
    let parts = [
        "computing_ps",
        "partners_ps",
        "latency_and_serialisation_ps",
        "queueing_ps",
    ];
    let sum: f64 = parts.iter().map(|part| row.value(part).unwrap()).sum();
    assert_eq!(sum + row.value("credit_stalls_ps").unwrap(), time as f64);
    let json = result_json(&plan, &result);
    let p99 = |of: &str| json["jobs"][0][of]["p99"].as_f64().unwrap();
    let ratio = p99("latency_ns") / p99("baseline_latency_ns");
    assert!(ratio > 1.0, "{ratio}");
    assert_eq!(row.jobs[0].value("latency_p99_ratio"), Some(ratio));
}

#[test]
fn a_failed_run_is_a_row_and_the_others_go_on() {
    let mut study = study(EXPERIMENT);
    // The job has 16 ranks.
    study.vary("fabric.topology.k=3,4").unwrap();
    let studied = run(study, &mut Session::new(1), 2, &Unwatched);
    let statuses: Vec<RowStatus> = studied.rows.iter().map(|row| row.status).collect();
    assert_eq!(statuses, [RowStatus::Failed, RowStatus::Complete]);
    assert!(
        studied.rows[0].reason.contains("9"),
        "{}",
        studied.rows[0].reason
    );
    assert_eq!(studied.failed(), 1);
}

#[test]
fn seeds_are_added_until_the_interval_is_small_enough() {
    let with = |part: &str, most| {
        let mut study = study(EXPERIMENT);
        study.set_seeds("1..2").unwrap();
        study.set_until_ci(part, most).unwrap();
        study.vary("background.0.rate=0.1,0.2").unwrap();
        run(study, &mut Session::new(1), 2, &Unwatched)
    };
    let wide = with("99.9%", 30);
    assert!(wide.runs <= 6, "{} runs", wide.runs);
    assert_eq!(wide.warnings(), [""; 0]);
    assert!(!summary_text(&wide).contains("until_ci"));
    // Never reached: each point has the most seeds, without a gap, and the summary and a warning say so.
    let mut narrow = with("0.01%", 6);
    assert_eq!(narrow.runs, 12);
    let seeds: Vec<u64> = narrow.rows[..6].iter().map(|row| row.seed).collect();
    assert_eq!(seeds, [1, 2, 3, 4, 5, 6]);
    let missed =
        "until_ci: 2 of 2 points miss ± 0.01 % of the mean, the worst with background.0.rate = 0.";
    assert!(
        narrow.warnings()[0].starts_with(missed),
        "{:?}",
        narrow.warnings()
    );
    assert!(summary_text(&narrow).contains(missed));
    // Of many reasons the summary counts the ones that it does not name.
    for (row, number) in narrow.rows.iter_mut().zip(1..) {
        row.reason = format!("reason {number}");
    }
    let text = summary_text(&narrow);
    assert!(
        text.contains("): reason 10\nand 2 more reasons, "),
        "{text}"
    );
}

/// The job beside another one is slower than alone, and its baseline does not depend on the other one.
#[test]
fn jobs_beside_one_another_share_their_baselines() {
    let root = env!("CARGO_MANIFEST_DIR");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("study.toml");
    let text = format!(
        "[experiment.fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 8, n = 2 }}\n\
         [[experiment.job]]\nplacement = \"random\"\ncompute_scale = 0\n\
         [[experiment.job]]\nplacement = \"random\"\ncompute_scale = 0\n\
         [interference.jobs]\n\
         a = {{ trace = \"{root}/traces/randomaccess-16.vef.gz\" }}\n\
         b = {{ trace = \"{root}/traces/lammps_melt-16.vef.gz\", repeat = 2 }}\n"
    );
    std::fs::write(&file, text).unwrap();
    let study = Study::load(&file).unwrap();
    let mut session = Session::new(1);
    let grid = Grid::of(study.clone()).unwrap();
    let prepared = Studied::prepare(&grid, &mut session, &Control::default()).unwrap();
    // 4 experiments; of each job the baseline, the unloaded and the ideal run.
    assert_eq!(estimate(&prepared, &session).tasks, 4 + 2 * 3);
    let studied = run(study, &mut session, 2, &Unwatched);
    for row in &studied.rows {
        let slowdown = row.value("slowdown_ratio").unwrap();
        assert!((0.9..3.0).contains(&slowdown), "{slowdown}");
        assert_eq!(row.jobs.len(), 2);
        // Of all repetitions together.
        let parts = [
            "computing_ps",
            "partners_ps",
            "latency_and_serialisation_ps",
            "queueing_ps",
            "credit_stalls_ps",
        ];
        let sum: f64 = parts.map(|part| row.value(part).unwrap()).iter().sum();
        assert_eq!(row.value("execution_time_ps"), Some(sum));
    }
    let baselines = studied.rows.iter().map(|row| row.value("baseline_time_ps"));
    let baselines: Vec<_> = baselines.collect();
    assert_eq!(baselines[0], baselines[1]);
    assert_ne!(baselines[1], baselines[2]);
}

/// Copies of one trace, so that a path tells which of them was found.
fn files_of_a_study(dir: &Path) {
    const TWO_JOBS: &str = "fabric.topology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n\
                            [[job]]\ntrace = \"both.vef\"\n[[job]]\nname = \"other\"\ntrace = \"far.vef\"\nshare_nics = true\n";
    const STUDY: &str = "experiment = \"experiment/e.toml\"\n[[axis]]\nname = \"trace\"\n[axis.variants]\n\
                         near = { \"job.0.trace\" = \"near.vef\" }\nfar = { \"job.0.trace\" = \"far.vef\" }\n\
                         both = { \"job.0.trace\" = \"both.vef\" }\nas-it-is = {}\n";
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments/tiny.vef");
    std::fs::create_dir(dir.join("experiment")).unwrap();
    for name in [
        "near.vef",
        "both.vef",
        "experiment/far.vef",
        "experiment/both.vef",
    ] {
        std::fs::copy(&trace, dir.join(name)).unwrap();
    }
    std::fs::write(dir.join("experiment/e.toml"), TWO_JOBS).unwrap();
    std::fs::write(dir.join("s.toml"), STUDY).unwrap();
}

#[test]
fn a_trace_is_looked_for_beside_the_file_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    files_of_a_study(dir.path());
    let grid = Grid::of(Study::load(&dir.path().join("s.toml")).unwrap()).unwrap();
    let found = [
        "near.vef",
        "experiment/far.vef",
        "both.vef",
        "experiment/both.vef",
    ];
    for (point, found) in found.iter().enumerate() {
        let plan = grid.plan(point, None).unwrap();
        assert_eq!(plan.experiment.jobs[0].trace_path, dir.path().join(found));
        // Baselines replay the same traces.
        assert_eq!(
            plan.baselines[0].experiment.jobs[0].trace_path,
            dir.path().join(found)
        );
    }
    // Of two traces with one name, results could not tell which is which.
    let mut study = Study::load(&dir.path().join("s.toml")).unwrap();
    study.set("job.1.trace=both.vef");
    let grid = Grid::of(study).unwrap();
    let wrong = grid.plan(2, None).unwrap_err().to_string();
    assert!(
        wrong.contains("job.1.trace: names `") && wrong.contains("whole path"),
        "{wrong}"
    );
    std::fs::remove_file(dir.path().join("near.vef")).unwrap();
    let wrong = grid.plan(0, None).unwrap_err().to_string();
    assert!(
        wrong.contains(
            "no trace `near.vef`, neither beside the study file nor beside the experiment"
        ),
        "{wrong}"
    );
}

/// Flows of a run: together they carry what the run says that the fabric carried.
#[test]
fn background_flows_have_rows_of_their_own() {
    let curve = r#"
        fabric.topology = { kind = "single", nics = 8 }
        background = [{ rate = 0.4 }, { rate = 0.2, pattern = "neighbour" }]
        measure = { loads = [0.5, 1], warm_up = "1us", max_warm_up = "1us", batch = "100ns", window = "5us" }
    "#;
    let mut study = study(curve);
    study.vary("background.1.rate=0,0.2").unwrap();
    let studied = run(study, &mut Session::new(1), 1, &Unwatched);
    assert_eq!(studied.rows.len(), 4);
    for row in &studied.rows {
        let flows: Vec<f64> = (row.background.iter())
            .map(|flow| flow.values[3].real().unwrap())
            .collect();
        let all = row.value("throughput_gbit_per_s_per_nic").unwrap() * 8.0;
        let sum: f64 = flows.iter().sum();
        assert!(
            flows.len() == 2 && (sum - all).abs() < 1e-3 * all,
            "{flows:?} {all}"
        );
        assert_eq!(flows[1] > 0.0, row.point == 1);
    }
    let written = tables(&studied);
    let csv = String::from_utf8(written["background.csv"].clone()).unwrap();
    assert_eq!(csv.lines().count(), 9, "{csv}");
    assert!(
        csv.lines()
            .nth(2)
            .unwrap()
            .starts_with("1,1,0,1,0.5,1,default,"),
        "{csv}"
    );
}

#[test]
fn a_task_is_a_word() {
    let word = "0123456789abcdef0123456789abcdef.7.42";
    let task: StudyTask = word.parse().unwrap();
    assert_eq!((task.point, task.seed), (6, 42));
    assert_eq!(task.to_string(), word);
    for broken in [
        "",
        "7.42",
        "0123456789abcdef0123456789abcdef",
        "0123456789abcdef0123456789abcdef.0.1",
        "0123456789abcdef0123456789abcdef.1.x",
        "0123456789abcdef0123456789abcdeg.1.1",
        "+123456789abcdef0123456789abcdef.1.1",
        "123.1.1",
    ] {
        assert!(broken.parse::<StudyTask>().is_err(), "{broken}");
    }
}
