//! A published sentence or number, and the verdict on it.

use crate::data::{Asked, Cell, Data, Reading};
use crate::grid::{Allocator, Packets};
use std::fmt::{self, Display};

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
    pub statement: String,
    pub published: String,
    /// The readings were compared by this row before one was chosen.
    seen: bool,
    asked: Vec<Asked>,
    /// The row is about the loads that the fabrics carry.
    before_saturation: bool,
    judge: Judge,
}

impl Row {
    /// A row about measurements; what is published is `so` for a sentence.
    pub fn new(
        (statement, published): (impl Into<String>, impl Into<String>),
        seen: bool,
        asked: impl Into<Vec<Asked>>,
        judge: impl Fn(&[Cell<'_>]) -> (String, bool) + 'static,
    ) -> Self {
        Self {
            statement: statement.into(),
            published: published.into(),
            seen,
            asked: asked.into(),
            before_saturation: false,
            judge: Box::new(judge),
        }
    }

    /// Leaves out full load, and the loads at which a fabric is saturated.
    pub fn before_saturation(mut self) -> Self {
        self.asked.retain(|asked| !asked.is_full());
        self.before_saturation = true;
        self
    }

    /// The measurements of a row in a reading; `None` where a fabric was not run.
    fn cells<'a>(&self, data: &'a Data, reading: Reading) -> Option<Vec<Cell<'a>>> {
        let cells = self.asked.iter().map(|&asked| data.cell(reading, asked));
        if !self.before_saturation {
            return cells.collect();
        }
        let cells: Vec<Cell<'_>> = cells.flatten().filter(Cell::is_carried).collect();
        let is_run = |asked: &Asked| {
            let mut settings = cells.iter().map(Cell::setting);
            settings.any(|of| of.fabric == asked.fabric && of.scheduler == asked.scheduler)
        };
        self.asked.iter().all(is_run).then_some(cells)
    }

    /// The outcome in a reading; `None` where the fabrics were not run. A row about a fabric that comes to a deadlock, at
    /// its load or a higher one, does not hold.
    pub fn outcome(&self, data: &Data, reading: Reading) -> Option<Outcome> {
        let cells = self.cells(data, reading)?;
        let seeds = cells.iter().map(Cell::seeds).min().unwrap_or(0);
        let (mut obtained, mut holds) = (self.judge)(&cells);
        if let Some(deadlock) = self.deadlock(data, reading) {
            holds = false;
            obtained = match deadlock {
                Deadlock::At(load) => format!("{obtained}; deadlock at {load}"),
                Deadlock::AtOnce => "deadlock".to_owned(),
            };
        }
        Some(Outcome {
            obtained,
            seeds,
            holds,
        })
    }

    /// Returns a deadlock of a measurement past saturation.
    fn deadlock(&self, data: &Data, reading: Reading) -> Option<Deadlock> {
        let of = |asked: &Asked| Some((data.deadlock(reading, *asked)?, asked.load));
        let all = self.asked.iter().filter_map(of);
        let mut all = all.filter(|_| !self.before_saturation);
        if all.clone().any(|(load, asked)| load == asked) {
            return Some(Deadlock::AtOnce);
        }
        all.next().map(|(load, _)| Deadlock::At(load))
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

/// A deadlock of a fabric that a row is about.
enum Deadlock {
    /// At the load of the row.
    AtOnce,
    /// At a higher one.
    At(f64),
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

impl Verdict {
    pub const ALL: [Self; 4] = [Self::Met, Self::WithReading, Self::Predicted, Self::NotMet];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Run;
    use crate::fabric::Fabric;
    use crate::grid::{Scheduler, Setting};

    /// The runs of the router at loads, where the allocators accept what `accepted` says.
    fn runs(loads: &[f64], accepted: [f64; 3]) -> Data {
        let asked = Asked::full(Fabric::Uniform, Scheduler::RrVl);
        let allocators = [Allocator::Pipelined, Allocator::Rounds, Allocator::Serial];
        let run = |load, (allocator, accepted)| Run {
            setting: Setting {
                fabric: asked.fabric,
                allocator,
                packets: Packets::Table9,
                scheduler: asked.scheduler,
                trunks: asked.trunks,
                load,
            },
            accepted,
            levels: Vec::new(),
        };
        let all = allocators.into_iter().zip(accepted);
        let runs = loads
            .iter()
            .flat_map(|&load| all.clone().map(move |of| run(load, of)));
        Data {
            runs: runs.collect(),
        }
    }

    /// A row that asks for 0.7 of the router at a load.
    fn row(seen: bool, load: f64) -> Row {
        let asked = Asked {
            load,
            ..Asked::full(Fabric::Uniform, Scheduler::RrVl)
        };
        Row::new(("", ""), seen, [asked], |cells| {
            let accepted = cells[0].accepted();
            (accepted.text(1), accepted.mean == 0.7)
        })
    }

    #[test]
    fn a_verdict_says_what_it_depends_on() {
        let of = |seen, accepted| row(seen, 1.0).verdict(&runs(&[1.0], accepted));
        assert_eq!(of(true, [0.7, 0.7, 0.7]), Some(Verdict::Met));
        assert_eq!(of(true, [0.9, 0.7, 0.7]), Some(Verdict::WithReading));
        assert_eq!(of(false, [0.9, 0.7, 0.9]), Some(Verdict::Predicted));
        assert_eq!(of(false, [0.7, 0.9, 0.7]), Some(Verdict::NotMet));
        assert_eq!(of(true, [0.7, f64::NAN, 0.7]), Some(Verdict::NotMet));
    }

    /// A row past saturation does not hold if a higher load deadlocks; before saturation the load is carried.
    #[test]
    fn a_deadlock_at_a_higher_load_counts_past_saturation() {
        let mut data = runs(&[1.0], [0.7; 3]);
        data.runs.extend(runs(&[1.1], [f64::NAN; 3]).runs);
        let row_of = |load| row(true, load);
        assert_eq!(row_of(1.0).verdict(&data), Some(Verdict::NotMet));
        let outcome = row_of(1.0).outcome(&data, Reading::CHOSEN);
        assert_eq!(outcome.unwrap().obtained, "0.7; deadlock at 1.1");
        data.runs.extend(runs(&[0.7, 0.8], [0.7; 3]).runs);
        let carried = |load| row_of(load).before_saturation().verdict(&data);
        assert_eq!(carried(0.7), Some(Verdict::Met));
        assert_eq!(carried(0.8), None, "saturated");
    }
}
