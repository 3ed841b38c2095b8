//! The tables of two pages and of their logs are what the files beside the pages say, which studies wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/evidence");

type Row = BTreeMap<String, String>;

fn csv(path: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(Path::new(DOCS).join(path)).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

/// The rows of the tables of a page whose header begins so, sorted.
fn tables(page: &str, header: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(DOCS).join(page)).unwrap();
    let tables = text.split("\n\n").filter(|part| part.starts_with(header));
    let mut rows: Vec<String> = tables
        .flat_map(|table| table.lines().skip(2).map(str::to_owned))
        .collect();
    rows.sort();
    rows
}

/// Mean and half interval of a column, if no run of the row failed.
fn cell(row: &Row, column: &str, form: fn(f64, f64) -> String) -> String {
    match row.get("failed_count").map_or("0", String::as_str) {
        "0" => {}
        failed => return format!("deadlock in {failed} of {}", row["runs_count"]),
    }
    let number = |end: &str| row[&format!("{column}_{end}")].parse().unwrap();
    form(number("mean"), number("ci95"))
}

/// Columns of numbers of each table.
const RATES: usize = 4;

/// Lines of a Markdown table: the cells of each line in the order of the file, in which the rate varies fastest.
fn lines(rows: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (line, cell) in rows {
        match lines.last_mut() {
            Some((last, cells)) if *last == line && cells.len() < RATES => cells.push(cell),
            _ => lines.push((line, vec![cell])),
        }
    }
    let text = |(line, cells): (String, Vec<String>)| format!("| {line} | {} |", cells.join(" | "));
    lines.into_iter().map(text).collect()
}

/// The log has a table for each study and fabric, so equal lines of two fabrics are there twice.
#[test]
fn interference_log_shows_what_its_studies_found() {
    let studies = ["background", "background-recorded"];
    let slowdown = |row: Row| {
        let scheduler = match &*row["scheduler"] {
            "dtable" => "DTable",
            "rr" => "RR",
            "sbt" => "SBT",
            _ => "RR, Table 9",
        };
        let line = format!("{} | {} | {scheduler}", row["application"], row["job_in"]);
        (
            line,
            cell(&row, "slowdown_ratio", |mean, half| {
                format!("{mean:.4} ± {half:.4}")
            }),
        )
    };
    let files = studies.map(|study| csv(&format!("interference/{study}/points.csv")));
    let mut wanted: Vec<String> = files
        .into_iter()
        .flat_map(|rows| lines(rows.into_iter().map(slowdown)))
        .collect();
    wanted.sort();
    assert_eq!(
        tables(
            "../log/interference.md",
            "| application | job in | scheduler |"
        ),
        wanted
    );
}

#[test]
fn interference_log_shows_the_paired_differences() {
    let difference = |row: Row| {
        let line = match (&*row["axis"], &*row["job_in"], &*row["scheduler"]) {
            ("job in", "BK", "dtable") => "BK − CL, DTable",
            ("scheduler", "CL", "rr") => "RR − DTable, job in CL",
            ("scheduler", "BK", "rr") => "RR − DTable, job in BK",
            _ => return None,
        };
        let form = |mean: f64, half: f64| format!("{:+.2} ± {:.2}", mean, half);
        let cell = cell(&row, "slowdown_percentage_points", form);
        Some((format!("{} | {line}", row["application"]), cell))
    };
    let rows = csv("interference/background/differences.csv");
    let mut wanted = lines(rows.into_iter().filter_map(difference));
    wanted.sort();
    assert_eq!(
        tables(
            "../log/interference.md",
            "| application | difference in percentage points |"
        ),
        wanted
    );
}

/// The order of the cells is the order of the files: job in CL under DTable and RR, then in BK.
#[test]
fn interference_shows_the_slowdowns_at_20_percent() {
    let mut cells: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let form = |mean: f64, half: f64| format!("{mean:.3} ± {half:.3}");
    for (study, ranks) in [("background", ""), ("background-recorded", "-512")] {
        let rows = csv(&format!("interference/{study}/points.csv"));
        let shown = |row: &&Row| {
            row["rate"] == "0.2"
                && ["dtable", "rr"].contains(&&*row["scheduler"])
                && row["fabric"] != "tree-equal-packets"
        };
        for row in rows.iter().filter(shown) {
            let line = format!("{} | {}{ranks}", row["fabric"], row["application"]);
            let cell = cell(row, "slowdown_ratio", form);
            cells.entry(line).or_default().push(cell);
        }
    }
    let mut wanted: Vec<String> = cells
        .into_iter()
        .map(|(line, cells)| format!("| {line} | {} |", cells.join(" | ")))
        .collect();
    wanted.sort();
    let head = "| fabric | application | CL, DTable |";
    assert_eq!(tables("interference.md", head), wanted);
}

/// The slowdowns under DTable and RR at each part of the computation, and how far computation stretches the job alone.
#[test]
fn interference_log_shows_the_slowdowns_with_computation() {
    const PARTS: usize = 7;
    let rows = csv("interference/computation/points.csv");
    let alone = |row: &Row| {
        let [time, slowdown] = ["execution_time_us_mean", "slowdown_ratio_mean"]
            .map(|column| row[column].parse::<f64>().unwrap());
        time / slowdown
    };
    let mut wanted = Vec::new();
    for (at, rows) in rows.chunks(PARTS).enumerate() {
        let form = |mean: f64, half: f64| format!("{mean:.3} ± {half:.3}");
        let line = if at % 2 == 0 {
            let times = rows
                .iter()
                .map(|row| format!("{:.1}", alone(row) / alone(&rows[0])));
            let times: Vec<String> = times.collect();
            let line = format!("{} | time alone", rows[0]["application"]);
            wanted.push(format!("| {line} | {} |", times.join(" | ")));
            "DTable"
        } else {
            "RR"
        };
        let cells: Vec<String> = rows
            .iter()
            .map(|row| cell(row, "slowdown_ratio", form))
            .collect();
        let line = format!("{} | {line}", rows[0]["application"]);
        wanted.push(format!("| {line} | {} |", cells.join(" | ")));
    }
    wanted.sort();
    assert_eq!(
        tables("../log/interference.md", "| application | computation |"),
        wanted
    );
}

/// Payload of a packet over its length with headers, and what a NIC of the test bed takes in Gb/s.
const PAYLOAD: f64 = 2048.0 / 2074.0;
const NIC: f64 = 13.1;

#[test]
fn congestion_control_shows_what_its_study_found() {
    // Per setting and seed the rates of the flows: the victim's, then the contributors'.
    let mut runs: BTreeMap<(Vec<i64>, String), Vec<f64>> = BTreeMap::new();
    for row in csv("congestion-control/settings.csv") {
        let setting =
            ["Threshold", "CCTI_Timer", "Marking_Rate"].map(|axis| row[axis].parse().unwrap());
        let rate: f64 = row["accepted_gbit_per_s"].parse().unwrap();
        let key = (setting.to_vec(), row["seed"].clone());
        runs.entry(key).or_default().push(rate * PAYLOAD);
    }
    let mut cells: BTreeMap<Vec<i64>, Vec<[f64; 3]>> = BTreeMap::new();
    for ((setting, _), rates) in runs {
        let (sum, squares) = (
            rates[1..].iter().sum::<f64>(),
            rates[1..].iter().map(|r| r * r).sum::<f64>(),
        );
        let jain = sum * sum / (rates[1..].len() as f64 * squares);
        cells
            .entry(setting)
            .or_default()
            .push([rates[0], jain, sum / NIC]);
    }
    let shown = |seeds: &Vec<[f64; 3]>| {
        let mean = |at: usize| seeds.iter().map(|seed| seed[at]).sum::<f64>() / seeds.len() as f64;
        format!("{:.1} / {:.3} / {:.2}", mean(0), mean(1), mean(2))
    };
    let rows = cells
        .iter()
        .map(|(setting, seeds)| (format!("{} | {}", setting[0], setting[1]), shown(seeds)));
    let wanted: BTreeSet<String> = lines(rows).into_iter().collect();
    let [log, page] = ["../log/congestion-control.md", "congestion-control.md"]
        .map(|page| BTreeSet::from_iter(tables(page, "| Threshold | CCTI_Timer |")));
    assert_eq!(log, wanted);
    // The page has the rows of one threshold.
    let at_12 = wanted.iter().filter(|row| row.starts_with("| 12 |"));
    assert_eq!(page, at_12.cloned().collect::<BTreeSet<_>>());
}
