//! Judges the statements of reference 003 by a study of its fabrics, schemes and policies, for `docs/log/sauron.md`.
//!
//! ```text
//! flitwise study configs/studies/sauron-sensitivity.toml --out results/sensitivity
//! cargo run --example sauron_statements -- results/sensitivity
//! ```
//!
//! The study has the axes `fabric`, `scheme` and `policy` of `configs/studies/sauron.toml`, and may have `change`, by which
//! runs differ otherwise: then each statement has a column for each change. A difference counts if the 95 % interval of the
//! pairs of one seed excludes 0.

use anyhow::{Context, Result, bail, ensure};
use flitwise::results::interval_95;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

const POLICIES: [&str; 3] = ["always-on", "on-off", "high-low"];
/// Each fabric with its schemes; the last one is its own.
const FABRICS: [(&str, [&str; 4]); 3] = [
    ("torus", ["1q", "voqsw", "dbbm", "iodet"]),
    ("tree", ["1q", "voqsw", "dbbm", "flow2sl"]),
    ("dragonfly", ["1q", "voqsw", "dbbm", "h2lq"]),
];

/// The measures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    /// Gb/s for each NIC.
    Throughput,
    /// Microseconds.
    Latency,
    /// Nanojoules per bit.
    Energy,
    /// Part of the time in which links carry something.
    Use,
}

use Metric::{Energy, Latency, Throughput, Use};

/// The column of a metric, and what its values are multiplied by.
fn column(metric: Metric) -> (&'static str, f64) {
    match metric {
        Throughput => ("throughput_gbit_per_s_per_nic", 1.0),
        Latency => ("packet_latency_mean_ns", 1e-3),
        Energy => ("energy_pj_per_bit", 1e-3),
        Use => ("link_idle_share", 1.0),
    }
}

/// Fabric, scheme and policy.
type Cell = (String, String, String);

/// The runs of one change: by cell and seed, the four metrics.
#[derive(Default)]
struct Runs(BTreeMap<Cell, BTreeMap<u64, [f64; 4]>>);

impl Runs {
    /// The values of a cell, seed by seed.
    fn values(
        &self,
        metric: Metric,
        (fabric, scheme, policy): (&str, &str, &str),
    ) -> Result<BTreeMap<u64, f64>> {
        let cell = (fabric.to_owned(), scheme.to_owned(), policy.to_owned());
        let runs = self
            .0
            .get(&cell)
            .with_context(|| format!("the study lacks {fabric}, {scheme}, {policy}"))?;
        let value = |(&seed, row): (&u64, &[f64; 4])| (seed, row[metric as usize]);
        Ok(runs.iter().map(value).collect())
    }

    fn mean(&self, metric: Metric, cell: (&str, &str, &str)) -> Result<f64> {
        let values = self.values(metric, cell)?;
        Ok(values.values().sum::<f64>() / values.len() as f64)
    }

    /// How `a` compares with `b`, seed by seed; equal if the interval of the difference has 0 in it.
    fn compare(
        &self,
        metric: Metric,
        a: (&str, &str, &str),
        b: (&str, &str, &str),
    ) -> Result<Ordering> {
        let (a, b) = (self.values(metric, a)?, self.values(metric, b)?);
        ensure!(
            a.keys().eq(b.keys()),
            "the points of the study have different seeds"
        );
        let differences: Vec<f64> = a.values().zip(b.values()).map(|(a, b)| a - b).collect();
        let difference =
            interval_95(&differences).context("two seeds make an interval, one does not")?;
        Ok(if difference.mean.abs() > difference.half_width {
            difference.mean.total_cmp(&0.0)
        } else {
            Ordering::Equal
        })
    }

    /// The scheme of a fabric with the best mean, without power policies.
    fn best(
        &self,
        metric: Metric,
        fabric: (&'static str, [&'static str; 4]),
    ) -> Result<(&'static str, f64)> {
        let mut best: Option<(&str, f64)> = None;
        for scheme in fabric.1 {
            let mean = self.mean(metric, (fabric.0, scheme, "always-on"))?;
            let better = |before: f64| match metric {
                Throughput | Use => mean > before,
                Latency | Energy => mean < before,
            };
            if best.is_none_or(|(_, before)| better(before)) {
                best = Some((scheme, mean));
            }
        }
        best.context("a fabric has schemes")
    }
}

fn main() -> Result<()> {
    let dirs: Vec<_> = std::env::args_os().skip(1).collect();
    let [dir] = dirs.as_slice() else {
        bail!("name the directory of a study");
    };
    let changes = read(&Path::new(dir).join("runs.csv"))?;
    let names: Vec<&str> = changes.iter().map(|(name, _)| name.as_str()).collect();
    println!("| statement | {} |", names.join(" | "));
    println!("|{}", "---|".repeat(names.len() + 1));
    for (statement, judge) in STATEMENTS {
        let cells: Result<Vec<String>> = changes.iter().map(|(_, runs)| judge(runs)).collect();
        println!("| {statement} | {} |", cells?.join(" | "));
    }
    Ok(())
}

/// The runs of each change, in the order of the table. A study without changes has one.
fn read(table: &Path) -> Result<Vec<(String, Runs)>> {
    let text = std::fs::read_to_string(table).with_context(|| table.display().to_string())?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let find = |name: &str| header.iter().position(|column| *column == name);
    let needed =
        |name: &str| find(name).with_context(|| format!("{}: no column {name}", table.display()));
    let axes = [needed("fabric")?, needed("scheme")?, needed("policy")?];
    let (seed, change) = (needed("seed")?, find("change"));
    let mut changes: Vec<(String, Runs)> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let text = |at: usize| cells.get(at).copied().unwrap_or_default().to_owned();
        let mut row = [0.0; 4];
        for metric in [Throughput, Latency, Energy, Use] {
            let (name, factor) = column(metric);
            let value: f64 = text(needed(name)?)
                .parse()
                .with_context(|| format!("`{line}` has no {name}"))?;
            ensure!(value.is_finite(), "`{line}`: {name} is no number");
            row[metric as usize] = match metric {
                Use => 1.0 - value,
                _ => value * factor,
            };
        }
        let name = change.map_or_else(|| "obtained".to_owned(), text);
        if changes.iter().all(|(known, _)| *known != name) {
            changes.push((name.clone(), Runs::default()));
        }
        let of_change = changes.iter_mut().find(|(known, _)| *known == name);
        let [fabric, scheme, policy] = axes.map(text);
        if let Some((_, runs)) = of_change {
            let cell = runs.0.entry((fabric, scheme, policy)).or_default();
            cell.insert(text(seed).parse()?, row);
        }
    }
    Ok(changes)
}

type Judge = fn(&Runs) -> Result<String>;

/// Each statement with what decides it.
const STATEMENTS: [(&str, Judge); 18] = [
    ("DBBM, torus: no difference between policies", |r| {
        alike(r, "torus", "dbbm")
    }),
    ("IODET, torus: the same", |r| alike(r, "torus", "iodet")),
    ("VOQsw is the worst on the torus in throughput", |r| {
        below(r, Throughput, &["voqsw"], &["1q", "dbbm", "iodet"])
    }),
    ("and in energy", |r| {
        below(r, Energy, &["1q", "dbbm", "iodet"], &["voqsw"])
    }),
    ("DBBM and IODET are the best there", |r| {
        below(r, Throughput, &["1q", "voqsw"], &["dbbm", "iodet"])
    }),
    ("tree: all schemes have good throughput", tree_throughput),
    (
        "Flow2SL on the tree: latency above that of 1q",
        flow2sl_latency,
    ),
    (
        "dragonfly, its schemes: no difference between policies",
        |r| {
            let schemes = ["voqsw", "dbbm", "h2lq"].map(|scheme| alike(r, "dragonfly", scheme));
            let schemes: Result<Vec<String>> = schemes.into_iter().collect();
            Ok(schemes?.join("; "))
        },
    ),
    ("dragonfly is best in all metrics", dragonfly_best),
    ("dragonfly: use of links from 11.2 % to 28.1 %", link_use),
    ("torus better in energy than the tree", |r| {
        torus_and_tree(r, Energy, Ordering::Less)
    }),
    ("tree lower in latency than the torus", |r| {
        torus_and_tree(r, Latency, Ordering::Greater)
    }),
    ("high-low best in energy", |r| {
        policies(r, Energy, Ordering::Less, "high-low", "on-off")
    }),
    ("on-off better in throughput than high-low", |r| {
        policies(r, Throughput, Ordering::Greater, "on-off", "high-low")
    }),
    ("on-off better in latency", |r| {
        policies(r, Latency, Ordering::Less, "on-off", "high-low")
    }),
    (
        "schemes change energy more than policies do",
        more_than_policies,
    ),
    ("best scheme against 1q, throughput", |r| {
        against_1q(r, Throughput)
    }),
    ("the same, latency; energy", |r| {
        Ok(format!(
            "{}; {}",
            against_1q(r, Latency)?,
            against_1q(r, Energy)?
        ))
    }),
];

/// The metrics in which two policies differ.
fn alike(runs: &Runs, fabric: &str, scheme: &str) -> Result<String> {
    let mut differ = Vec::new();
    for (metric, name) in [
        (Throughput, "throughput"),
        (Latency, "latency"),
        (Energy, "energy"),
    ] {
        let of = |policy| (fabric, scheme, policy);
        for (at, a) in POLICIES.into_iter().enumerate() {
            for b in POLICIES.into_iter().skip(at + 1) {
                let (mean, other) = (runs.mean(metric, of(a))?, runs.mean(metric, of(b))?);
                // The page calls less than a percent no difference.
                let small = (mean - other).abs() < 0.01 * other;
                if !small
                    && runs.compare(metric, of(a), of(b))? != Ordering::Equal
                    && !differ.contains(&name)
                {
                    differ.push(name);
                }
            }
        }
    }
    Ok(if differ.is_empty() {
        "yes".to_owned()
    } else {
        format!("not in {}", differ.join(", "))
    })
}

/// Whether on the torus each of `low` has less of a metric than each of `high`, and the pairs for which it is not so.
fn below(runs: &Runs, metric: Metric, low: &[&str], high: &[&str]) -> Result<String> {
    let mut others = Vec::new();
    for &a in low {
        for &b in high {
            let of = |scheme| ("torus", scheme, "always-on");
            match runs.compare(metric, of(a), of(b))? {
                Ordering::Less => {}
                Ordering::Equal => others.push(format!("{a} = {b}")),
                Ordering::Greater => others.push(format!("{a} > {b}")),
            }
        }
    }
    Ok(if others.is_empty() {
        "yes".to_owned()
    } else {
        format!("no: {}", others.join(", "))
    })
}

/// By how much the best scheme and the best policy lower the energy of 1q without policies, on torus, tree and dragonfly.
fn more_than_policies(runs: &Runs) -> Result<String> {
    let (mut parts, mut all) = (Vec::new(), true);
    for fabric in FABRICS {
        let of = |policy| runs.mean(Energy, (fabric.0, "1q", policy));
        let one = of("always-on")?;
        let (_, scheme) = runs.best(Energy, fabric)?;
        let policy = of("on-off")?.min(of("high-low")?);
        all &= scheme < policy;
        let percent = |energy: f64| (energy / one - 1.0) * 100.0;
        parts.push(format!(
            "{:+.0} and {:+.0}",
            percent(scheme),
            percent(policy)
        ));
    }
    let verdict = if all { "yes" } else { "no" };
    Ok(format!("{verdict}: {} %", parts.join(", ")))
}

fn tree_throughput(runs: &Runs) -> Result<String> {
    let of = |scheme| runs.mean(Throughput, ("tree", scheme, "always-on"));
    let schemes = [of("voqsw")?, of("dbbm")?, of("flow2sl")?];
    let least = schemes.into_iter().fold(f64::INFINITY, f64::min);
    let most = schemes.into_iter().fold(0.0, f64::max);
    Ok(format!("{least:.1} to {most:.1}, 1q {:.1} Gb/s", of("1q")?))
}

fn flow2sl_latency(runs: &Runs) -> Result<String> {
    let of = |scheme| ("tree", scheme, "always-on");
    let yes = runs.compare(Latency, of("flow2sl"), of("1q"))? == Ordering::Greater;
    let [own, one] = [
        runs.mean(Latency, of("flow2sl"))?,
        runs.mean(Latency, of("1q"))?,
    ];
    Ok(format!(
        "{}: {own:.2} and {one:.2} us",
        if yes { "yes" } else { "no" }
    ))
}

fn dragonfly_best(runs: &Runs) -> Result<String> {
    let mut not = Vec::new();
    for (metric, name) in [
        (Throughput, "throughput"),
        (Latency, "latency"),
        (Energy, "energy"),
    ] {
        let [torus, tree, dragonfly] = FABRICS.map(|fabric| (fabric.0, runs.best(metric, fabric)));
        let (mine, _) = dragonfly.1?;
        for (fabric, best) in [torus, tree] {
            let (theirs, _) = best?;
            let found = runs.compare(
                metric,
                ("dragonfly", mine, "always-on"),
                (fabric, theirs, "always-on"),
            )?;
            let wanted = match metric {
                Throughput | Use => Ordering::Greater,
                Latency | Energy => Ordering::Less,
            };
            if found != wanted {
                not.push(format!("{name} of the {fabric}"));
            }
        }
    }
    Ok(if not.is_empty() {
        "yes".to_owned()
    } else {
        format!("not against {}", not.join(", "))
    })
}

fn link_use(runs: &Runs) -> Result<String> {
    let (_, best) = runs.best(Use, FABRICS[2])?;
    let one = runs.mean(Use, ("dragonfly", "1q", "always-on"))?;
    Ok(format!("{:.1} to {:.1} %", one * 100.0, best * 100.0))
}

/// Schemes with which the torus compares with the tree as wanted; `own` are those that only one of them has.
fn torus_and_tree(runs: &Runs, metric: Metric, wanted: Ordering) -> Result<String> {
    let (torus, tree) = (FABRICS[0], FABRICS[1]);
    let mut with = Vec::new();
    for (at, (a, b)) in torus.1.into_iter().zip(tree.1).enumerate() {
        let found = runs.compare(metric, (torus.0, a, "always-on"), (tree.0, b, "always-on"))?;
        if found == wanted {
            with.push(if at == 3 { "own" } else { a });
        }
    }
    Ok(match with.len() {
        4 => "yes".to_owned(),
        0 => "no".to_owned(),
        _ => format!("with {}", with.join(", ")),
    })
}

/// In how many pairs of fabric and scheme a policy compares with another one as wanted, and in how many it is a tie.
fn policies(runs: &Runs, metric: Metric, wanted: Ordering, a: &str, b: &str) -> Result<String> {
    let (mut as_wanted, mut ties) = (0, 0);
    for (fabric, schemes) in FABRICS {
        for scheme in schemes {
            let found = runs.compare(metric, (fabric, scheme, a), (fabric, scheme, b))?;
            as_wanted += u32::from(found == wanted);
            ties += u32::from(found == Ordering::Equal);
        }
    }
    Ok(format!("{as_wanted} of 12, {ties} ties"))
}

/// By how much the best scheme of torus, tree and dragonfly differs from 1q.
fn against_1q(runs: &Runs, metric: Metric) -> Result<String> {
    let mut parts = Vec::new();
    for fabric in FABRICS {
        let (_, best) = runs.best(metric, fabric)?;
        let one = runs.mean(metric, (fabric.0, "1q", "always-on"))?;
        parts.push(format!("{:+.0}", (best / one - 1.0) * 100.0));
    }
    Ok(format!("{} %", parts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study with two seeds in which a metric of a cell is what `of` says, and a little more with the second seed.
    fn study(of: impl Fn(Metric, &str, &str, &str) -> f64) -> Runs {
        let mut runs = Runs::default();
        for (fabric, schemes) in FABRICS {
            for (scheme, policy) in schemes
                .iter()
                .flat_map(|s| POLICIES.map(|policy| (*s, policy)))
            {
                let cell = [fabric, scheme, policy].map(str::to_owned);
                let row = |seed: u64| {
                    let metrics = [Throughput, Latency, Energy, Use];
                    metrics.map(|metric| of(metric, fabric, scheme, policy) + seed as f64 * 1e-3)
                };
                let [a, b, c] = cell;
                let rows = (1..3).map(|seed| (seed, row(seed)));
                runs.0.insert((a, b, c), rows.collect());
            }
        }
        runs
    }

    fn verdict(statement: &str, runs: &Runs) -> String {
        let found = STATEMENTS.iter().find(|(text, _)| *text == statement);
        let (_, judge) = found.expect("a statement");
        judge(runs).unwrap()
    }

    #[test]
    fn what_is_equal_is_no_difference() {
        let runs = study(|_, _, _, _| 1.0);
        assert_eq!(verdict("IODET, torus: the same", &runs), "yes");
        assert_eq!(
            verdict("high-low best in energy", &runs),
            "0 of 12, 12 ties"
        );
        assert_eq!(
            verdict("and in energy", &runs),
            "no: 1q = voqsw, dbbm = voqsw, iodet = voqsw"
        );
        assert_eq!(
            verdict("dragonfly is best in all metrics", &runs)
                .matches("of the")
                .count(),
            6
        );
    }

    #[test]
    fn what_differs_is_named() {
        let runs = study(
            |metric, fabric, scheme, policy| match (metric, fabric, scheme, policy) {
                (Latency, "torus", "iodet", "on-off") => 2.0,
                (Energy, _, _, "high-low") => 0.5,
                (Throughput, "torus", "voqsw", _) => 0.25,
                (Throughput, "torus", "1q", _) => 0.5,
                _ => 1.0,
            },
        );
        assert_eq!(
            verdict("IODET, torus: the same", &runs),
            "not in latency, energy"
        );
        assert_eq!(
            verdict("high-low best in energy", &runs),
            "12 of 12, 0 ties"
        );
        assert_eq!(
            verdict("VOQsw is the worst on the torus in throughput", &runs),
            "yes"
        );
        assert_eq!(verdict("DBBM and IODET are the best there", &runs), "yes");
        assert!(verdict("best scheme against 1q, throughput", &runs).starts_with("+100, +0, +0"));
    }
}
