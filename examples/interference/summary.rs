//! Means over the seeds with their 95 % confidence intervals.

use crate::grid::{APPLICATIONS, RATES, Row, SCHEDULERS};
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

/// The four lines of an application, best first.
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

/// One cell of the table.
pub fn cell(rows: &[Row], application: &str, series: (&str, &str), rate: &str) -> Option<Mean> {
    let values: Vec<f64> = rows
        .iter()
        .filter(|r| {
            r.application == application
                && (r.job_sl.as_str(), r.scheduler.as_str()) == series
                && r.rate == rate
        })
        .map(|r| r.slowdown)
        .collect();
    mean(&values)
}

/// Factor on the computation of an application, as it was given.
pub fn scale<'a>(rows: &'a [Row], application: &str) -> Option<&'a str> {
    let row = rows.iter().find(|r| r.application == application)?;
    Some(&row.compute_scale)
}

pub fn percent(rate: &str) -> String {
    let rate: f64 = rate.parse().unwrap_or(f64::NAN);
    format!("{:.0} %", rate * 100.0)
}

/// The table as Markdown.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("| application | compute | job | scheduler |");
    for rate in RATES {
        let _ = write!(text, " {} |", percent(rate));
    }
    text.push_str("\n|---|---|---|---|");
    text.push_str(&"---|".repeat(RATES.len()));
    text.push('\n');
    for (application, _) in APPLICATIONS {
        let Some(scale) = scale(rows, application) else {
            continue;
        };
        for (sl, scheduler) in SERIES {
            let name = scheduler_name(scheduler);
            let _ = write!(text, "| {application} | ×{scale} | {sl} | {name} |");
            for rate in RATES {
                let _ = match cell(rows, application, (sl, scheduler), rate) {
                    Some(m) => write!(text, " {:.4} ± {:.4} |", m.mean, m.half),
                    None => write!(text, " |"),
                };
            }
            text.push('\n');
        }
    }
    text
}
