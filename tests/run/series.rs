//! Time series: what a run records, and the files that come of it.

use crate::common::infiniband::{control, voq_fabric};
use flitwise::config::{Plan, resolve_text};
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::series::{FlowSample, PortVlSample, Sample, SourceSample};
use flitwise::fabric::topology::Topology;
use flitwise::results::SeriesFiles;
use flitwise::run::{
    Control, Progress, Recorder, Run, RunResult, Silent, Snapshot, Status, run_plan,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Two NICs send 16 flits of 8 B to each other every 64 ticks of 640 ps.
pub(crate) const TINY: &str = r#"
[fabric]
preset = "opasim"
topology = { kind = "single", nics = 2 }
[[background]]
rate = 0.25
pattern = "neighbour"
[measure]
warm_up = "640 ticks"
max_warm_up = "640 ticks"
window = "1280 ticks"
[series]
interval = "640 ticks"
record = ["flows"]
"#;

pub(crate) const JOB: &str = r#"
[fabric]
topology = { kind = "single", nics = 16 }
[[job]]
trace = "traces/randomaccess-16.vef.gz"
[[background]]
rate = 0.1
[series]
interval = "5us"
record = ["flows"]
"#;

pub(crate) fn plan(text: &str, sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    resolve_text("test.toml", text, dir, &sets).unwrap()
}

/// Runs the plan with its series in `dir`.
fn record(
    plan: &Plan,
    dir: &Path,
    threads: usize,
    stop: &AtomicBool,
    progress: &dyn Progress,
) -> RunResult {
    let files = SeriesFiles::open(dir, plan, plan.series.as_ref().unwrap()).unwrap();
    let control = Control::default().stopped_by(stop).reporting_to(progress);
    let result = run_plan(plan, &control.recorded_by(&files), threads).unwrap();
    files.finish(&result).unwrap();
    result
}

pub(crate) fn run(plan: &Plan, dir: &Path, threads: usize) -> RunResult {
    record(plan, dir, threads, &AtomicBool::new(false), &Silent)
}

/// The rows of a CSV file without the header.
pub(crate) fn rows(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows = reader.records().map(|row| row.unwrap());
    rows.map(|row| row.iter().map(str::to_owned).collect())
        .collect()
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|n| n.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_constant_flow_gives_constant_rows() {
    let dir = tempfile::tempdir().unwrap();
    run(&plan(TINY, &[]), dir.path(), 1);
    assert_eq!(names(dir.path()), ["flows.csv", "flows.svg"]);
    let rows = rows(&dir.path().join("flows.csv"));
    // Ends of the samples: ticks 640, 1280 and 1920 of 640 ps; both directions.
    let seen: Vec<_> = rows.iter().map(|row| row[2..5].join(" ")).collect();
    assert_eq!(
        seen,
        [
            "409600 0 1",
            "409600 1 0",
            "819200 0 1",
            "819200 1 0",
            "1228800 0 1",
            "1228800 1 0"
        ]
    );
    for row in &rows[2..] {
        // 10 messages of 128 B in 409.6 ns: a quarter of 100 Gb/s.
        assert_eq!(row[5..], ["default", "1280", "25"], "{row:?}");
        assert_eq!(row[..2], ["experiment", "1"]);
    }
    // The first messages are still on their way when the first sample ends.
    assert!(rows[0][6].parse::<u64>().unwrap() < 1280, "{:?}", rows[0]);
}

#[test]
fn loads_stand_in_one_file_in_their_order_whatever_the_threads() {
    let loads = "measure.loads=[1, 0.25, \"1/3\", 0.5]";
    let plan = plan(TINY, &[loads, "series.format=both"]);
    let read = |threads| {
        let dir = tempfile::tempdir().unwrap();
        run(&plan, dir.path(), threads);
        let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
        let files = names(dir.path());
        assert_eq!(files, ["flows.csv", "flows.parquet", "flows.svg"]);
        let mut loads: Vec<_> = rows(&dir.path().join("flows.csv"))
            .iter()
            .map(|r| r[1].clone())
            .collect();
        loads.dedup();
        assert_eq!(loads, ["1", "0.25", "0.3333333333333333", "0.5"]);
        files.iter().map(|name| read(name)).collect::<Vec<_>>()
    };
    let one = read(1);
    assert!(one == read(4), "files depend on the threads");
    let svg = String::from_utf8(one[2].clone()).unwrap();
    assert!(svg.contains("Bandwidth of flows, load 0.5"), "{svg}");
}

#[test]
fn what_is_recorded_is_what_was_delivered() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(JOB, &["baseline.enabled=false"]);
    let result = run(&plan, dir.path(), 1);
    let stats = &result.main.stats;
    let rows = rows(&dir.path().join("flows.csv"));
    let time = |row: &[String]| row[2].parse::<u64>().unwrap();
    // 5 us are 7813 ticks of 640 ps.
    let last = (stats.end_tick + 1) / 7813 * 7813 * 640;
    assert_eq!(rows.iter().map(|row| time(row)).max(), Some(last));
    assert!(rows.is_sorted_by_key(|row| time(row)));
    let recorded: u64 = rows.iter().map(|row| row[6].parse::<u64>().unwrap()).sum();
    let delivered: u64 = stats.service_levels.iter().map(|sl| sl.bytes).sum();
    // Messages of one packet: all that was delivered but in the interval that was cut off.
    assert!(
        recorded <= delivered && recorded * 100 > delivered * 95,
        "{recorded} of {delivered}"
    );
}

/// A table of a Parquet file as the texts of the CSV file.
fn parquet_rows(path: &Path) -> Vec<Vec<String>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let text = |field: &Field| match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Long(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        other => panic!("{other:?}"),
    };
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap());
    rows.map(|row| {
        row.get_column_iter()
            .map(|(_, field)| text(field))
            .collect()
    })
    .collect()
}

fn flow(src: u32, dst: u32, bytes: u64) -> FlowSample {
    FlowSample {
        src: NicId::new(src),
        dst: NicId::new(dst),
        sl: 0,
        bytes,
    }
}

/// Every column of every series, from samples made by hand: 5 us are 7813 ticks.
#[test]
fn csv_and_parquet_have_the_same_rows() {
    let dir = tempfile::tempdir().unwrap();
    let all = "series.record=[\"sources\", \"port_vls\", \"flows\"]";
    let plan = plan(JOB, &["series.format=both", "baseline.enabled=false", all]);
    let files = SeriesFiles::open(dir.path(), &plan, plan.series.as_ref().unwrap()).unwrap();
    {
        let mut recording = files.begin(Run::Experiment).unwrap();
        assert_eq!(recording.interval, 7813);
        assert!(files.begin(Run::Baseline(0)).is_none());
        let source = |dst, level, delay| SourceSample {
            nic: NicId::new(3),
            sl: 0,
            dst,
            level,
            delay,
        };
        (recording.take)(&Sample {
            tick: 7812,
            flows: vec![flow(0, 1, 62_504), flow(2, 1, 625_040)],
            port_vls: vec![PortVlSample {
                switch: SwitchId::new(0),
                port: PortId::new(5),
                vl: 2,
                flits: 7,
                marked: 1,
            }],
            sources: vec![source(None, 4, 100)],
            power: None,
        });
        (recording.take)(&Sample {
            tick: 15_625,
            flows: vec![flow(0, 1, 125_008)],
            port_vls: Vec::new(),
            sources: vec![source(Some(NicId::new(9)), 0, 0)],
            power: None,
        });
    }
    let control = Control::default();
    files
        .finish(&run_plan(&plan, &control, 1).unwrap())
        .unwrap();
    let expected = [
        (
            "flows",
            "run,load,time_ps,from_nic,to_nic,sl,bytes,gbit_per_s\n\
             experiment,,5000320,0,1,default,62504,100\n\
             experiment,,5000320,2,1,default,625040,1000\n\
             experiment,,10000640,0,1,default,125008,200\n",
        ),
        (
            "port_vls",
            "run,load,time_ps,switch,port,vl,waiting_flits,waiting_bytes,marked\n\
             experiment,,5000320,0,5,2,7,56,1\n",
        ),
        (
            "sources",
            "run,load,time_ps,nic,sl,to_nic,control_level,delay_ps\n\
             experiment,,5000320,3,default,,4,64000\n\
             experiment,,10000640,3,default,9,0,0\n",
        ),
    ];
    for (name, expected) in expected {
        let csv = dir.path().join(format!("{name}.csv"));
        assert_eq!(fs::read_to_string(&csv).unwrap(), expected);
        let parquet = parquet_rows(&dir.path().join(format!("{name}.parquet")));
        assert_eq!(parquet, rows(&csv), "{name}");
    }
    let figure = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
    assert!(figure("flows.svg").contains(">NIC 2 → NIC 1</text>"));
    assert!(figure("port_vls.svg").contains(">S0 port 5 → NIC 5, VL 2</text>"));
    assert!(figure("sources.svg").contains(">NIC 3 → NIC 9</text>"));
}

#[test]
fn parquet_keeps_more_rows_than_a_row_group() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(
        JOB,
        &[
            "series.format=both",
            "baseline.enabled=false",
            "series.figure_lines=0",
        ],
    );
    let files = SeriesFiles::open(dir.path(), &plan, plan.series.as_ref().unwrap()).unwrap();
    {
        let mut recording = files.begin(Run::Experiment).unwrap();
        for i in 1..=150 {
            let flows = (0..1000)
                .map(|f| flow(f / 40, 40 + f % 40, u64::from(f) + i))
                .collect();
            (recording.take)(&Sample {
                tick: 7813 * i - 1,
                flows,
                ..Sample::default()
            });
        }
    }
    let control = Control::default();
    files
        .finish(&run_plan(&plan, &control, 1).unwrap())
        .unwrap();
    assert_eq!(names(dir.path()), ["flows.csv", "flows.parquet"]);
    let csv = rows(&dir.path().join("flows.csv"));
    assert_eq!(csv.len(), 150_000);
    assert!(parquet_rows(&dir.path().join("flows.parquet")) == csv);
}

#[test]
fn baselines_are_recorded_if_asked_for() {
    let runs = |sets: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        run(&plan(JOB, sets), dir.path(), 2);
        let mut runs: Vec<_> = rows(&dir.path().join("flows.csv"))
            .into_iter()
            .map(|r| r[0].clone())
            .collect();
        runs.dedup();
        runs
    };
    assert_eq!(runs(&[]), ["experiment"]);
    assert_eq!(
        runs(&["series.baselines=true"]),
        ["experiment", "baseline-1"]
    );
}

/// Stops the run when it first hears of it.
struct Impatient<'a>(&'a AtomicBool);

impl Progress for Impatient<'_> {
    fn update(&self, snapshot: &Snapshot) {
        if snapshot.tick > 100_000 {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_run_leaves_what_it_recorded() {
    let text = TINY.replace("1280 ticks", "100ms");
    let plan = plan(&text, &["series.format=both"]);
    let dir = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let result = record(&plan, dir.path(), 1, &stop, &Impatient(&stop));
    assert_eq!(result.main.status, Status::Interrupted);
    assert_eq!(
        names(dir.path()),
        ["flows.csv", "flows.parquet", "flows.svg"]
    );
    let csv = rows(&dir.path().join("flows.csv"));
    assert_eq!(
        csv.len() as u64,
        2 * ((result.main.stats.end_tick + 1) / 640)
    );
    assert!(parquet_rows(&dir.path().join("flows.parquet")) == csv);
}

#[test]
fn a_run_that_fails_leaves_what_was_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("flows.csv"), "old").unwrap();
    let plan = plan(JOB, &[]);
    let files = SeriesFiles::open(dir.path(), &plan, plan.series.as_ref().unwrap()).unwrap();
    drop(files.begin(Run::Experiment));
    drop(files);
    assert_eq!(names(dir.path()), ["flows.csv"]);
    assert_eq!(fs::read(dir.path().join("flows.csv")).unwrap(), b"old");
}

/// NICs 1 to 3 send all they can to NIC 0 of an InfiniBand switch with congestion control, and
/// everything is in the window.
#[test]
fn congestion_control_shows_in_its_series() {
    let text = r#"
        fabric.topology = { kind = "single", nics = 4 }
        [[background]]
        rate = 1
        pattern = { flows = [{ from = 1, to = 0 }, { from = 2, to = 0 }, { from = 3, to = 0 }] }
        [measure]
        warm_up = "0 ticks"
        max_warm_up = "0 ticks"
        window = "40000 ticks"
        [series]
        interval = "400 ticks"
        record = ["flows", "port_vls", "sources"]
    "#;
    let mut plan = plan(text, &[]);
    let mut fabric = voq_fabric(Topology::single(4).unwrap());
    fabric.congestion_control = Some(Box::new(control(8, 1, 400)));
    fabric.validate().unwrap();
    plan.experiment.fabric = fabric;
    let dir = tempfile::tempdir().unwrap();
    let stats = run(&plan, dir.path(), 1).main.stats;
    assert_eq!(stats.ticks(), 40_000);
    let congestion = stats.congestion.unwrap();
    let read = |name: &str| rows(&dir.path().join(name));
    let number = |text: &String| text.parse::<u64>().unwrap();

    let bytes: u64 = read("flows.csv").iter().map(|row| number(&row[6])).sum();
    let packets: u64 = stats.service_levels.iter().map(|sl| sl.packets).sum();
    assert_eq!(bytes, packets * 256);

    // Everything waits for NIC 0, and every mark is in some sample.
    let port_vls = read("port_vls.csv");
    assert!(
        port_vls.iter().all(|row| row[3..6] == ["0", "0", "0"]),
        "{port_vls:?}"
    );
    let marked: u64 = port_vls.iter().map(|row| number(&row[8])).sum();
    assert!(marked > 100, "{marked}");
    assert_eq!(marked, congestion.marked);
    for row in &port_vls {
        assert_eq!(number(&row[7]), 64 * number(&row[6]));
    }

    // A row per flow and sample from the first on, all 100 of them.
    let sources = read("sources.csv");
    assert_eq!(sources.len(), 300);
    for row in &sources {
        let (ccti, delay) = (number(&row[6]), number(&row[7]));
        assert_eq!(row[5], "0");
        // Entry i of the table: i/2 times the 4 ticks of the packet before.
        assert_eq!(delay, ccti * 4 / 2 * 16_000);
    }
    assert!(sources.iter().any(|row| number(&row[6]) > 0));
    let svg = fs::read_to_string(dir.path().join("sources.svg")).unwrap();
    assert!(
        svg.contains("all 3 sources seen") && svg.contains("NIC 3 → NIC 0"),
        "{svg}"
    );
}
