//! Hiperion, section 4.3, judged by three studies: slowdown of 16 ranks in the chosen reading (`background-rounds`) and with a
//! pipelined allocator and the packets of Table 9 (`background`), and of recordings of 512 ranks (`background-recorded`) in
//! the chosen reading and with the packets of Table 9 in rounds.

use crate::row::Verdict;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;

/// "In the range of 1% to 5%".
const AT_ONE_PERCENT: (f64, f64) = (1.0, 5.0);
const LOWEST: f64 = 0.01;
const HIGHEST: f64 = 0.2;
/// The control with packets of equal size is no fabric of Hiperion.
const FABRICS: [&str; 2] = ["tree", "torus"];

/// The columns of a study that tell its points apart.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Key {
    application: String,
    job_in: String,
    fabric: String,
    scheduler: String,
    rate: f64,
}

/// A mean with half its 95 % interval.
#[derive(Debug, Clone, Copy)]
struct Mean {
    mean: f64,
    half: f64,
}

/// A row of `points.csv`.
#[derive(Debug, Deserialize)]
struct PointRow {
    #[serde(flatten)]
    key: Key,
    point: u32,
    /// Runs that deadlocked. The others are no fair sample, so such a point is not judged.
    failed_count: u32,
    slowdown_ratio_mean: f64,
    slowdown_ratio_ci95: Option<f64>,
}

/// A row of `differences.csv`: the difference from the point whose value on `axis` is `reference`, seed by seed.
#[derive(Debug, Deserialize)]
struct DifferenceRow {
    #[serde(flatten)]
    key: Key,
    axis: String,
    reference: String,
    point: u32,
    reference_point: u32,
    slowdown_percentage_points_mean: f64,
    slowdown_percentage_points_ci95: Option<f64>,
}

/// The tables of a study.
#[derive(Debug)]
struct Study {
    points: Vec<PointRow>,
    differences: Vec<DifferenceRow>,
}

/// The columns of the tables.
const COLUMNS: [&str; 4] = [
    "16 ranks, chosen reading",
    "16, pipelined, Table 9",
    "512 ranks, chosen reading",
    "512, rounds, Table 9",
];

/// The study of each column.
#[derive(Debug)]
pub struct Studies([Study; COLUMNS.len()]);

fn read<T: for<'de> Deserialize<'de>>(csv: &Path) -> Result<Vec<T>> {
    let mut reader = csv::Reader::from_path(csv).with_context(|| csv.display().to_string())?;
    let rows = reader.deserialize().collect::<Result<_, _>>();
    rows.with_context(|| csv.display().to_string())
}

impl Studies {
    /// Reads the studies in a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let study = |name: &str| -> Result<Study> {
            let mut points: Vec<PointRow> = read(&folder.join(name).join("points.csv"))?;
            let mut differences: Vec<DifferenceRow> =
                read(&folder.join(name).join("differences.csv"))?;
            let failed = points.iter().filter(|of| of.failed_count > 0);
            let failed: HashSet<u32> = failed.map(|of| of.point).collect();
            points.retain(|of| !failed.contains(&of.point));
            differences.retain(|of| {
                [of.point, of.reference_point]
                    .iter()
                    .all(|at| !failed.contains(at))
            });
            Ok(Study {
                points,
                differences,
            })
        };
        let recorded = |scheduler| {
            Ok::<_, anyhow::Error>(study("background-recorded")?.with_round_robin(scheduler))
        };
        Ok(Self([
            study("background-rounds")?,
            study("background")?,
            recorded("rr")?,
            recorded("rr-table-9")?,
        ]))
    }
}

impl Study {
    /// The points under DTable, and those under the scheduler `name` as the ones under RR.
    fn with_round_robin(mut self, name: &str) -> Self {
        let keep = |key: &mut Key| {
            if key.scheduler == name {
                "rr".clone_into(&mut key.scheduler);
                return true;
            }
            key.scheduler == "dtable"
        };
        self.points.retain_mut(|row| keep(&mut row.key));
        self.differences.retain_mut(|row| keep(&mut row.key));
        self
    }

    fn slowdowns(&self) -> impl Iterator<Item = (&Key, Mean)> {
        let is_of_fabric = |of: &&PointRow| FABRICS.contains(&&*of.key.fabric);
        self.points.iter().filter(is_of_fabric).filter_map(|of| {
            let (mean, half) = (of.slowdown_ratio_mean, of.slowdown_ratio_ci95?);
            Some((&of.key, Mean { mean, half }))
        })
    }

    /// Differences in points from the reference on an axis.
    fn differences(&self, axis: &str, reference: &str) -> Vec<(&Key, Mean)> {
        let rows = self.differences.iter().filter(|of| {
            of.axis == axis && of.reference == reference && FABRICS.contains(&&*of.key.fabric)
        });
        rows.filter_map(|of| {
            let mean = of.slowdown_percentage_points_mean;
            let half = of.slowdown_percentage_points_ci95?;
            Some((&of.key, Mean { mean, half }))
        })
        .collect()
    }

    /// BK − CL under a scheduler.
    fn levels(&self, scheduler: &str) -> Vec<(&Key, Mean)> {
        let mut levels = self.differences("job in", "CL");
        levels.retain(|(key, _)| key.scheduler == scheduler);
        levels
    }

    /// RR − DTable.
    fn schedulers(&self) -> Vec<(&Key, Mean)> {
        self.differences("scheduler", "dtable")
    }
}

/// Whether a statement holds in a study, and in how many cells.
struct Outcome {
    text: String,
    holds: bool,
}

/// The cells of a statement: by how many points each is on the wrong side, 0 or less where it is not.
fn cells<'a>(wrong: impl IntoIterator<Item = (&'a Key, f64)>) -> Outcome {
    let all: Vec<(&Key, f64)> = wrong.into_iter().collect();
    let wrong = all.iter().filter(|(_, points)| *points > 0.0);
    let mut applications: Vec<&str> = wrong.clone().map(|(key, _)| &*key.application).collect();
    applications.sort_unstable();
    applications.dedup();
    let (count, of) = (wrong.clone().count(), all.len());
    let most = wrong.map(|(_, points)| *points).fold(0.0, f64::max);
    let text = match count {
        0 => format!("in {of} of {of} cells"),
        _ => format!(
            "not in {count} of {of}: {}, {most:.1} at most",
            applications.join(", ")
        ),
    };
    Outcome {
        text,
        holds: count == 0,
    }
}

/// By how many points a difference that should not be below 0 is, if its interval is.
fn below((key, of): (&Key, Mean)) -> (&Key, f64) {
    (
        key,
        if of.mean + of.half < 0.0 {
            -of.mean
        } else {
            0.0
        },
    )
}

type Judge = fn(&Study) -> Outcome;

/// The statements.
const STATEMENTS: [(&str, Judge); 12] = [
    ("time does not shrink as the background grows", grows),
    ("DTable ≤ RR, job in CL", |study| {
        dtable_first(study, "CL")
    }),
    ("DTable ≤ RR, job in BK", |study| {
        dtable_first(study, "BK")
    }),
    ("RR slower even at 1 %", rr_slower),
    ("CL ≤ BK under DTable", |study| {
        cells(study.levels("dtable").into_iter().map(below))
    }),
    ("CL and BK differ by 1–5 % at 1 %", at_one_percent),
    ("their difference grows from 1 to 20 %", apart),
    ("RandomAccess suffers most", random_access),
    ("the torus is slower than the tree", |study| {
        cells(study.differences("fabric", "tree").into_iter().map(below))
    }),
    ("the same trend on both", same_trend),
    ("CL and BK differ alike on both under DTable", |study| {
        between_fabrics(study, "dtable")
    }),
    ("but not under RR", |study| {
        let alike = between_fabrics(study, "rr");
        let holds = !alike.holds;
        Outcome { holds, ..alike }
    }),
];

/// Each rate against the lower ones.
fn grows(study: &Study) -> Outcome {
    let slowdowns: Vec<(&Key, Mean)> = study.slowdowns().collect();
    let steps = slowdowns.iter().map(|&(key, of)| {
        let lower = slowdowns.iter().filter(|(other, _)| {
            let rate = key.rate;
            other.rate < rate
                && Key {
                    rate,
                    ..(*other).clone()
                } == *key
        });
        let before = lower.map(|(_, of)| of.mean).fold(0.0, f64::max);
        (key, 100.0 * (before - of.mean))
    });
    cells(steps)
}

fn dtable_first(study: &Study, job_in: &str) -> Outcome {
    let of_job = study.schedulers().into_iter();
    cells(of_job.filter(|(key, _)| key.job_in == job_in).map(below))
}

/// At the lowest rate, where a tie is not slower.
fn rr_slower(study: &Study) -> Outcome {
    let at_lowest = study.schedulers().into_iter();
    let at_lowest = at_lowest.filter(|(key, _)| key.rate == LOWEST);
    cells(at_lowest.map(|(key, of)| {
        (
            key,
            if of.mean > of.half {
                0.0
            } else {
                of.half - of.mean
            },
        )
    }))
}

fn at_one_percent(study: &Study) -> Outcome {
    let levels = study.levels("dtable").into_iter();
    let levels: Vec<(&Key, Mean)> = levels.filter(|(key, _)| key.rate == LOWEST).collect();
    let (low, high) = AT_ONE_PERCENT;
    let holds = levels
        .iter()
        .all(|(_, of)| of.mean + of.half >= low && of.mean - of.half <= high);
    let means = levels.iter().map(|(_, of)| of.mean);
    let (least, most) = (
        means.clone().fold(f64::MAX, f64::min),
        means.fold(f64::MIN, f64::max),
    );
    let text = format!("BK − CL {least:+.1} to {most:+.1}").replace('-', "−");
    Outcome { text, holds }
}

/// At the highest rate against the lowest.
fn apart(study: &Study) -> Outcome {
    let levels = study.levels("dtable");
    let highest = levels.iter().filter(|(key, _)| key.rate == HIGHEST);
    cells(highest.map(|&(key, highest)| {
        let lowest = levels.iter().find(|(of, _)| {
            let at_highest = Key {
                rate: HIGHEST,
                ..(*of).clone()
            };
            of.rate == LOWEST && at_highest == *key
        });
        (
            key,
            lowest.map_or(0.0, |(_, lowest)| lowest.mean - highest.mean),
        )
    }))
}

/// The other applications where their interval is above RandomAccess's.
fn random_access(study: &Study) -> Outcome {
    const MOST: &str = "RandomAccess";
    let slowdowns: Vec<(&Key, Mean)> = study.slowdowns().collect();
    let others = slowdowns.iter().filter(|(key, _)| key.application != MOST);
    cells(others.map(|&(key, of)| {
        let mine = slowdowns.iter().find(|(other, _)| {
            let mine = Key {
                application: MOST.to_owned(),
                ..key.clone()
            };
            **other == mine
        });
        let ahead = mine.map_or(0.0, |(_, mine)| of.mean - mine.mean - of.half - mine.half);
        (key, if ahead > 0.0 { 100.0 * ahead } else { 0.0 })
    }))
}

/// Pairs of a difference on the torus and on the tree.
fn on_both<'a>(differences: &[(&'a Key, Mean)]) -> Vec<(&'a Key, Mean, Mean)> {
    let on_torus = differences.iter().filter(|(key, _)| key.fabric == "torus");
    let pairs = on_torus.filter_map(|&(key, torus)| {
        let on_tree = Key {
            fabric: "tree".to_owned(),
            ..key.clone()
        };
        let tree = differences.iter().find(|(key, _)| **key == on_tree)?.1;
        Some((key, torus, tree))
    });
    pairs.collect()
}

/// At the highest rate, differences between levels and between schedulers: wrong where the signs are opposite beyond both
/// intervals.
fn same_trend(study: &Study) -> Outcome {
    let [levels, schedulers] = [study.levels("dtable"), study.schedulers()].map(|mut of| {
        of.retain(|(key, _)| key.rate == HIGHEST);
        on_both(&of)
    });
    let sign = |of: Mean| {
        if of.mean.abs() > of.half {
            of.mean.signum()
        } else {
            0.0
        }
    };
    cells(
        levels
            .into_iter()
            .chain(schedulers)
            .map(|(key, torus, tree)| {
                let opposite = sign(torus) * sign(tree) < 0.0;
                (
                    key,
                    if opposite {
                        (torus.mean - tree.mean).abs()
                    } else {
                        0.0
                    },
                )
            }),
    )
}

/// By how much BK − CL under a scheduler changes from tree to torus, where the intervals are disjoint.
fn between_fabrics(study: &Study, scheduler: &str) -> Outcome {
    let pairs = on_both(&study.levels(scheduler)).into_iter();
    cells(pairs.map(|(key, torus, tree)| {
        let change = (torus.mean - tree.mean).abs();
        let is_significant = change > torus.half + tree.half;
        (key, if is_significant { change } else { 0.0 })
    }))
}

/// Judges a statement in each study. The reading was chosen without these statements in sight.
fn judged(judge: Judge, studies: &Studies) -> ([Outcome; COLUMNS.len()], Verdict) {
    let outcomes = studies.0.each_ref().map(judge);
    let holds = outcomes.each_ref().map(|of| of.holds);
    let [few, _, many, _] = holds;
    let in_chosen = few && many;
    let verdict = match (holds.iter().all(|&holds| holds), in_chosen) {
        (true, _) => Verdict::Met,
        (false, true) => Verdict::Predicted,
        _ => Verdict::NotMet,
    };
    (outcomes, verdict)
}

/// The verdicts on all statements.
pub fn verdicts(studies: &Studies) -> Vec<Verdict> {
    let of = |(_, judge)| judged(judge, studies).1;
    STATEMENTS.map(of).to_vec()
}

/// The table of the page: whether each statement holds in each study.
pub fn table(studies: &Studies) -> String {
    let mark = |of: Outcome| if of.holds { "✓" } else { "✗" }.to_owned();
    let mut text = format!("| statement | {} | |\n", COLUMNS.join(" | "));
    text += &"|---".repeat(COLUMNS.len() + 2);
    text += "|\n";
    for (statement, judge) in STATEMENTS {
        let (outcomes, verdict) = judged(judge, studies);
        let marks = outcomes.map(mark).join(" | ");
        let _ = writeln!(text, "| {statement} | {marks} | {verdict} |");
    }
    text
}

/// The table of the log: in how many cells a statement holds in each study; ✗ where it does not.
pub fn details(studies: &Studies) -> String {
    let mut text = String::from("| statement | study | |\n|---|---|---|\n");
    for (statement, judge) in STATEMENTS {
        for (column, of) in COLUMNS.iter().zip(judged(judge, studies).0) {
            let mark = if of.holds { "" } else { " ✗" };
            let _ = writeln!(text, "| {statement} | {column} | {}{mark} |", of.text);
        }
    }
    text
}
