//! Upright bars with intervals: panels of groups, in each group a bar for each series.

use super::axis::{Axis, Estimate};
use super::canvas::{Anchor, Paint, Stroke, Style};
use super::frame::{Frame, Swatch, TEXT, room_for};
use super::scale::Scale;
use super::text::{broken, fitted, width_of};
use flitwise_base::units::number;

/// Bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// The quantity of the bars.
    pub axis: Axis,
    /// Where bars begin: 1 for slowdowns, 0 for most else.
    pub base: f64,
    /// The values are differences, which may be negative; tables mark those whose interval contains 0.
    pub signed: bool,
    /// The axis is logarithmic, for values above 0 that differ by orders of magnitude; bars begin at its lower end.
    pub log: bool,
    /// The property in which the groups differ; may be empty.
    pub groups: String,
    /// Names of the series.
    pub series: Vec<String>,
    /// The place among the series of one that the figure leaves out: it keeps its colour, and so do those behind it.
    pub left_out: Option<usize>,
    /// The panels, which share their axis.
    pub panels: Vec<BarPanel>,
}

/// A panel of bars.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarPanel {
    /// Its name; may be empty.
    pub name: String,
    /// Its groups from left to right.
    pub groups: Vec<BarGroup>,
}

/// Bars side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarGroup {
    /// Its name.
    pub name: String,
    /// A bar for each series; `None`: not known.
    pub bars: Vec<Option<Estimate>>,
}

const HEIGHT: f64 = 190.0;
/// Least width of a bar, and so of a panel.
const BAR: f64 = 7.0;
/// Size of the names of groups, and from one of their lines to the next.
const NAME: f64 = TEXT - 0.5;
const LINE: f64 = NAME + 2.0;
/// Most lines of a name, and most pixels of one that reads upwards.
const LINES: usize = 4;
const UPRIGHT: f64 = 170.0;

/// How the names of groups stand below their groups, so that they can be read.
#[derive(Clone, Copy)]
enum Names {
    /// Broken at spaces into at most this number of lines.
    Lines(usize),
    /// Reading upwards; the longest has this number of pixels.
    Upright(f64),
}

impl Names {
    /// Lines if every word has room in a group, `room` wide.
    fn that_fit<'a>(names: impl Iterator<Item = &'a str> + Clone, room: f64) -> Self {
        let words = names.clone().flat_map(str::split_whitespace);
        let widest = words.map(|word| width_of(word, NAME)).fold(0.0, f64::max);
        let lines = names.clone().map(|name| broken(name, NAME, room).len());
        let lines = lines.max().unwrap_or(1).max(1);
        if widest <= room && lines <= LINES {
            return Self::Lines(lines);
        }
        let longest = names.map(|name| width_of(name, NAME)).fold(0.0, f64::max);
        Self::Upright(longest.min(UPRIGHT))
    }

    /// Pixels below a panel.
    fn room(self) -> f64 {
        match self {
            Self::Lines(lines) => 15.0 + LINE * (lines as f64 - 1.0),
            Self::Upright(longest) => 8.0 + longest,
        }
    }

    fn draw(self, frame: &mut Frame, name: &str, [middle, bottom]: [f64; 2], room: f64) {
        let style = Style::new(NAME, Paint::Ink);
        match self {
            Self::Lines(_) => {
                for (at, line) in (0..).zip(broken(name, NAME, room)) {
                    let y = bottom + 15.0 + LINE * f64::from(at);
                    let style = style.anchored(Anchor::Middle);
                    frame.canvas.text([middle, y], style, &line);
                }
            }
            Self::Upright(longest) => {
                let style = style.anchored(Anchor::End).upright();
                let name = fitted(name, NAME, longest);
                frame
                    .canvas
                    .text([middle + 4.0, bottom + 7.0], style, &name);
            }
        }
    }
}

impl Bars {
    /// The number of the colour of series `at`.
    fn colour(&self, at: usize) -> usize {
        at + usize::from(self.left_out.is_some_and(|left_out| left_out <= at))
    }

    pub(super) fn draw(&self, frame: &mut Frame) {
        if self.series.len() > 1 {
            let names = self.series.iter().enumerate();
            let names = names.map(|(at, name)| (self.colour(at), name));
            frame.legend(names, Swatch::Fill);
        }
        let range = self.range();
        let upright = |pixels| {
            if self.log {
                Scale::logarithmic(range, pixels)
            } else {
                Scale::linear(range, pixels)
            }
        };
        let left = room_for(&upright([HEIGHT, 0.0]));
        let most = self.panels.iter().map(|panel| panel.groups.len()).max();
        let group = (BAR * self.series.len() as f64 + 10.0).max(34.0);
        let least = group * most.unwrap_or(1) as f64;
        let least = least.max(120.0);
        let (_, wide) = frame.columns(self.panels.len(), least, [left, 0.0]);
        let groups = self.panels.iter().flat_map(|panel| &panel.groups);
        let room = wide / most.unwrap_or(1).max(1) as f64 - 4.0;
        let below = Names::that_fit(groups.map(|group| group.name.as_str()), room);
        let names: Vec<String> = self.panels.iter().map(|panel| panel.name.clone()).collect();
        let of_groups = if self.groups.is_empty() { 0.0 } else { 18.0 };
        let room = below.room() + 11.0 + of_groups;
        let panels = frame.panels(&names, [least, HEIGHT], [left, 0.0, room]);
        for (at, (panel, area)) in self.panels.iter().zip(&panels.areas).enumerate() {
            let [_, y, _, h] = *area;
            let scale = upright([y + h, y]);
            let first = at % panels.columns == 0;
            frame.level_lines(*area, &scale, first);
            if first {
                frame.side(*area, &self.axis.label());
            }
            self.panel(frame, panel, *area, (&scale, below));
        }
    }

    fn range(&self) -> [f64; 2] {
        let panels = self.panels.iter().flat_map(|panel| &panel.groups);
        let bars = || panels.clone().flat_map(|group| group.bars.iter().flatten());
        let high = bars().map(|bar| bar.high()).fold(self.base, f64::max);
        if self.log {
            let least = bars().map(|bar| bar.mean).fold(high, f64::min);
            // Below the smallest bar, so that it can be seen.
            return [10_f64.powf((least / 1.2).log10().floor()), high];
        }
        let low = bars().map(|bar| bar.low()).fold(self.base, f64::min);
        [low, high]
    }

    fn panel(
        &self,
        frame: &mut Frame,
        panel: &BarPanel,
        area: [f64; 4],
        (scale, names): (&Scale, Names),
    ) {
        let [x, y, w, h] = area;
        let group_width = w / panel.groups.len().max(1) as f64;
        let bars = self.series.len().max(1) as f64;
        let bar_width = ((group_width - 8.0) / bars).clamp(2.0, 44.0);
        let base = if self.log { y + h } else { scale.at(self.base) };
        for (at, group) in panel.groups.iter().enumerate() {
            let middle = x + group_width * (at as f64 + 0.5);
            let start = middle - bar_width * bars / 2.0;
            for (series, bar) in group.bars.iter().enumerate() {
                if let Some(bar) = bar {
                    let left = start + bar_width * series as f64;
                    let says = self.says(panel, group, series, *bar);
                    let colour = self.colour(series);
                    frame.begin_series(colour);
                    bar_of(frame, colour, *bar, [left, bar_width], (scale, base), &says);
                    frame.canvas.end();
                }
            }
            names.draw(frame, &group.name, [middle, y + h], group_width - 4.0);
        }
        frame
            .canvas
            .line([x, base], [x + w, base], Stroke::new(Paint::Ink, 1.0));
        if !self.groups.is_empty() {
            let style = Style::new(TEXT, Paint::Muted).anchored(Anchor::Middle);
            let name = fitted(&self.groups, TEXT, w);
            let below = y + h + names.room() + 16.0;
            frame.canvas.text([x + w / 2.0, below], style, &name);
        }
    }

    fn says(&self, panel: &BarPanel, group: &BarGroup, series: usize, bar: Estimate) -> String {
        let series = self.series.get(series).map_or("", String::as_str);
        let names = [panel.name.as_str(), series, &group.name];
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let half = bar
            .half
            .map_or_else(String::new, |half| format!(" ± {}", number(half)));
        format!("{}: {}{half}", names.join(", "), number(bar.mean))
    }
}

fn bar_of(
    frame: &mut Frame,
    series: usize,
    bar: Estimate,
    [left, width]: [f64; 2],
    (scale, base): (&Scale, f64),
    says: &str,
) {
    let top = scale.at(bar.mean);
    let (y, h) = (top.min(base), (top - base).abs());
    frame.fill(series, [left + 0.5, y, width - 1.0, h], Some(says));
    let Some(half) = bar.half.filter(|half| *half > 0.0) else {
        return;
    };
    let ends = [bar.mean - half, bar.mean + half].map(|value| scale.at(value));
    let middle = left + width / 2.0;
    let cap = (width * 0.3).min(5.0);
    // A pale line beneath keeps the interval visible on its bar.
    for stroke in [
        Stroke::new(Paint::Surface, 3.2),
        Stroke::new(Paint::Ink, 1.2),
    ] {
        frame
            .canvas
            .line([middle, ends[0]], [middle, ends[1]], stroke);
        for end in ends {
            frame
                .canvas
                .line([middle - cap, end], [middle + cap, end], stroke);
        }
    }
}
