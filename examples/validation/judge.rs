//! Verdicts on rows, and the tables of `docs/evidence/validation.md` and `docs/log/readings.md`.

use crate::data::{Asked, Cell, Data, Reading};
use crate::grid::{Allocator, Packets, name};
use crate::{latencies, rows};
use std::fmt::{self, Display, Write as _};

/// The outcome of a row in a reading.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// For the table.
    pub obtained: String,
    /// Fewest seeds of its measurements.
    pub seeds: usize,
    pub holds: bool,
}

/// Judges the measurements of a row: the text for the table, and whether the row holds.
type Judge = Box<dyn Fn(&[Cell<'_>]) -> (String, bool)>;

/// A published sentence or number.
pub struct Row {
    /// Publication and section.
    pub source: &'static str,
    pub statement: String,
    pub published: String,
    /// The readings were compared by this row before one was chosen.
    pub seen: bool,
    pub asked: Vec<Asked>,
    pub judge: Judge,
}

impl Row {
    /// A row about measurements; what is published is `so` for a sentence.
    pub fn new(
        source: &'static str,
        (statement, published): (impl Into<String>, impl Into<String>),
        seen: bool,
        asked: impl Into<Vec<Asked>>,
        judge: impl Fn(&[Cell<'_>]) -> (String, bool) + 'static,
    ) -> Self {
        Self {
            source,
            statement: statement.into(),
            published: published.into(),
            seen,
            asked: asked.into(),
            judge: Box::new(judge),
        }
    }

    /// The outcome in a reading; `None` where the fabrics were not run. A row about a fabric that came to a
    /// deadlock does not hold.
    fn outcome(&self, data: &Data, reading: Reading) -> Option<Outcome> {
        let cells = self.asked.iter().map(|&asked| data.cell(reading, asked));
        let cells: Vec<Cell<'_>> = cells.collect::<Option<_>>()?;
        let seeds = cells.iter().map(Cell::seeds).min().unwrap_or(0);
        let (obtained, holds) = if cells.iter().any(Cell::is_deadlocked) {
            ("deadlock".to_owned(), false)
        } else {
            (self.judge)(&cells)
        };
        Some(Outcome {
            obtained,
            seeds,
            holds,
        })
    }

    /// The verdict; `None` if the chosen reading was not run.
    pub fn verdict(&self, data: &Data) -> Option<Verdict> {
        let holds = |reading| Some(self.outcome(data, reading)?.holds);
        Some(if !holds(Reading::CHOSEN)? {
            Verdict::NotMet
        } else if readings().all(|reading| holds(reading) == Some(true)) {
            Verdict::Met
        } else if self.seen {
            Verdict::WithReading
        } else {
            Verdict::Predicted
        })
    }
}

/// The four classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Holds in every reading.
    Met,
    /// Holds in the chosen reading, and was seen when it was chosen.
    WithReading,
    /// Holds in the chosen reading, and was not seen when it was chosen.
    Predicted,
    NotMet,
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Met => "met",
            Self::WithReading => "met with the chosen reading",
            Self::Predicted => "predicted",
            Self::NotMet => "**not met**",
        })
    }
}

/// All readings, in the order of the columns.
pub fn readings() -> impl Iterator<Item = Reading> {
    let allocators = [Allocator::Pipelined, Allocator::Rounds, Allocator::Serial];
    let packets = [Packets::Table9, Packets::Small];
    allocators
        .into_iter()
        .flat_map(move |allocator| packets.map(|packets| Reading { allocator, packets }))
}

/// All rows.
pub fn all() -> Vec<Row> {
    [rows::all(), latencies::all()]
        .into_iter()
        .flatten()
        .collect()
}

/// The verdicts, and what each reading gives, as Markdown.
pub fn page(data: &Data) -> String {
    let rows = all();
    let mut text = String::from("| source | row | published | obtained | seeds | |\n");
    text += "|---|---|---|---|---|---|\n";
    for row in &rows {
        let Some((verdict, outcome)) = row.verdict(data).zip(row.outcome(data, Reading::CHOSEN))
        else {
            continue;
        };
        let Row {
            source,
            statement,
            published,
            ..
        } = row;
        let Outcome {
            obtained, seeds, ..
        } = outcome;
        let _ = writeln!(
            text,
            "| {source} | {statement} | {published} | {obtained} | {seeds} | {verdict} |"
        );
    }
    text.push('\n');
    text + &by_reading(&rows, data)
}

/// The outcome in each reading; ✗ where the row does not hold.
fn by_reading(rows: &[Row], data: &Data) -> String {
    let mut text = String::from("| row | published |");
    for Reading { allocator, packets } in readings() {
        let _ = write!(text, " {}, {} |", name(allocator), name(packets));
    }
    text += "\n|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        let cells: Vec<String> = readings()
            .map(|reading| match row.outcome(data, reading) {
                Some(of) if of.holds => of.obtained,
                Some(of) => format!("{} ✗", of.obtained),
                None => "–".to_owned(),
            })
            .collect();
        // Rows of the chosen reading alone are in the table above.
        if cells.iter().filter(|cell| *cell != "–").count() < 2 {
            continue;
        }
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            row.statement,
            row.published,
            cells.join(" | ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Run;
    use crate::fabric::Fabric;
    use crate::grid::{Scheduler, Setting};
    use std::path::Path;

    /// The tables of the pages are those of the results beside them: each line is in one of the pages.
    #[test]
    fn documented_verdicts_are_those_of_the_results() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let data = Data::read(&docs.join("evidence/validation")).unwrap();
        let read = |page: &str| std::fs::read_to_string(docs.join(page)).unwrap();
        let shown = ["evidence/validation.md", "log/readings.md"].map(read);
        let lines = page(&data);
        assert!(lines.lines().count() > 60, "{lines}");
        for line in lines.lines() {
            let mut of_pages = shown.iter().flat_map(|page| page.lines());
            assert!(of_pages.any(|of| of == line), "in neither page: {line}");
        }
    }

    /// The verdict on a row that asks for 0.7 of the router, where the allocators accept what `accepted` says.
    fn verdict(seen: bool, accepted: [(Allocator, f64); 3]) -> Option<Verdict> {
        let asked = Asked::full(Fabric::Uniform, Scheduler::RrVl);
        let row = Row::new("", ("", ""), seen, [asked], |cells| {
            let accepted = cells[0].accepted();
            (accepted.text(1), accepted.mean == 0.7)
        });
        let runs = accepted.map(|(allocator, accepted)| Run {
            setting: Setting {
                fabric: asked.fabric,
                allocator,
                packets: Packets::Table9,
                scheduler: asked.scheduler,
                trunks: asked.trunks,
                load: asked.load,
            },
            accepted,
            levels: Vec::new(),
        });
        row.verdict(&Data {
            runs: runs.to_vec(),
        })
    }

    #[test]
    fn a_verdict_says_what_it_depends_on() {
        let of = |seen, [pipelined, rounds, serial]: [f64; 3]| {
            let pipelined = (Allocator::Pipelined, pipelined);
            let others = [(Allocator::Rounds, rounds), (Allocator::Serial, serial)];
            verdict(seen, [pipelined, others[0], others[1]])
        };
        assert_eq!(of(true, [0.7, 0.7, 0.7]), Some(Verdict::Met));
        assert_eq!(of(true, [0.9, 0.7, 0.7]), Some(Verdict::WithReading));
        assert_eq!(of(false, [0.9, 0.7, 0.9]), Some(Verdict::Predicted));
        assert_eq!(of(false, [0.7, 0.9, 0.7]), Some(Verdict::NotMet));
        assert_eq!(of(true, [0.7, f64::NAN, 0.7]), Some(Verdict::NotMet));
    }
}
