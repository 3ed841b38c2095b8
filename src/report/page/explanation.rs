//! Tables about critical paths: the use of the time, of the whole, by rank, by collective and by region; and the senders of
//! the packets that delayed it, and where (`docs/reference/explain.md`).

use super::section::Table;
use super::tables::{ROWS, texts};
use crate::explain::Part;
use crate::report::charts::for_job;
use crate::report::source::RunSource;
use serde_json::Value;

/// The tables of all jobs of a run that has an explanation.
pub(super) fn tables(run: &RunSource) -> Vec<Table> {
    let jobs = run.result["explanation"].as_array().into_iter().flatten();
    let mut tables: Vec<Table> = jobs.flat_map(|job| Job { run, job }.tables()).collect();
    tables.retain(|table| !table.rows.is_empty());
    tables
}

/// The name of the run that `run` is compared with.
fn compared_name(run: &RunSource) -> &str {
    let name = run.comparison["other"]["name"].as_str();
    name.filter(|name| !name.is_empty())
        .unwrap_or("the compared run")
}

/// Says which run is compared, and which keys differ; `None` without one.
pub(super) fn compared(run: &RunSource) -> Option<String> {
    let keys = run.comparison["different_keys"].as_array()?;
    let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
    let name = compared_name(run);
    Some(if keys.is_empty() {
        format!("compared with {name}.")
    } else {
        format!(
            "compared with {name}, which differs in {}.",
            keys.join(", ")
        )
    })
}

/// The critical path of a job.
struct Job<'a> {
    run: &'a RunSource,
    job: &'a Value,
}

/// All times have one unit, so that they can be sorted.
fn us(of: &Value) -> String {
    format!("{:.3}", of.as_f64().unwrap_or(0.0) * 1e-6)
}

fn text(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or_default().to_owned()
}

impl Job<'_> {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.parts()];
        tables.push(self.by("ranks", "rank", |rank| rank["rank"].to_string()));
        tables.push(self.by("collectives", "collective", |one| text(one, "name")));
        tables.push(self.by("regions", "region", |one| text(one, "name")));
        tables.extend([self.culprits(), self.links()]);
        tables
    }

    fn list(&self, key: &str) -> &[Value] {
        self.job[key].as_array().map_or(&[], Vec::as_slice)
    }

    fn caption(&self, what: &str, end: &str) -> String {
        let name = text(self.job, "job");
        format!("{}{end}: {}", for_job(what, &name), self.run.label)
    }

    /// The parts that take time anywhere on the path.
    fn used(&self) -> impl Iterator<Item = Part> + '_ {
        let used = |part: &Part| self.job["parts"][part.key()].as_f64() > Some(0.0);
        Part::ALL.into_iter().filter(used)
    }

    fn share(&self, ps: &Value) -> String {
        let total = self.job["total_ps"].as_f64().unwrap_or(0.0).max(1.0);
        format!("{:.1} %", 100.0 * ps.as_f64().unwrap_or(0.0) / total)
    }

    /// The runs that this one is compared with, and the differences of the job.
    fn others(&self) -> Vec<(String, &Value)> {
        let compared = self.run.comparison["jobs"].as_array().into_iter().flatten();
        let compared = compared.filter(|job| job["job"] == self.job["job"]);
        let head = |than: &str| format!("more than in {than} (µs)");
        let baseline = (head("the baseline"), &self.job["against_baseline"]);
        let others = compared.map(|job| (head(compared_name(self.run)), &job["difference"]));
        let all = std::iter::once(baseline).chain(others);
        all.filter(|(_, other)| other.is_object()).collect()
    }

    /// The whole path, and the difference of each part from the baseline and from the compared run.
    fn parts(&self) -> Table {
        let others = self.others();
        let row = |name: &str, of: &dyn Fn(&Value) -> Value| {
            let ps = of(self.job);
            let mut row = vec![name.to_owned(), us(&ps), self.share(&ps)];
            row.extend(others.iter().map(|(_, other)| us(&of(other))));
            row
        };
        let takes = |of: &Value, part: Part| {
            let ps = of["parts"][part.key()].as_f64();
            ps.is_some_and(|ps| ps != 0.0)
        };
        let anywhere = |part: &Part| {
            takes(self.job, *part) || others.iter().any(|(_, other)| takes(other, *part))
        };
        let parts = Part::ALL.into_iter().filter(anywhere);
        let mut rows: Vec<Vec<String>> = parts
            .map(|part| row(part.words(), &|of| of["parts"][part.key()].clone()))
            .collect();
        rows.push(row("in all", &|of| of["total_ps"].clone()));
        let late = &self.job["late_partners_ps"];
        let mut within = vec![
            "while a later rank already waited".to_owned(),
            us(late),
            self.share(late),
        ];
        within.extend(others.iter().map(|_| String::new()));
        rows.push(within);
        let mut head = texts(&["for", "time (µs)", "part of the whole"]);
        head.extend(others.into_iter().map(|(head, _)| head));
        Table {
            caption: self.caption("Time on the critical path", ""),
            head,
            rows,
        }
    }

    /// The parts of each entry of a list; the entries with the longest time come first.
    fn by(&self, key: &str, what: &str, name: impl Fn(&Value) -> String) -> Table {
        let whole = |of: &Value| -> f64 {
            let parts = Part::ALL.into_iter();
            parts
                .filter_map(|part| of["parts"][part.key()].as_f64())
                .sum()
        };
        let mut all: Vec<&Value> = self.list(key).iter().collect();
        // Stable: equal ones stay in the order of the result.
        all.sort_by(|a, b| whole(b).total_cmp(&whole(a)));
        let row = |of: &&Value| {
            let time = Value::from(whole(of));
            let mut row = vec![name(of), us(&time), self.share(&time)];
            row.extend(self.used().map(|part| us(&of["parts"][part.key()])));
            row
        };
        let rows: Vec<Vec<String>> = all.iter().take(ROWS).map(row).collect();
        let mut head = texts(&[what, "time (µs)", "part of the whole"]);
        head.extend(self.used().map(|part| format!("{} (µs)", part.words())));
        Table {
            caption: self.caption("Time on the critical path", &format!(", by {what}")),
            head,
            rows,
        }
    }

    /// The senders of packets in the way, and the differences of their times, also of the senders that only another run
    /// has.
    fn culprits(&self) -> Table {
        let others = self.others();
        let list = |of: &Value| of["culprits"].as_array().cloned().unwrap_or_default();
        let differences: Vec<Vec<Value>> = others.iter().map(|(_, other)| list(other)).collect();
        let name = |culprit: &Value| format!("{}, {}", text(culprit, "from"), text(culprit, "sl"));
        let of = |all: &[Value], named: &str| {
            let found = all.iter().find(|culprit| name(culprit) == named);
            found.map_or(Value::from(0), |culprit| culprit["ps"].clone())
        };
        let own = list(self.job);
        let mut names: Vec<String> = own.iter().map(name).collect();
        for culprit in differences.iter().flatten() {
            if !names.contains(&name(culprit)) {
                names.push(name(culprit));
            }
        }
        let row = |named: &String| {
            let ps = of(&own, named);
            let mut row = vec![named.clone(), us(&ps), self.share(&ps)];
            row.extend(differences.iter().map(|all| us(&of(all, named))));
            row
        };
        let mut head = texts(&["packets of", "time (µs)", "part of the whole"]);
        head.extend(others.iter().map(|(head, _)| head.clone()));
        Table {
            caption: self.caption("Senders of packets in front of messages", ""),
            head,
            rows: names.iter().take(ROWS).map(row).collect(),
        }
    }

    fn links(&self) -> Table {
        let end = |link: &Value, named: &str, end: &str| {
            text(link, if link[named].is_string() { named } else { end })
        };
        let row = |link: &Value| {
            let waits = Part::WAITS.map(|part| &link[part.key()]);
            let all: f64 = waits.iter().filter_map(|ps| ps.as_f64()).sum();
            let name = format!(
                "{} → {}",
                end(link, "from_name", "from"),
                end(link, "to_name", "to")
            );
            let mut row = vec![name, us(&all.into())];
            row.extend(waits.map(us));
            row
        };
        let mut head = texts(&["link", "in all (µs)"]);
        head.extend(Part::WAITS.map(|part| format!("{} (µs)", part.words())));
        Table {
            caption: self.caption("Waits on the critical path", ", by link"),
            head,
            rows: self.list("links").iter().take(ROWS).map(row).collect(),
        }
    }
}
