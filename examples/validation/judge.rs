//! The tables of verdicts in `docs/evidence/validation.md` and `docs/log/readings.md`.

use crate::data::{Data, Reading};
use crate::grid::name;
use crate::interference::{self, Studies};
use crate::row::{Outcome, Row, Verdict, readings};
use crate::{latencies, loads, opasim, rows};
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::path::Path;

/// Rows about one thing.
struct Group {
    name: &'static str,
    rows: Vec<Row>,
}

/// The rows of the page, followed by the rows of the log.
fn groups() -> [Group; 4] {
    let group = |name, rows| Group { name, rows };
    [
        group("004 §3", opasim::all()),
        group("001 §4.2.3, throughput", rows::throughput()),
        group("001 §4.2.3, shares and causes", rows::shares()),
        group(
            "001 §4.2.3, latencies",
            [latencies::all(), loads::all()]
                .into_iter()
                .flatten()
                .collect(),
        ),
    ]
}

/// Groups on the page.
const ON_PAGE: usize = 2;

/// A table of a page, between two comments that name it.
#[derive(Debug)]
pub struct Table {
    /// Below `docs`.
    pub page: &'static str,
    pub name: &'static str,
    pub text: String,
}

/// All tables.
pub fn tables(data: &Data, studies: &Studies) -> Vec<Table> {
    const PAGE: &str = "evidence/validation.md";
    const LOG: &str = "log/readings.md";
    let table = |page, name, text| Table { page, name, text };
    let groups = groups();
    let (page, log) = groups.split_at(ON_PAGE);
    vec![
        table(PAGE, "counts", counts(&groups, data, studies)),
        table(PAGE, "verdicts", verdicts(page, data)),
        table(PAGE, "interference", interference::table(studies)),
        table(LOG, "interference", interference::details(studies)),
        table(LOG, "verdicts", verdicts(log, data)),
        table(LOG, "readings", by_reading(&groups, data)),
    ]
}

impl Table {
    /// Returns `text` with this table in place of the one that it has.
    pub fn replaced(&self, text: &str) -> Result<String> {
        let begin = format!("<!-- judged: {} -->\n", self.name);
        let missing = || format!("docs/{} has no `{}`", self.page, begin.trim_end());
        let (before, rest) = text.split_once(&begin).with_context(missing)?;
        let (_, after) = rest.split_once("<!-- end -->").with_context(missing)?;
        Ok(format!("{before}{begin}{}<!-- end -->{after}", self.text))
    }

    /// Writes this table into its page.
    pub fn write(&self, docs: &Path) -> Result<()> {
        let page = docs.join(self.page);
        let text = std::fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        Ok(std::fs::write(&page, self.replaced(&text)?)?)
    }
}

/// How many rows of each group have which verdict.
fn counts(groups: &[Group], data: &Data, studies: &Studies) -> String {
    let mut text = String::from("| rows |");
    for verdict in Verdict::ALL {
        let _ = write!(text, " {verdict} |");
    }
    text += "\n|---|---|---|---|---|\n";
    let mut line = |name: &str, verdicts: &[Verdict]| {
        let of = |verdict: &Verdict| verdicts.iter().filter(|of| *of == verdict).count();
        let counts = Verdict::ALL
            .each_ref()
            .map(|verdict| of(verdict).to_string());
        let _ = writeln!(text, "| {name} | {} |", counts.join(" | "));
    };
    for Group { name, rows } in groups {
        let verdicts: Vec<Verdict> = rows.iter().filter_map(|row| row.verdict(data)).collect();
        line(name, &verdicts);
    }
    line("001 §4.3", &interference::verdicts(studies));
    text
}

fn verdicts(groups: &[Group], data: &Data) -> String {
    let mut text = String::from("| row | published | obtained | seeds | |\n");
    text += "|---|---|---|---|---|\n";
    for row in groups.iter().flat_map(|group| &group.rows) {
        let outcome = row.outcome(data, Reading::CHOSEN);
        let Some((verdict, outcome)) = row.verdict(data).zip(outcome) else {
            continue;
        };
        let Row {
            statement,
            published,
            ..
        } = row;
        let Outcome {
            obtained, seeds, ..
        } = outcome;
        let _ = writeln!(
            text,
            "| {statement} | {published} | {obtained} | {seeds} | {verdict} |"
        );
    }
    text
}

/// The outcome in each reading; ✗ where the row does not hold.
fn by_reading(groups: &[Group], data: &Data) -> String {
    let mut text = String::from("| row | published |");
    for of in readings() {
        let _ = write!(text, " {}, {} |", name(of.allocator), name(of.packets));
    }
    text += " seeds |\n|---|---|---|---|---|---|---|---|---|\n";
    for row in groups.iter().flat_map(|group| &group.rows) {
        let outcomes: Vec<_> = readings().map(|of| row.outcome(data, of)).collect();
        // Rows of the chosen reading alone are in the other tables.
        if outcomes.iter().flatten().count() < 2 {
            continue;
        }
        let cells: Vec<String> = outcomes
            .iter()
            .map(|outcome| match outcome {
                Some(of) if of.holds => of.obtained.clone(),
                Some(of) => format!("{} ✗", of.obtained),
                None => "–".to_owned(),
            })
            .collect();
        let seeds: Vec<String> = outcomes
            .iter()
            .map(|outcome| {
                outcome
                    .as_ref()
                    .map_or("–".to_owned(), |of| of.seeds.to_string())
            })
            .collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            row.statement,
            row.published,
            cells.join(" | "),
            seeds.join(", ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the tables on the pages with the verdicts on the CSV files beside them; `FLITWISE_BLESS=1` writes the tables.
    #[test]
    fn documented_verdicts_are_those_of_the_results() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let data = Data::read(&docs.join("evidence/validation")).unwrap();
        let studies = Studies::read(&docs.join("evidence/interference")).unwrap();
        let tables = tables(&data, &studies);
        let lines = tables.iter().flat_map(|table| table.text.lines()).count();
        assert!(lines > 100, "{lines} lines");
        for table in tables {
            if std::env::var_os("FLITWISE_BLESS").is_some() {
                table.write(&docs).unwrap();
            }
            let page = std::fs::read_to_string(docs.join(table.page)).unwrap();
            let replaced = table.replaced(&page).unwrap();
            let wrong = page.lines().zip(replaced.lines()).find(|(is, be)| is != be);
            assert!(page == replaced, "{}: {wrong:?}", table.page);
        }
    }
}
