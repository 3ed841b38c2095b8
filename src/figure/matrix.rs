//! A matrix of shades.

use super::canvas::{Anchor, Paint, Part, STEPS, Stroke, Style, tenths};
use super::frame::{self, Frame, MARGIN, TEXT};
use super::text::{fitted, width_of};
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
    /// Shades are even steps of the values; otherwise of their logarithms.
    pub linear: bool,
    /// Cells have their values in them where there is room.
    pub written: bool,
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
    /// Half the 95 % interval of `value`, if it is known.
    pub half: Option<f64>,
}

/// Most cells that have tooltips: a page with more would be large.
const MOST_TOOLTIPS: usize = 600;
/// Widest cell, and widest one that has its value in it.
const SIDE: f64 = 28.0;
const WRITTEN_SIDE: f64 = 64.0;
/// Widest name of a row or column.
const NAME: f64 = 110.0;
/// Size of names and written values.
const SMALL: f64 = TEXT - 1.0;

/// Where the cells of a matrix are.
struct Cells {
    x: f64,
    y: f64,
    side: f64,
    /// The values of the palest and the darkest shade.
    ends: [f64; 2],
}

impl Cells {
    fn area(&self, cell: &Cell) -> [f64; 4] {
        let side = self.side;
        let at = [cell.column, cell.row].map(|at| side * at as f64);
        let gap = if side > 6.0 { 1.0 } else { 0.0 };
        [self.x + at[0], self.y + at[1], side - gap, side - gap]
    }
}

impl Matrix {
    pub(super) fn draw(&self, frame: &mut Frame) {
        let values = || self.cells.iter().map(|cell| cell.value);
        let most = values().fold(0.0, f64::max);
        let least = values().fold(f64::INFINITY, f64::min).min(most);
        frame.shades(&self.measure, [&number(least), &number(most)]);
        let count = self.names.len().max(1) as f64;
        let names = self.names.iter().map(|name| width_of(name, SMALL));
        let widest = names.fold(10.0, f64::max).min(NAME);
        let left = widest + 26.0;
        let room = (frame.width - 2.0 * MARGIN - left - 10.0).min(560.0);
        let widest_side = if self.written { WRITTEN_SIDE } else { SIDE };
        let side = (room / count).min(widest_side);
        // Names that are wider than their columns read upwards, unless there are too many anyway.
        let upright = self.written && widest > side - 4.0;
        let head = if upright { widest + 6.0 } else { 14.0 };
        let cells = Cells {
            x: MARGIN + left,
            y: frame.y + head + 20.0,
            side,
            ends: [least, most],
        };
        self.draw_cells(frame, &cells);
        self.draw_names(frame, &cells, upright);
        let (Cells { x, y, .. }, end) = (cells, side * count);
        frame
            .canvas
            .frame([x, y, end, end], Stroke::new(Paint::Muted, 1.0));
        let style = Style::new(TEXT, Paint::Muted).anchored(Anchor::Middle);
        // The label of narrow columns may be wider than they are.
        let half = width_of(&self.columns, TEXT) / 2.0;
        let middle = (x + end / 2.0).max(MARGIN + half);
        frame
            .canvas
            .text([middle, y - head - 6.0], style, &self.columns);
        let upright = style.upright();
        let middle = y + end / 2.0;
        frame
            .canvas
            .text([MARGIN + 9.0, middle], upright, &self.rows);
        // The label of few rows may be longer than they are high.
        let half = width_of(&self.rows, TEXT) / 2.0;
        frame.y = (y + end + 4.0).max(middle + half);
    }

    fn draw_cells(&self, frame: &mut Frame, cells: &Cells) {
        let mut shades: [Vec<[f64; 4]>; STEPS] = Default::default();
        let few = self.cells.len() <= MOST_TOOLTIPS;
        if !few {
            frame.canvas.begin(self.part(cells));
        }
        for cell in &self.cells {
            let part = self.shade(cell.value, cells.ends);
            let area = cells.area(cell);
            if few {
                let paint = Paint::Shade(part);
                frame.canvas.rect(area, paint, Some(&self.says(cell)));
            } else {
                shades[part].push(area);
            }
            if self.written && cells.side >= 30.0 {
                let style = Style::new(SMALL, Paint::OnShade(part)).anchored(Anchor::Middle);
                let [x, y, w, h] = area;
                let text = written(cell.value);
                frame
                    .canvas
                    .text([x + w / 2.0, y + h / 2.0 + 4.0], style, &text);
            }
        }
        for (part, boxes) in shades.iter().enumerate() {
            frame.canvas.rects(boxes, Paint::Shade(part));
        }
        if !few {
            frame.canvas.end();
        }
    }

    /// The values of all cells, row by row, for cells that are too many for tooltips.
    fn part(&self, cells: &Cells) -> Part {
        let count = self.names.len();
        let mut values = vec![vec![String::new(); count]; count];
        for cell in &self.cells {
            let row = values.get_mut(cell.row);
            if let Some(place) = row.and_then(|row| row.get_mut(cell.column)) {
                *place = number(cell.value);
            }
        }
        let rows: Vec<String> = values.iter().map(|row| row.join(",")).collect();
        vec![
            ("cells", rows.join(";")),
            ("from", format!("{} {}", tenths(cells.x), tenths(cells.y))),
            ("side", format!("{}", cells.side)),
            (
                "names",
                frame::listed(self.names.iter().map(String::as_str)),
            ),
            ("measure", self.measure.clone()),
        ]
    }

    fn draw_names(&self, frame: &mut Frame, cells: &Cells, upright: bool) {
        let Cells { x, y, side, .. } = *cells;
        let every = (15.0 / side).ceil().max(1.0) as usize;
        let wide = self.names.iter().map(|name| width_of(name, TEXT));
        let wide = if upright {
            10.0
        } else {
            wide.fold(0.0, f64::max)
        };
        let apart = ((wide + 5.0) / side).ceil().max(1.0) as usize;
        for (at, name) in self.names.iter().enumerate() {
            let middle = side * (at as f64 + 0.5);
            let style = Style::new(SMALL, Paint::Ink);
            let name = fitted(name, SMALL, NAME);
            if at % every == 0 {
                let style = style.anchored(Anchor::End);
                frame.canvas.text([x - 4.0, y + middle + 4.0], style, &name);
            }
            if at % apart != 0 {
                continue;
            }
            if upright {
                frame
                    .canvas
                    .text([x + middle + 4.0, y - 5.0], style.upright(), &name);
            } else {
                let style = style.anchored(Anchor::Middle);
                frame.canvas.text([x + middle, y - 4.0], style, &name);
            }
        }
    }

    fn says(&self, cell: &Cell) -> String {
        let name = |at: usize| self.names.get(at).map_or("", String::as_str);
        let (row, column) = (name(cell.row), name(cell.column));
        let half = cell
            .half
            .map_or_else(String::new, |half| format!(" ± {}", number(half)));
        format!("{row} → {column}: {}{half}", number(cell.value))
    }

    /// The shade of a value. The scale is logarithmic by default: what ranks send to each other differs by orders.
    fn shade(&self, value: f64, [least, most]: [f64; 2]) -> usize {
        let part = if self.linear && most > least {
            (value - least) / (most - least)
        } else if most > least && least > 0.0 {
            (value / least).ln() / (most / least).ln()
        } else {
            1.0
        };
        let last = STEPS - 1;
        // The palest shade is for nothing at all.
        1 + ((part * last as f64) as usize).min(last - 1)
    }
}

/// A value as it fits into a cell: three significant digits.
fn written(value: f64) -> String {
    let size = value.abs();
    if !(0.01..1000.0).contains(&size) {
        return number(value);
    }
    let decimals = (2.0 - size.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{value:.decimals$}")
}
