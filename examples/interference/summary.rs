//! Means over the seeds with their 95 % confidence intervals.

use crate::application::APPLICATIONS;
use crate::grid::{RATES, Row, SCHEDULERS, Subject};
use std::fmt::Write;

/// Mean of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub mean: f64,
    /// Half the width of the interval.
    pub half: f64,
}

/// 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom.
const T: [f64; 19] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
];

/// Mean of `values`; no interval for fewer than two.
pub fn mean(values: &[f64]) -> Option<Mean> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let half = if values.len() < 2 {
        f64::NAN
    } else {
        T.get(values.len() - 2).copied().unwrap_or(1.96) * (squares / (n - 1.0) / n).sqrt()
    };
    Some(Mean { mean, half })
}

/// The four lines of an application, with the one expected to be fastest first.
pub const SERIES: [(&str, &str); 4] = [
    ("CL", SCHEDULERS[0]),
    ("CL", SCHEDULERS[1]),
    ("BK", SCHEDULERS[0]),
    ("BK", SCHEDULERS[1]),
];

pub fn scheduler_name(scheduler: &str) -> &str {
    match scheduler {
        "dtable" => "DTable",
        _ => "RR",
    }
}

/// Rows of one cell of the table, one per seed.
fn rows_of<'a>(
    rows: &'a [Row],
    subject: &'a Subject,
    series: (&'a str, &'a str),
    rate: &'a str,
) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |r| {
        r.subject == *subject
            && (r.job_sl.as_str(), r.scheduler.as_str()) == series
            && r.rate == rate
    })
}

/// One cell of the table.
pub fn cell(rows: &[Row], subject: &Subject, series: (&str, &str), rate: &str) -> Option<Mean> {
    let values: Vec<f64> = rows_of(rows, subject, series, rate)
        .map(|r| r.slowdown)
        .collect();
    mean(&values)
}

/// Slowdown of one series less the slowdown of another, seed by seed.
fn difference(
    rows: &[Row],
    subject: &Subject,
    [more, less]: [(&str, &str); 2],
    rate: &str,
) -> Option<Mean> {
    let values: Vec<f64> = rows_of(rows, subject, more, rate)
        .filter_map(|a| {
            let b = rows_of(rows, subject, less, rate).find(|b| b.seed == a.seed)?;
            Some(a.slowdown - b.slowdown)
        })
        .collect();
    mean(&values)
}

/// The workloads of the rows, in the order of [`APPLICATIONS`].
pub fn subjects(rows: &[Row]) -> Vec<&Subject> {
    let mut subjects: Vec<&Subject> = Vec::new();
    for Row { subject, .. } in rows {
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    subjects.sort_by_key(|s| APPLICATIONS.iter().position(|a| a.name == s.application));
    subjects
}

pub fn percent(rate: &str) -> String {
    let rate: f64 = rate.parse().unwrap_or(f64::NAN);
    format!("{:.0} %", rate * 100.0)
}

/// The slowdowns, then their differences, as Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("| application | per NIC | compute | job | alone | scheduler |");
    head(&mut text, 6);
    let subjects = subjects(rows);
    for &subject in &subjects {
        let Subject {
            application,
            tasks_per_node,
            compute_scale,
        } = subject;
        for series in SERIES {
            let alone: Vec<f64> = rows_of(rows, subject, series, RATES[0])
                .map(|r| r.alone_ms)
                .collect();
            let alone = mean(&alone).map_or(f64::NAN, |m| m.mean);
            let (sl, name) = (series.0, scheduler_name(series.1));
            let _ = write!(
                text,
                "| {application} | {tasks_per_node} | ×{compute_scale} | {sl} | {alone:.3} ms | {name} |"
            );
            for rate in RATES {
                let _ = match cell(rows, subject, series, rate) {
                    Some(m) => write!(text, " {:.4} ± {:.4} |", m.mean, m.half),
                    None => write!(text, " |"),
                };
            }
            text.push('\n');
        }
    }
    text.push_str("\n| application | difference in percentage points |");
    head(&mut text, 2);
    for subject in subjects {
        let application = &subject.application;
        for (name, pair) in DIFFERENCES {
            let _ = write!(text, "| {application} | {name} |");
            for rate in RATES {
                let _ = match difference(rows, subject, pair, rate) {
                    Some(m) => write!(text, " {:+.2} ± {:.2} |", m.mean * 100.0, m.half * 100.0),
                    None => write!(text, " |"),
                };
            }
            text.push('\n');
        }
    }
    text
}

/// Differences that are not negative if the service levels serve their purpose.
const DIFFERENCES: [(&str, [(&str, &str); 2]); 3] = [
    ("BK − CL, DTable", [SERIES[2], SERIES[0]]),
    ("RR − DTable, job in CL", [SERIES[1], SERIES[0]]),
    ("RR − DTable, job in BK", [SERIES[3], SERIES[2]]),
];

/// Ends the header of a table that has `columns` columns before the rates.
fn head(text: &mut String, columns: usize) {
    for rate in RATES {
        let _ = write!(text, " {} |", percent(rate));
    }
    text.push_str("\n|");
    text.push_str(&"---|".repeat(columns + RATES.len()));
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn intervals_of_known_values() {
        let m = mean(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(m.mean, 2.0);
        // Standard error 1/√3, times 4.303.
        assert!((m.half - 2.484).abs() < 1e-3, "{m:?}");
        assert!(mean(&[1.0]).unwrap().half.is_nan());
        assert_eq!(mean(&[]), None);
    }

    /// The tables of the document match the results beside it.
    #[test]
    fn the_document_shows_the_results() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let document = std::fs::read_to_string(docs.join("interference.md")).unwrap();
        let mut files = 0;
        for entry in std::fs::read_dir(docs.join("interference")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "csv") {
                continue;
            }
            files += 1;
            let table = table(&crate::grid::read(&path).unwrap());
            let (slowdowns, differences) = table.split_once("\n\n").unwrap();
            assert!(document.contains(slowdowns), "{}:\n{table}", path.display());
            // With recorded computation the page shows no differences.
            let shown = document.contains(differences.trim_end());
            assert!(
                shown || path.ends_with("tree-recorded.csv"),
                "{}:\n{table}",
                path.display()
            );
        }
        assert_eq!(files, 7);
    }
}
