//! The surroundings of a chart: title, note, legend, and the axes of a panel.

use super::axis::Axis;
use super::canvas::{Anchor, COLOURS, Canvas, Paint, Part, Sheet, Stroke, Style, Theme, tenths};
use super::scale::Scale;
use super::text::{broken, fitted, width_of};

/// Size of most text.
pub(super) const TEXT: f64 = 12.0;
/// Free space at the sides.
pub(super) const MARGIN: f64 = 8.0;
/// Space between panels.
const GAP: f64 = 14.0;

/// A figure that is being drawn from top to bottom.
pub(super) struct Frame {
    pub canvas: Canvas,
    pub width: f64,
    /// Where the next part begins.
    pub y: f64,
    pub theme: Theme,
}

/// How the legend of surfaces shows a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swatch {
    /// A colour alone.
    Plain,
    /// With its pattern.
    Fill,
}

/// The plotting areas of panels that share their axes.
pub(super) struct Panels {
    /// Left, top, width, height of each.
    pub areas: Vec<[f64; 4]>,
    pub columns: usize,
}

impl Frame {
    pub(super) fn begin([title, note]: [&str; 2], width: f64, theme: Theme) -> Self {
        let mut frame = Self {
            canvas: Canvas::default(),
            width,
            y: MARGIN,
            theme,
        };
        if theme == Theme::File {
            frame.lines(title, Style::new(15.0, Paint::Ink).bold());
            frame.lines(note, Style::new(TEXT, Paint::Muted));
        }
        frame
    }

    /// Lines of text over the whole width.
    pub(super) fn lines(&mut self, text: &str, style: Style) {
        // Bold letters are wider.
        let size = style.size * if style.bold { 1.12 } else { 1.0 };
        for line in broken(text, size, self.width - 2.0 * MARGIN) {
            self.y += style.size + 3.0;
            self.canvas.text([MARGIN, self.y - 2.0], style, &line);
        }
        if !text.is_empty() {
            self.y += 3.0;
        }
    }

    /// The names of series by their numbers, each with its surface.
    pub(super) fn legend<'n>(
        &mut self,
        names: impl Iterator<Item = (usize, &'n String)>,
        swatch: Swatch,
    ) {
        let names: Vec<_> = names.map(|(at, name)| (at, name.as_str())).collect();
        self.keys(&names, |frame, at, [x, y]| {
            let area = [x + 4.0, y - 6.0, 16.0, 12.0];
            match swatch {
                Swatch::Plain => frame.canvas.rect(area, Paint::Series(at), None),
                Swatch::Fill => frame.fill(at, area, None),
            }
        });
    }

    /// The names of series by their numbers, from left to right in as many lines as that takes. `draw` draws the sample
    /// of a series beside its name.
    pub(super) fn keys(
        &mut self,
        names: &[(usize, &str)],
        draw: impl Fn(&mut Self, usize, [f64; 2]),
    ) {
        if names.is_empty() {
            return;
        }
        let room = self.width - 2.0 * MARGIN;
        let (key, gap) = (26.0, 16.0);
        let mut x = MARGIN;
        self.y += 4.0;
        for &(series, whole) in names {
            let name = fitted(whole, TEXT, room - key);
            let wide = key + width_of(&name, TEXT);
            if x > MARGIN && x + wide > MARGIN + room {
                x = MARGIN;
                self.y += TEXT + 6.0;
            }
            self.canvas.begin(vec![
                ("key", series.to_string()),
                ("name", whole.to_owned()),
            ]);
            draw(self, series, [x, self.y + TEXT / 2.0]);
            let style = Style::new(TEXT, Paint::Ink);
            let base = self.y + TEXT - 1.5;
            self.canvas.text([x + key, base], style, &name);
            self.canvas.end();
            x += wide + gap;
        }
        self.y += TEXT + 10.0;
    }

    /// A surface in the colour and pattern of a series.
    pub(super) fn fill(&mut self, series: usize, [x, y, w, h]: [f64; 4], says: Option<&str>) {
        self.canvas.rect([x, y, w, h], Paint::Series(series), says);
        let light = Stroke::new(Paint::Surface, 1.2);
        // Series that have the same colour differ in stripes, and so do neighbours without colours.
        let steep = series % 3 == 1;
        let flat = series % 3 == 2 || series >= COLOURS;
        if w < 5.0 || h < 3.0 {
            return;
        }
        if flat {
            let mut at = 4.0;
            while at < h - 1.0 {
                self.canvas.line([x, y + at], [x + w, y + at], light);
                at += 5.0;
            }
        }
        if steep {
            let mut at = 4.0;
            while at < w + h - 1.0 {
                let from = [x + (at - h).max(0.0), y + at.min(h)];
                let to = [x + at.min(w), y + (at - w).max(0.0)];
                self.canvas.line(from, to, light);
                at += 7.0;
            }
        }
    }

    /// The mark of a series at a point.
    pub(super) fn mark(&mut self, series: usize, [x, y]: [f64; 2], hollow: bool) {
        let paint = Paint::Series(series);
        let r = 3.6;
        let of = |points: &[[f64; 2]]| -> Vec<[f64; 2]> {
            points
                .iter()
                .map(|[dx, dy]| [x + r * dx, y + r * dy])
                .collect()
        };
        match series % 5 {
            0 => self.canvas.circle([x, y], r - 0.4, paint, hollow),
            1 => {
                let square = of(&[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]);
                self.canvas.shape(&square, paint, hollow);
            }
            2 => {
                let triangle = of(&[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]]);
                self.canvas.shape(&triangle, paint, hollow);
            }
            3 => {
                let diamond = of(&[[0.0, -1.3], [1.2, 0.0], [0.0, 1.3], [-1.2, 0.0]]);
                self.canvas.shape(&diamond, paint, hollow);
            }
            _ => {
                let triangle = of(&[[0.0, 1.2], [1.1, -0.8], [-1.1, -0.8]]);
                self.canvas.shape(&triangle, paint, hollow);
            }
        }
    }

    /// How many of `count` panels that are at least `least` wide stand side by side, and how wide they are.
    pub(super) fn columns(
        &self,
        count: usize,
        least: f64,
        [left, right]: [f64; 2],
    ) -> (usize, f64) {
        let count = count.max(1);
        let room = self.width - 2.0 * MARGIN - left - right;
        // The last number of a panel and the first one of the next stand beside each other.
        let gap = GAP + right;
        let fit = ((room + gap) / (least + gap)).floor().clamp(1.0, 4.0) as usize;
        let columns = count.div_ceil(count.div_ceil(fit));
        let wide = (room - gap * (columns as f64 - 1.0)) / columns as f64;
        (columns, wide)
    }

    /// Areas for `names.len()` panels, `height` high, with room for numbers on the left and beyond the margin on the
    /// right, and their names. `below`: room below each.
    pub(super) fn panels(
        &mut self,
        names: &[String],
        [least, height]: [f64; 2],
        [left, right, below]: [f64; 3],
    ) -> Panels {
        let count = names.len().max(1);
        let gap = GAP + right;
        let (columns, wide) = self.columns(count, least, [left, right]);
        let rows = count.div_ceil(columns);
        let head = if names.iter().any(|name| !name.is_empty()) {
            20.0
        } else {
            6.0
        };
        let mut areas = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let x = MARGIN + left + column as f64 * (wide + gap);
            let y = self.y + row as f64 * (head + height + below) + head;
            let style = Style::new(TEXT + 0.5, Paint::Ink)
                .bold()
                .anchored(Anchor::Middle);
            let name = fitted(name, TEXT + 0.5, wide);
            if !name.is_empty() {
                self.canvas.text([x + wide / 2.0, y - 7.0], style, &name);
            }
            areas.push([x, y, wide, height]);
        }
        self.y += rows as f64 * (head + height + below);
        Panels { areas, columns }
    }

    /// The horizontal lines of a panel; with numbers if `numbers`.
    pub(super) fn level_lines(&mut self, area: [f64; 4], scale: &Scale, numbers: bool) {
        let [x, _, w, _] = area;
        for (value, label) in scale.ticks() {
            let y = scale.at(value);
            self.canvas
                .line([x, y], [x + w, y], Stroke::new(Paint::Grid, 1.0));
            if numbers {
                let style = Style::new(TEXT - 0.5, Paint::Ink).anchored(Anchor::End);
                self.canvas.text([x - 6.0, y + 4.0], style, &label);
            }
        }
    }

    /// Begins a group of the series numbered `series`.
    pub(super) fn begin_series(&mut self, series: usize) {
        self.canvas.begin(vec![("series", series.to_string())]);
    }

    /// The axis below a panel, with its numbers.
    pub(super) fn foot(&mut self, area: [f64; 4], scale: &Scale, axis: &Axis) {
        let [x, y, w, h] = area;
        let bottom = y + h;
        self.canvas
            .line([x, bottom], [x + w, bottom], Stroke::new(Paint::Ink, 1.0));
        self.canvas.begin(vec![("ticks", String::new())]);
        let mut free = f64::NEG_INFINITY;
        for (value, label) in scale.ticks() {
            let at = scale.at(value);
            self.canvas.line(
                [at, bottom],
                [at, bottom + 4.0],
                Stroke::new(Paint::Ink, 1.0),
            );
            let half = width_of(&label, TEXT - 0.5) / 2.0;
            if at - half < free {
                continue;
            }
            free = at + half + 4.0;
            let style = Style::new(TEXT - 0.5, Paint::Ink).anchored(Anchor::Middle);
            self.canvas.text([at, bottom + 17.0], style, &label);
        }
        self.canvas.end();
        let style = Style::new(TEXT, Paint::Muted).anchored(Anchor::Middle);
        let label = fitted(&axis.label(), TEXT, w);
        self.canvas
            .text([x + w / 2.0, bottom + 34.0], style, &label);
    }

    /// Draws the label of the vertical axis of the panels in a row, at the far left.
    pub(super) fn side(&mut self, area: [f64; 4], label: &str) {
        let [_, y, _, h] = area;
        let style = Style::new(TEXT, Paint::Muted)
            .anchored(Anchor::Middle)
            .upright();
        let label = fitted(label, TEXT, h + 30.0);
        self.canvas.text([MARGIN + 9.0, y + h / 2.0], style, &label);
    }

    /// The scale of shades, with numbers at its ends.
    pub(super) fn shades(&mut self, name: &str, ends: [&str; 2]) {
        let style = Style::new(TEXT, Paint::Ink);
        self.y += 4.0;
        let base = self.y + TEXT - 1.5;
        let mut x = MARGIN;
        for text in [name, ends[0]] {
            let text = fitted(text, TEXT, (self.width - 2.0 * MARGIN) * 0.6);
            self.canvas.text([x, base], style, &text);
            x += width_of(&text, TEXT) + 8.0;
        }
        for at in 0..super::canvas::STEPS {
            let step = [x + 11.0 * at as f64, self.y, 11.0, 12.0];
            self.canvas.rect(step, Paint::Shade(at), None);
        }
        x += 11.0 * super::canvas::STEPS as f64 + 8.0;
        self.canvas.text([x, base], style, ends[1]);
        self.y += TEXT + 12.0;
    }

    pub(super) fn finish(self, title: &str) -> Sheet {
        Sheet {
            width: self.width.ceil(),
            height: (self.y + MARGIN).ceil(),
            label: title.to_owned(),
            shapes: self.canvas.0,
        }
    }
}

/// A panel at `area` whose horizontal axis, from `ends[0]` to `ends[1]`, can be zoomed.
pub(super) fn zooming(area: [f64; 4], ends: [f64; 2], x: &Axis) -> Part {
    let mut part = panel(area, x);
    part.push(("zoom", ends.map(|end| end.to_string()).join(" ")));
    part
}

/// A panel at `area` with a horizontal axis.
pub(super) fn panel(area: [f64; 4], x: &Axis) -> Part {
    vec![
        ("area", area.map(|at| tenths(at).to_string()).join(" ")),
        ("x", x.name.clone()),
        ("x-unit", x.unit.clone()),
    ]
}

/// Names as an attribute, each up to a semicolon.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| name.replace(';', ",")).collect();
    names.join(";")
}

/// Room that the numbers of a horizontal axis take beyond the margin: half of the last one may be right of its end.
pub(super) fn room_beyond(scale: &Scale) -> f64 {
    let labels = scale.ticks().into_iter();
    let halves = labels.map(|(_, label)| width_of(&label, TEXT - 0.5) / 2.0 + 2.0 - MARGIN);
    halves.fold(0.0, f64::max).ceil()
}

/// Room that the numbers of a vertical axis take, with the axis's name left of them.
pub(super) fn room_for(scale: &Scale) -> f64 {
    let labels = scale
        .ticks()
        .into_iter()
        .map(|(_, label)| width_of(&label, TEXT));
    24.0 + labels.fold(12.0, f64::max)
}
