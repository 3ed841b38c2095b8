//! Lying bars made of parts: where something goes.

use super::axis::Axis;
use super::canvas::{Anchor, Paint, Stroke, Style};
use super::frame::{Frame, MARGIN, Swatch, TEXT};
use super::scale::Scale;
use super::text::{broken, fitted, width_of};
use flitwise_base::units::number;

/// Bars made of parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stacks {
    /// The quantity of the parts.
    pub axis: Axis,
    /// Names of the parts.
    pub parts: Vec<String>,
    /// From top to bottom.
    pub stacks: Vec<Stack>,
}

/// A bar.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// Its name.
    pub name: String,
    /// The size of each part.
    pub parts: Vec<f64>,
}

const BAR: f64 = 20.0;
const PITCH: f64 = 28.0;
/// From one line of a name to the next.
const LINE: f64 = TEXT + 1.0;

impl Stacks {
    pub(super) fn draw(&self, frame: &mut Frame) {
        frame.legend(self.parts.iter().enumerate(), Swatch::Fill);
        let names = self.stacks.iter().map(|stack| width_of(&stack.name, TEXT));
        let left = names.fold(0.0, f64::max).min(frame.width * 0.47) + 10.0;
        let x = MARGIN + left;
        let w = frame.width - x - MARGIN - 14.0;
        let h = PITCH * self.stacks.len() as f64;
        let y = frame.y + 2.0;
        let longest = self
            .stacks
            .iter()
            .map(|stack| stack.parts.iter().sum::<f64>());
        let scale = Scale::linear([0.0, longest.fold(0.0, f64::max)], [x, x + w]);
        for (value, _) in scale.ticks() {
            let at = scale.at(value);
            frame
                .canvas
                .line([at, y], [at, y + h], Stroke::new(Paint::Grid, 1.0));
        }
        for (at, stack) in self.stacks.iter().enumerate() {
            let top = y + PITCH * at as f64 + (PITCH - BAR) / 2.0;
            let style = Style::new(TEXT, Paint::Ink).anchored(Anchor::End);
            let mut lines = broken(&stack.name, TEXT, left - 8.0);
            if lines.len() > 2 {
                // Two lines have room beside a bar.
                let rest = stack.name.trim_start().strip_prefix(lines[0].as_str());
                let rest = fitted(rest.unwrap_or_default().trim(), TEXT, left - 8.0);
                lines = vec![lines.swap_remove(0), rest];
            }
            let middle = top + BAR / 2.0 + 4.0 - LINE / 2.0 * (lines.len() as f64 - 1.0);
            for (number, line) in (0..).zip(&lines) {
                let y = middle + LINE * f64::from(number);
                frame.canvas.text([x - 6.0, y], style, line);
            }
            let mut sum = 0.0;
            frame.canvas.begin(vec![("stack", String::new())]);
            for (part, size) in stack.parts.iter().enumerate() {
                let (from, to) = (scale.at(sum), scale.at(sum + size));
                sum += size;
                if to - from > 0.05 {
                    let says = self.says(stack, part, *size);
                    frame.begin_series(part);
                    frame.fill(part, [from, top, to - from, BAR], Some(&says));
                    frame.canvas.end();
                }
            }
            frame.canvas.end();
        }
        frame.foot([x, y, w, h], &scale, &self.axis);
        frame.y = y + h + 42.0;
    }

    fn says(&self, stack: &Stack, part: usize, size: f64) -> String {
        let part = self.parts.get(part).map_or("", String::as_str);
        format!(
            "{}, {part}: {} {}",
            stack.name,
            number(size),
            self.axis.unit
        )
    }
}
