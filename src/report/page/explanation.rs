//! Tables about critical paths: the use of the time, of the whole, by rank and by collective; and the senders of the
//! packets that delayed it, and where (`docs/reference/explain.md`).

use super::section::Table;
use super::tables::{ROWS, texts};
use crate::explain::Part;
use crate::report::source::RunSource;
use serde_json::Value;

/// The tables of all jobs of a run that has an explanation.
pub(super) fn tables(run: &RunSource) -> Vec<Table> {
    let jobs = run.result["explanation"].as_array().into_iter().flatten();
    let mut tables: Vec<Table> = jobs.flat_map(|job| Job { run, job }.tables()).collect();
    tables.retain(|table| !table.rows.is_empty());
    tables
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
        tables.extend([self.culprits(), self.links()]);
        tables
    }

    fn list(&self, key: &str) -> &[Value] {
        self.job[key].as_array().map_or(&[], Vec::as_slice)
    }

    fn caption(&self, what: &str) -> String {
        let name = text(self.job, "job");
        format!("{what} {name}: {}", self.run.label)
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
    fn others(&self) -> Vec<(&'static str, &Value)> {
        let compared = self.run.comparison["jobs"].as_array().into_iter().flatten();
        let compared = compared.filter(|job| job["job"] == self.job["job"]);
        let baseline = (
            "more than in the baseline (µs)",
            &self.job["against_baseline"],
        );
        let others = compared.map(|job| ("more than in the compared run (µs)", &job["difference"]));
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
        head.extend(others.iter().map(|(head, _)| (*head).to_owned()));
        Table {
            caption: self.caption("What the time on the critical path was for, in"),
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
            caption: self.caption(&format!("The critical path by {what}, in")),
            head,
            rows,
        }
    }

    fn culprits(&self) -> Table {
        let row = |culprit: &Value| {
            let name = format!("{}, {}", text(culprit, "from"), text(culprit, "sl"));
            vec![name, us(&culprit["ps"]), self.share(&culprit["ps"])]
        };
        let name = text(self.job, "job");
        Table {
            caption: format!("Whose packets {name} waited behind: {}", self.run.label),
            head: texts(&["packets of", "time (µs)", "part of the whole"]),
            rows: self.list("culprits").iter().take(ROWS).map(row).collect(),
        }
    }

    fn links(&self) -> Table {
        let row = |link: &Value| {
            vec![
                format!("{} → {}", text(link, "from"), text(link, "to")),
                us(&link["queueing_ps"]),
                us(&link["credit_stalls_ps"]),
                us(&link["waking_links_ps"]),
                us(&link["throttling_ps"]),
            ]
        };
        Table {
            caption: self.caption("Where messages of the critical path waited, in"),
            head: texts(&[
                "link",
                "queueing (µs)",
                "credit stalls (µs)",
                "waking links (µs)",
                "throttling (µs)",
            ]),
            rows: self.list("links").iter().take(ROWS).map(row).collect(),
        }
    }
}
