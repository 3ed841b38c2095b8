//! Links as lines between switches and NICs.

use super::layout::{Layout, Nics, Plan, Wires, layout};
use super::{End, Measure, WiredLink};
use crate::{Link, Network, Node};
use flitwise_base::units::number;
use std::collections::{BTreeMap, BTreeSet};

/// Most links that have a number in the drawing.
pub const TAGGED: usize = 10;
/// Most NICs that are drawn one by one.
const MOST_NICS: usize = 96;
/// Most lines: of a larger fabric the most used ones are drawn.
const MOST_LINES: usize = 600;

/// Links drawn on their topology.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// The lines.
    pub network: Network,
    /// A remark that is needed to read them.
    pub note: String,
}

/// Draws `links` between the switches of a topology that is arranged by `plan`. `tagged` are the links that get numbers,
/// from 1. `None` without a link.
#[must_use]
pub fn draw(
    plan: &Plan,
    links: &[WiredLink<'_>],
    tagged: &[WiredLink<'_>],
    measure: Measure<'_>,
) -> Option<Drawing> {
    if links.is_empty() {
        return None;
    }
    let mut drawn = Drawn::new(links, layout(plan, &wires(links)), measure);
    for link in links {
        drawn.add(link);
    }
    let tagged = &tagged[..tagged.len().min(TAGGED)];
    for (tag, link) in (1..).zip(tagged) {
        drawn.tag(link, tag);
    }
    let key = tagged.iter().map(|link| {
        let [from, to] = link.names;
        (format!("{from} → {to}"), measure.text(link.value))
    });
    let nics = measure.nics;
    let together = !drawn.each_nic;
    let (mut network, left_out, trunks) = drawn.network();
    network.key = key.collect();
    let mut note = String::from(
        "Each direction of a link is a line, drawn to the right of the centre; numbers mark the most used ones.",
    );
    if together {
        note += &format!(" The {nics} of a switch are one line: its most used.");
    }
    if trunks {
        note += " Parallel links are one line: the most used of them.";
    }
    if left_out > 0 {
        note += &format!(" The {MOST_LINES} most used lines; {left_out} others are left out.");
    }
    Some(Drawing { network, note })
}

fn wires(links: &[WiredLink<'_>]) -> Wires {
    let mut wires = Wires::default();
    for link in links {
        match (link.from.switch(), link.to.switch()) {
            (Some(from), Some(to)) => {
                wires.neighbours.entry(from).or_default().insert(to);
                wires.neighbours.entry(to).or_default().insert(from);
            }
            (Some(switch), None) | (None, Some(switch)) => {
                wires.neighbours.entry(switch).or_default();
                wires.with_nics.insert(switch);
            }
            (None, None) => {}
        }
    }
    wires
}

/// The part of a fabric that is drawn as one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Switch(u32),
    Nic(u32),
    /// All NICs of a switch.
    Nics(u32),
}

/// A line: the links between two nodes in one direction.
#[derive(Debug, Clone, Default)]
struct Line {
    most: f64,
    sum: f64,
    count: u64,
    name: String,
    tags: Vec<usize>,
}

struct Drawn<'a> {
    measure: Measure<'a>,
    layout: Layout,
    each_nic: bool,
    /// Switches of NICs.
    homes: BTreeMap<u32, u32>,
    names: BTreeMap<Thing, String>,
    lines: BTreeMap<(Thing, Thing), Line>,
}

impl<'a> Drawn<'a> {
    fn new(links: &[WiredLink<'_>], layout: Layout, measure: Measure<'a>) -> Self {
        let mut homes = BTreeMap::new();
        for link in links {
            if let (End::Nic(nic), Some(switch)) = (link.from, link.to.switch()) {
                homes.insert(nic, switch);
            }
        }
        let each_nic = layout.nics == Nics::Below && homes.len() <= MOST_NICS;
        Self {
            measure,
            layout,
            each_nic,
            homes,
            names: BTreeMap::new(),
            lines: BTreeMap::new(),
        }
    }

    /// The node of an end of a link whose other end is `other`.
    fn thing(&self, end: End, other: End) -> Thing {
        match (end, other) {
            (End::Switch(switch, _), _) => Thing::Switch(switch),
            (End::Nic(nic), _) if self.each_nic => Thing::Nic(nic),
            (End::Nic(_), End::Switch(switch, _)) => Thing::Nics(switch),
            (End::Nic(nic), End::Nic(_)) => Thing::Nic(nic),
        }
    }

    fn ends(&self, link: &WiredLink<'_>) -> (Thing, Thing) {
        (
            self.thing(link.from, link.to),
            self.thing(link.to, link.from),
        )
    }

    fn add(&mut self, link: &WiredLink<'_>) {
        let (from, to) = self.ends(link);
        for (thing, name) in [(from, link.names[0]), (to, link.names[1])] {
            self.names.entry(thing).or_insert_with(|| match thing {
                // Without the port.
                Thing::Switch(_) => name
                    .rsplit_once(" port ")
                    .map_or(name, |(s, _)| s)
                    .to_owned(),
                Thing::Nic(_) => name.to_owned(),
                Thing::Nics(switch) => format!("{} of switch {switch}", self.measure.nics),
            });
        }
        let line = self.lines.entry((from, to)).or_default();
        line.sum += link.value;
        line.count += 1;
        if link.value > line.most || line.name.is_empty() {
            line.most = link.value;
            line.name = format!("{} → {}", link.names[0], link.names[1]);
        }
    }

    fn tag(&mut self, link: &WiredLink<'_>, tag: usize) {
        let ends = self.ends(link);
        if let Some(line) = self.lines.get_mut(&ends) {
            line.tags.push(tag);
        }
    }

    fn place(&self, thing: Thing, nics: &BTreeMap<u32, f64>) -> [f64; 2] {
        let switch = |switch: u32| {
            self.layout
                .switches
                .get(&switch)
                .copied()
                .unwrap_or([0.5, 0.5])
        };
        match thing {
            Thing::Switch(id) => switch(id),
            Thing::Nic(nic) => [nics.get(&nic).copied().unwrap_or(0.5), 1.0],
            Thing::Nics(id) => {
                let [x, y] = switch(id);
                match self.layout.nics {
                    Nics::Below => [x, 1.0],
                    Nics::Beside([dx, dy]) => [x + dx, y + dy],
                    Nics::Outside(by) => {
                        let [dx, dy] = [x - 0.5, y - 0.5];
                        let length = dx.hypot(dy).max(1e-6);
                        [x + dx / length * by, y + dy / length * by]
                    }
                }
            }
        }
    }

    /// The places of NICs in their row: in the order of their switches.
    fn row_of_nics(&self) -> BTreeMap<u32, f64> {
        let mut nics: Vec<(u32, u32)> = self
            .homes
            .iter()
            .map(|(&nic, &switch)| (nic, switch))
            .collect();
        let x = |switch: u32| self.layout.switches.get(&switch).map_or(0.5, |at| at[0]);
        nics.sort_by(|a, b| x(a.1).total_cmp(&x(b.1)).then(a.cmp(b)));
        let count = nics.len().max(1) as f64;
        let place = |(at, (nic, _)): (usize, &(u32, u32))| (*nic, (at as f64 + 0.5) / count);
        nics.iter().enumerate().map(place).collect()
    }

    /// The drawing, lines that it leaves out, and whether it puts parallel links together.
    fn network(&self) -> (Network, usize, bool) {
        let row = self.row_of_nics();
        let things: Vec<Thing> = self.names.keys().copied().collect();
        let index: BTreeMap<Thing, usize> = things.iter().copied().zip(0..).collect();
        let node = |thing: &Thing| {
            let [x, y] = self.place(*thing, &row);
            let name = self.names.get(thing).cloned().unwrap_or_default();
            let small = !matches!(thing, Thing::Switch(_));
            Node { x, y, name, small }
        };
        let drawn = self.most_used();
        let mut links: BTreeMap<(usize, usize), Link> = BTreeMap::new();
        let (mut left_out, mut trunks) = (0, false);
        for ((from, to), line) in &self.lines {
            let (Some(&a), Some(&b)) = (index.get(from), index.get(to)) else {
                continue;
            };
            if !drawn.contains(&(*from, *to)) {
                left_out += 1;
                continue;
            }
            let between = matches!((from, to), (Thing::Switch(_), Thing::Switch(_)));
            trunks |= between && line.count > 1;
            let (key, side) = if a <= b { ((a, b), 0) } else { ((b, a), 1) };
            let link = links.entry(key).or_insert_with(|| Link {
                ends: [key.0, key.1],
                bend: self.bend(*from, *to),
                ..Link::default()
            });
            link.used[side] = Some(line.most);
            link.tags[side].clone_from(&line.tags);
            link.says[side] = says(line, self.measure);
        }
        let mut rows = self.layout.rows.clone();
        if !rows.is_empty() {
            rows.push((1.0, self.measure.nics.to_owned()));
        }
        let network = Network {
            measure: self.measure.name.to_owned(),
            percent: self.measure.percent,
            aspect: self.layout.aspect,
            nodes: things.iter().map(node).collect(),
            links: links.into_values().collect(),
            rows,
            key: Vec::new(),
        };
        (network, left_out, trunks)
    }

    /// The lines that are drawn: the most used ones; of equal ones the first.
    fn most_used(&self) -> BTreeSet<(Thing, Thing)> {
        let mut lines: Vec<_> = self.lines.iter().collect();
        lines.sort_by(|a, b| b.1.most.total_cmp(&a.1.most));
        let lines = lines.into_iter().take(MOST_LINES);
        lines.map(|(ends, _)| *ends).collect()
    }

    /// Links that close a ring go round the switches between.
    fn bend(&self, from: Thing, to: Thing) -> f64 {
        let (Thing::Switch(a), Thing::Switch(b)) = (from, to) else {
            return 0.0;
        };
        let at = |switch| self.layout.coordinates.get(&switch);
        let (Some(a), Some(b)) = (at(a), at(b)) else {
            return 0.0;
        };
        let apart = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max();
        let slices = a.iter().zip(b).skip(2).any(|(a, b)| a != b);
        match (apart, slices) {
            (_, true) => 0.06,
            (Some(2..), false) => 0.16,
            _ => 0.0,
        }
    }
}

impl Measure<'_> {
    fn text(self, value: f64) -> String {
        if self.percent {
            format!("{} %", number(100.0 * value))
        } else {
            number(value)
        }
    }
}

fn says(line: &Line, measure: Measure<'_>) -> String {
    match line.count {
        1 => format!("{}: {}", line.name, measure.text(line.most)),
        count => format!(
            "{count} links, {} in the mean, most {}: {}",
            measure.text(line.sum / count as f64),
            line.name,
            measure.text(line.most)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADS: Measure<'static> = Measure {
        name: "connections",
        percent: false,
        nics: "hosts",
    };

    fn between(from: u32, to: u32, value: f64) -> WiredLink<'static> {
        WiredLink {
            from: End::Switch(from, to),
            to: End::Switch(to, from),
            names: ["a port 1", "b port 2"],
            value,
        }
    }

    fn directions(drawing: &Drawing) -> usize {
        let links = drawing.network.links.iter();
        links.flat_map(|link| link.used).flatten().count()
    }

    #[test]
    fn of_equal_lines_the_first_are_drawn() {
        let links: Vec<_> = (0..1000).map(|n| between(n, n + 1, 1.0)).collect();
        let drawing = draw(&Plan::Levels, &links, &[], LOADS).unwrap();
        assert_eq!(directions(&drawing), MOST_LINES);
        assert!(drawing.note.ends_with("400 others are left out."));
    }

    #[test]
    fn numbers_and_parallel_links_are_told() {
        let links = [between(0, 1, 3.0), between(0, 1, 1.0), between(1, 0, 0.0)];
        // The two that are one line both have their numbers.
        let drawing = draw(&Plan::Levels, &links, &links[..2], LOADS).unwrap();
        let link = &drawing.network.links[0];
        assert_eq!(link.used, [Some(3.0), Some(0.0)]);
        assert_eq!(link.tags, [vec![1, 2], vec![]]);
        let key = ["3", "1"].map(|value| ("a port 1 → b port 2".to_owned(), value.to_owned()));
        assert_eq!(drawing.network.key, key);
        assert_eq!(
            link.says[0],
            "2 links, 2 in the mean, most a port 1 → b port 2: 3"
        );
        assert!(drawing.note.contains("Parallel links"));
        assert_eq!(draw(&Plan::Levels, &[], &[], LOADS), None);
    }
}
