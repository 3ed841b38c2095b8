//! The activities of rows over time.

use super::axis::Axis;
use super::canvas::{Anchor, Paint, Style};
use super::frame::{self, Frame, MARGIN, Swatch, TEXT};
use super::scale::Scale;
use super::text::{fitted, width_of};

/// The activities of rows over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spans {
    /// The time.
    pub x: Axis,
    /// The name of the rows' kind.
    pub of: String,
    /// The names of the activities.
    pub names: Vec<String>,
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
    /// The end of the time.
    pub end: f64,
}

/// A row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its activities, in the order of time.
    pub spans: Vec<Span>,
    /// The time of each activity, by its index, where `spans` are the longest ones alone.
    pub times: Vec<f64>,
}

/// An activity from one time to another.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Span {
    /// Begin.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Index of the activity.
    pub does: usize,
}

impl Spans {
    pub(super) fn draw(&self, frame: &mut Frame) {
        frame.legend(self.names.iter().enumerate(), Swatch::Plain);
        let names = self.rows.iter().map(|row| width_of(&row.name, TEXT - 1.0));
        let left = names.fold(10.0, f64::max).min(frame.width * 0.3) + 24.0;
        let (x, y) = (MARGIN + left, frame.y + 2.0);
        let w = frame.width - x - MARGIN - 12.0;
        let pitch = (560.0 / self.rows.len().max(1) as f64).clamp(5.0, 18.0);
        let h = pitch * self.rows.len() as f64;
        let scale = Scale::exact([0.0, self.end], [x, x + w]);
        let every = (13.0 / pitch).ceil().max(1.0) as usize;
        let mut boxes: Vec<Vec<[f64; 4]>> = vec![Vec::new(); self.names.len()];
        for (at, row) in self.rows.iter().enumerate() {
            let top = y + pitch * at as f64;
            if at % every == 0 {
                let style = Style::new(TEXT - 1.0, Paint::Ink).anchored(Anchor::End);
                let name = fitted(&row.name, TEXT - 1.0, left - 22.0);
                frame
                    .canvas
                    .text([x - 5.0, top + pitch / 2.0 + 4.0], style, &name);
            }
            for span in &row.spans {
                let (from, to) = (scale.at(span.from), scale.at(span.to));
                let gap = if pitch > 7.0 { 1.5 } else { 0.4 };
                if let Some(boxes) = boxes.get_mut(span.does) {
                    boxes.push([from, top, (to - from).max(0.1), pitch - gap]);
                }
            }
        }
        let rows = self.rows.iter().map(|row| row.name.as_str());
        let mut panel = frame::zooming([x, y, w, h], [0.0, self.end], &self.x);
        panel.push(("rows", frame::listed(rows)));
        panel.push(("of", self.of.clone()));
        frame.canvas.begin(panel);
        frame.canvas.begin(vec![("plot", String::new())]);
        for (does, boxes) in boxes.iter().enumerate() {
            frame.begin_series(does);
            // A colour is enough: stripes would hide the pattern of the rows.
            frame.canvas.rects(boxes, Paint::Series(does));
            frame.canvas.end();
        }
        frame.canvas.end();
        frame.foot([x, y, w, h], &scale, &self.x);
        frame.canvas.end();
        let style = Style::new(TEXT, Paint::Muted)
            .anchored(Anchor::Middle)
            .upright();
        frame
            .canvas
            .text([MARGIN + 9.0, y + h / 2.0], style, &self.of);
        frame.y = y + h + 42.0;
    }
}
