//! Means over the seeds.

use crate::runs::Row;
use flitwise::results::interval_95;
use std::fmt::Write;

/// What is printed of each service level.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Quantity {
    /// Part of all flits delivered, in percent.
    Share,
    /// End-to-end latency in ns.
    EndToEnd,
    /// Network latency in ns.
    Network,
}

impl Quantity {
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            Self::Share => Some(100.0 * row.sl_share),
            Self::EndToEnd => row.end_to_end_ns,
            Self::Network => row.network_ns,
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Share => "share, %",
            Self::EndToEnd => "end to end, ns",
            Self::Network => "network, ns",
        }
    }
}

/// The rows of one measurement, a row per seed and service level.
struct Cell<'a> {
    /// Configuration, settings and load.
    of: [&'a str; 3],
    rows: Vec<&'a Row>,
}

fn cells(rows: &[Row]) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    for row in rows {
        let of = [&*row.config, &*row.settings, &*row.load];
        match cells.iter_mut().find(|cell| cell.of == of) {
            Some(cell) => cell.rows.push(row),
            None => cells.push(Cell {
                of,
                rows: vec![row],
            }),
        }
    }
    cells
}

/// Mean ± half the width of the interval over the seeds; with one seed, its value.
fn mean(values: &[f64], digits: usize) -> String {
    match (interval_95(values), values) {
        (Some(of), _) => format!("{:.digits$} ± {:.digits$}", of.mean, of.half_width),
        (None, [one]) => format!("{one:.digits$}"),
        (None, _) => "-".to_owned(),
    }
}

/// A line per configuration, settings and load, as Markdown.
pub fn table(rows: &[Row], quantity: Quantity) -> String {
    let mut levels: Vec<&str> = Vec::new();
    for row in rows {
        if !levels.contains(&&*row.sl) {
            levels.push(&row.sl);
        }
    }
    // Files are sorted by name; this is Hiperion's order.
    levels.sort_by_key(|sl| {
        ["VO", "VI", "CL", "BE", "BK"]
            .iter()
            .position(|of| of == sl)
    });
    let mut text = String::from(
        "| configuration | settings | load | seeds | steady | warm-up, us | accepted |",
    );
    for level in &levels {
        let _ = write!(text, " {level} {} |", quantity.unit());
    }
    let _ = writeln!(text, "\n|{}", "---|".repeat(7 + levels.len()));
    for cell in cells(rows) {
        let of = |sl: &str| -> Vec<&Row> {
            let rows = cell.rows.iter().copied();
            rows.filter(|row| row.sl == sl).collect()
        };
        let first = of(&cell.rows[0].sl);
        let steady = first.iter().filter(|row| row.steady == "true").count();
        let warm_up = first.iter().map(|row| row.warm_up_us);
        let (least, most) = (
            warm_up.clone().fold(f64::MAX, f64::min),
            warm_up.fold(0.0, f64::max),
        );
        let accepted: Vec<f64> = first.iter().map(|row| row.accepted).collect();
        let [config, settings, load] = cell.of;
        let _ = write!(
            text,
            "| {config} | {settings} | {load} | {} | {steady} | {least:.0}–{most:.0} | {} |",
            first.len(),
            mean(&accepted, 4),
        );
        for level in &levels {
            let values: Option<Vec<f64>> = of(level).iter().map(|row| quantity.of(row)).collect();
            let _ = write!(text, " {} |", mean(&values.unwrap_or_default(), 1));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables in the log match the results beside it.
    #[test]
    fn documented_tables_are_those_of_the_results() {
        let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let log = std::fs::read_to_string(docs.join("log/validation.md")).unwrap();
        let mut files = 0;
        for entry in std::fs::read_dir(docs.join("validation")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|of| of != "csv") {
                continue;
            }
            files += 1;
            let rows = crate::runs::read(&path).unwrap();
            let quantities = [Quantity::Share, Quantity::EndToEnd, Quantity::Network];
            let shown = |of: &Quantity| table(&rows, *of).lines().all(|line| log.contains(line));
            assert!(quantities.iter().any(shown), "{}", path.display());
        }
        assert!(files > 0);
    }

    #[test]
    fn a_line_has_the_mean_over_the_seeds() {
        let row = |accepted| Row {
            config: "c".into(),
            settings: "a=1".into(),
            load: "1".into(),
            sl: "VO".into(),
            warm_up_us: 20.0,
            steady: "true".into(),
            accepted,
            sl_share: 1.0,
            end_to_end_ns: None,
            network_ns: None,
        };
        let text = table(&[row(0.5), row(0.7)], Quantity::Share);
        let line = "| c | a=1 | 1 | 2 | 2 | 20–20 | 0.6000 ± 1.2706 | 100.0 ± 0.0 |";
        assert_eq!(text.lines().nth(2), Some(line));
        let text = table(&[row(0.5)], Quantity::Network);
        let line = "| c | a=1 | 1 | 1 | 1 | 20–20 | 0.5000 | - |";
        assert_eq!(text.lines().nth(2), Some(line));
    }
}
