//! Nodes and links, each direction of a link as a line of its own, shaded and thick by how much it is used.

use super::canvas::{Anchor, Paint, STEPS, Stroke, Style, Theme};
use super::frame::{Frame, MARGIN, TEXT};
use super::text::{fitted, width_of};
use flitwise_base::units::number;

/// A network.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Network {
    /// The quantity of shades and widths.
    pub measure: String,
    /// Uses are parts from 0 to 1, shown in percent; otherwise numbers from 0.
    pub percent: bool,
    /// Height over width of the space in which the nodes are.
    pub aspect: f64,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The links.
    pub links: Vec<Link>,
    /// Names of parts, each at the left of a height from 0 to 1.
    pub rows: Vec<(f64, String)>,
    /// The names and values of the links with the numbers from 1. Only a file has them below the drawing: a page has a
    /// table.
    pub key: Vec<(String, String)>,
}

/// A node.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Node {
    /// From the left, 0 to 1.
    pub x: f64,
    /// From the top, 0 to 1.
    pub y: f64,
    /// Its name.
    pub name: String,
    /// A small one, without its name.
    pub small: bool,
}

/// A link, or several ones side by side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Link {
    /// Its nodes.
    pub ends: [usize; 2],
    /// How much it is used from the first to the second, and back; `None`: not known, or not in that direction.
    pub used: [Option<f64>; 2],
    /// How far it bends, in parts of its length.
    pub bend: f64,
    /// The texts of tooltips, per direction.
    pub says: [String; 2],
    /// Numbers at the link, per direction.
    pub tags: [Vec<usize>; 2],
}

/// Size of the text of the key, and the room of its numbers.
const KEY_TEXT: f64 = TEXT - 0.5;
const KEY_NUMBER: f64 = 22.0;
/// Lines above this number are thin.
const MANY: usize = 350;
/// Most links that have tooltips: a page with more would be large.
const MOST_TOOLTIPS: usize = 1500;
/// Radius of the circle of a number.
const TAG: f64 = 7.5;
/// Where numbers may be along a link, the best first: nearer to its sender, so that both directions have room.
const ALONG: [f64; 7] = [0.36, 0.28, 0.44, 0.2, 0.52, 0.6, 0.68];

impl Network {
    pub(super) fn draw(&self, frame: &mut Frame) {
        let full = self.full();
        let ends = if self.percent {
            ["0 %".to_owned(), format!("{:.0} %", 100.0 * full)]
        } else {
            ["0".to_owned(), number(full)]
        };
        frame.shades(&self.measure, [&ends[0], &ends[1]]);
        let left = MARGIN + if self.rows.is_empty() { 14.0 } else { 62.0 };
        let w = frame.width - left - MARGIN - 14.0;
        let h = (w * self.aspect).clamp(90.0, 900.0);
        let y = frame.y + 16.0;
        let at = |node: usize| {
            let node = self.nodes.get(node);
            node.map_or([left, y], |node| [left + w * node.x, y + h * node.y])
        };
        let mut directions: Vec<(f64, &Link, usize)> = Vec::new();
        for link in &self.links {
            for side in 0..2 {
                directions.extend(link.used[side].map(|used| (used, link, side)));
            }
        }
        // The most used on top.
        directions.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        let say = directions.len() <= MOST_TOOLTIPS;
        // Many lines are thin ones.
        let thin = if directions.len() > MANY { 0.4 } else { 1.0 };
        for &(used, link, side) in &directions {
            let path = path_of(at(link.ends[side]), at(link.ends[1 - side]), link, side, w);
            let stroke = Stroke::new(
                Paint::Shade(shade(used / full)),
                (0.8 + 3.2 * used / full) * thin,
            );
            let says = link.says[side].as_str();
            frame.canvas.bend(path, stroke, Some(says).filter(|_| say));
        }
        self.nodes(frame, at);
        let mut tags: Vec<(usize, [[f64; 2]; 3])> = Vec::new();
        for &(_, link, side) in &directions {
            let path = path_of(at(link.ends[side]), at(link.ends[1 - side]), link, side, w);
            tags.extend(link.tags[side].iter().map(|&tag| (tag, path)));
        }
        draw_tags(frame, tags);
        for (height, name) in &self.rows {
            let style = Style::new(TEXT, Paint::Muted);
            let name = fitted(name, TEXT, left - MARGIN - 4.0);
            frame
                .canvas
                .text([MARGIN, y + h * height + 4.0], style, &name);
        }
        frame.y = y + h + 22.0;
        if frame.theme == Theme::File {
            self.draw_key(frame);
        }
    }

    /// The links that have numbers, in columns that are read downwards.
    fn draw_key(&self, frame: &mut Frame) {
        let room = frame.width - 2.0 * MARGIN;
        let text = |(name, value): &(String, String)| format!("{name}: {value}");
        let widest = self.key.iter().map(|one| width_of(&text(one), KEY_TEXT));
        let widest = widest.fold(0.0, f64::max) + KEY_NUMBER + 12.0;
        let columns = (room / widest).floor().clamp(1.0, 3.0);
        let rows = self.key.len().div_ceil(columns as usize).max(1);
        for (at, one) in self.key.iter().enumerate() {
            let x = MARGIN + (at / rows) as f64 * room / columns;
            let y = frame.y + KEY_TEXT + (at % rows) as f64 * (KEY_TEXT + 4.0);
            let style = Style::new(KEY_TEXT, Paint::Ink);
            let number = style.bold().anchored(Anchor::End);
            frame
                .canvas
                .text([x + KEY_NUMBER - 6.0, y], number, &(at + 1).to_string());
            let name = fitted(&text(one), KEY_TEXT, room / columns - KEY_NUMBER);
            frame.canvas.text([x + KEY_NUMBER, y], style, &name);
        }
        if !self.key.is_empty() {
            frame.y += rows as f64 * (KEY_TEXT + 4.0) + 4.0;
        }
    }

    /// The use that has the darkest shade: links that are little used shall differ, too.
    fn full(&self) -> f64 {
        let used = self.links.iter().flat_map(|link| link.used).flatten();
        let most = used.fold(0.0, f64::max);
        if !self.percent {
            return if most > 0.0 && most.is_finite() {
                most
            } else {
                1.0
            };
        }
        let round = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8];
        round.into_iter().find(|end| *end >= most).unwrap_or(1.0)
    }

    fn nodes(&self, frame: &mut Frame, at: impl Fn(usize) -> [f64; 2]) {
        let wide = self.nodes.iter().filter(|node| !node.small);
        let roomy = wide.clone().count() <= 60;
        for (index, node) in self.nodes.iter().enumerate() {
            let [x, y] = at(index);
            let size = match (node.small, roomy) {
                (true, _) => 2.2,
                (false, true) => 6.0,
                (false, false) => 3.4,
            };
            let box_ = [x - size, y - size, 2.0 * size, 2.0 * size];
            let says = Some(node.name.as_str()).filter(|_| self.nodes.len() <= MOST_TOOLTIPS);
            let paint = if node.small { Paint::Muted } else { Paint::Ink };
            frame.canvas.rect(box_, paint, says);
        }
    }
}

/// Numbers at their links, the first ones nearest to where they should be; none covers another.
fn draw_tags(frame: &mut Frame, mut tags: Vec<(usize, [[f64; 2]; 3])>) {
    tags.sort_by_key(|(tag, _)| *tag);
    let mut taken: Vec<[f64; 2]> = Vec::new();
    let mut spots = Vec::new();
    for (tag, path) in tags {
        let (on_link, spot) = free_spot(path, &taken, frame.width);
        if on_link != spot {
            frame
                .canvas
                .line(on_link, spot, Stroke::new(Paint::Ink, 0.8));
        }
        taken.push(spot);
        spots.push((tag, spot));
    }
    for (tag, spot) in spots {
        frame.canvas.circle(spot, TAG, Paint::Ink, true);
        let style = Style::new(TEXT - 2.0, Paint::Ink)
            .bold()
            .anchored(Anchor::Middle);
        frame
            .canvas
            .text([spot[0], spot[1] + 3.6], style, &tag.to_string());
    }
}

/// A point of a link, and the place for its number: there, or beside it where the link has no room.
fn free_spot(
    [from, by, to]: [[f64; 2]; 3],
    taken: &[[f64; 2]],
    width: f64,
) -> ([f64; 2], [f64; 2]) {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let length = dx.hypot(dy).max(1e-6);
    let is_free = |spot: &[f64; 2]| {
        let far =
            |other: &[f64; 2]| (spot[0] - other[0]).hypot(spot[1] - other[1]) > 2.0 * TAG + 1.0;
        (TAG..=width - TAG).contains(&spot[0]) && spot[1] > TAG && taken.iter().all(far)
    };
    let on_link = |t: f64| {
        let axis = |axis: usize| {
            let bent = 2.0 * t * (1.0 - t) * by[axis];
            (1.0 - t) * (1.0 - t) * from[axis] + bent + t * t * to[axis]
        };
        [axis(0), axis(1)]
    };
    let beside = |(t, steps): (f64, f64)| {
        let at = on_link(t);
        let by = steps * (TAG + 1.0) / length;
        (at, [at[0] - dy * by, at[1] + dx * by])
    };
    let aside = [0.0, 2.0, -2.0, 4.0, -4.0, 6.0, -6.0, 8.0, -8.0];
    let mut spots = aside
        .iter()
        .flat_map(|&steps| ALONG.map(|t| beside((t, steps))));
    spots
        .find(|(_, spot)| is_free(spot))
        .unwrap_or_else(|| beside((ALONG[0], 0.0)))
}

fn shade(used: f64) -> usize {
    ((used * STEPS as f64) as usize).min(STEPS - 1)
}

/// The line of one direction, beside the line of the other.
fn path_of(from: [f64; 2], to: [f64; 2], link: &Link, side: usize, width: f64) -> [[f64; 2]; 3] {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let length = dx.hypot(dy).max(1e-6);
    // To the right of its way.
    let apart = 2.2_f64.min(width / 200.0);
    let right = [-dy / length * apart, dx / length * apart];
    let bend = if side == 0 { link.bend } else { -link.bend } * length;
    let shift = [-dy / length * bend, dx / length * bend];
    let moved = |point: [f64; 2]| [point[0] + right[0], point[1] + right[1]];
    let (a, b) = (moved(from), moved(to));
    let by = [
        (a[0] + b[0]) / 2.0 + shift[0],
        (a[1] + b[1]) / 2.0 + shift[1],
    ];
    [a, by, b]
}
