//! A matrix of shades.

use super::canvas::{Anchor, Paint, STEPS, Stroke, Style};
use super::frame::{Frame, MARGIN, TEXT};
use super::text::width_of;
use flitwise_base::units::number;

/// A matrix.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matrix {
    /// The quantity of the shades, with its unit.
    pub measure: String,
    /// The name of the rows' kind.
    pub rows: String,
    /// The name of the columns' kind.
    pub columns: String,
    /// Names of the rows and of the columns.
    pub names: Vec<String>,
    /// The cells that are not 0.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Its row.
    pub row: usize,
    /// Its column.
    pub column: usize,
    /// How much; above 0.
    pub value: f64,
}

/// Most cells that have tooltips: a page with more would be large.
const MOST_TOOLTIPS: usize = 600;

impl Matrix {
    pub(super) fn draw(&self, frame: &mut Frame) {
        let values = || self.cells.iter().map(|cell| cell.value);
        let most = values().fold(0.0, f64::max);
        let least = values().fold(f64::INFINITY, f64::min).min(most);
        frame.shades(&self.measure, [&number(least), &number(most)]);
        let count = self.names.len().max(1) as f64;
        let names = self.names.iter().map(|name| width_of(name, TEXT - 1.0));
        let left = names.fold(10.0, f64::max).min(90.0) + 26.0;
        let room = (frame.width - 2.0 * MARGIN - left - 10.0).min(560.0);
        let side = (room / count).min(28.0);
        let (x, y) = (MARGIN + left, frame.y + 34.0);
        let end = side * count;
        let mut shades: [Vec<[f64; 4]>; STEPS] = Default::default();
        for cell in &self.cells {
            let part = shade(cell.value, least, most);
            let at = [x + side * cell.column as f64, y + side * cell.row as f64];
            let gap = if side > 6.0 { 1.0 } else { 0.0 };
            let box_ = [at[0], at[1], side - gap, side - gap];
            if self.cells.len() <= MOST_TOOLTIPS {
                frame
                    .canvas
                    .rect(box_, Paint::Shade(part), Some(&self.says(cell)));
            } else {
                shades[part].push(box_);
            }
        }
        for (part, boxes) in shades.iter().enumerate() {
            frame.canvas.rects(boxes, Paint::Shade(part));
        }
        frame
            .canvas
            .frame([x, y, end, end], Stroke::new(Paint::Muted, 1.0));
        let every = (15.0 / side).ceil().max(1.0) as usize;
        let wide = self
            .names
            .iter()
            .map(|name| width_of(name, TEXT))
            .fold(0.0, f64::max);
        let apart = ((wide + 5.0) / side).ceil().max(1.0) as usize;
        for (at, name) in self.names.iter().enumerate() {
            let middle = side * (at as f64 + 0.5);
            let style = Style::new(TEXT - 1.0, Paint::Ink);
            if at % every == 0 {
                let style = style.anchored(Anchor::End);
                frame.canvas.text([x - 4.0, y + middle + 4.0], style, name);
            }
            if at % apart == 0 {
                let style = style.anchored(Anchor::Middle);
                frame.canvas.text([x + middle, y - 4.0], style, name);
            }
        }
        let style = Style::new(TEXT, Paint::Muted).anchored(Anchor::Middle);
        frame
            .canvas
            .text([x + end / 2.0, y - 20.0], style, &self.columns);
        let upright = style.upright();
        frame
            .canvas
            .text([MARGIN + 9.0, y + end / 2.0], upright, &self.rows);
        frame.y = y + end + 4.0;
    }

    fn says(&self, cell: &Cell) -> String {
        let name = |at: usize| self.names.get(at).map_or("", String::as_str);
        let (row, column) = (name(cell.row), name(cell.column));
        format!("{row} → {column}: {}", number(cell.value))
    }
}

/// The shade of a value between two others, on a logarithmic scale: what ranks send to each other differs by orders.
fn shade(value: f64, least: f64, most: f64) -> usize {
    let part = if most > least && least > 0.0 {
        (value / least).ln() / (most / least).ln()
    } else {
        1.0
    };
    let last = STEPS - 1;
    // The palest shade is for nothing at all.
    1 + ((part * last as f64) as usize).min(last - 1)
}
