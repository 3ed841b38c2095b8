//! Pajé: text in which types, containers and events refer to each other by aliases.
//!
//! Events have to come in the order of time. So the value of a variable for an interval is written at the end of the
//! interval, when it is known.

use super::output::{Change, Message, Output, StreamTrack};
use crate::replay::Doing;
use crate::units::PS_PER_S;
use flitwise_formats::sink::Sink;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write;
use std::sync::Arc;

/// Kinds of event in the order of their numbers, each with its fields.
const EVENTS: &[(&str, &[&str])] = &[
    (
        "DefineContainerType",
        &["Alias string", "Type string", "Name string"],
    ),
    (
        "DefineStateType",
        &["Alias string", "Type string", "Name string"],
    ),
    (
        "DefineVariableType",
        &["Alias string", "Type string", "Name string", "Color color"],
    ),
    (
        "DefineLinkType",
        &[
            "Alias string",
            "Type string",
            "StartContainerType string",
            "EndContainerType string",
            "Name string",
        ],
    ),
    (
        "DefineEntityValue",
        &["Alias string", "Type string", "Name string", "Color color"],
    ),
    (
        "CreateContainer",
        &[
            "Time date",
            "Alias string",
            "Type string",
            "Container string",
            "Name string",
        ],
    ),
    (
        "DestroyContainer",
        &["Time date", "Type string", "Name string"],
    ),
    (
        "PushState",
        &[
            "Time date",
            "Type string",
            "Container string",
            "Value string",
        ],
    ),
    (
        "PopState",
        &["Time date", "Type string", "Container string"],
    ),
    (
        "SetVariable",
        &[
            "Time date",
            "Type string",
            "Container string",
            "Value double",
        ],
    ),
    (
        "StartLink",
        &[
            "Time date",
            "Type string",
            "Container string",
            "StartContainer string",
            "Value string",
            "Key string",
        ],
    ),
    (
        "EndLink",
        &[
            "Time date",
            "Type string",
            "Container string",
            "EndContainer string",
            "Value string",
            "Key string",
        ],
    ),
    (
        "DefineEventType",
        &["Alias string", "Type string", "Name string", "Color color"],
    ),
    (
        "NewEvent",
        &[
            "Time date",
            "Type string",
            "Container string",
            "Value string",
        ],
    ),
];

/// Numbers of the event kinds that are written during the run.
const CREATE: u8 = 5;
const DESTROY: u8 = 6;
const PUSH: u8 = 7;
const POP: u8 = 8;
const SET: u8 = 9;
const START_LINK: u8 = 10;
const END_LINK: u8 = 11;
const NEW_EVENT: u8 = 13;

/// Types, and the container of all others: `F` fabric, `J` job, `R` rank, `L` link, `S` the activity of a rank, `U` the
/// use of a link, `M` message, `P` the rank that a rank waited for, at the end of the wait.
const TYPES: &str = "\
0 F 0 Fabric
0 J F Job
0 R J Rank
0 L F Link
1 S R Doing
2 U L \"Used (percent)\" \"0.0 0.45 0.7\"
3 M F R R Message
12 P R \"Waited for\" \"0.0 0.0 0.0\"
";

/// The activities of ranks, with colours that differ in brightness as well.
const VALUES: &[(Doing, &str)] = &[
    (Doing::Computing, "0.60 0.80 0.60"),
    (Doing::Receiving, "0.84 0.37 0.00"),
    (Doing::Sending, "0.34 0.71 0.91"),
    (Doing::Waiting, "0.60 0.60 0.60"),
];
const COLLECTIVES: [&str; 11] = [
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "barrier",
    "reduce_scatter",
    "scan",
    "exscan",
];

/// Aliases: `f` the fabric, `jN` a job, `rN` a track, `lN` a link.
pub(super) struct Paje {
    out: Sink,
    jobs: Vec<u32>,
    tracks: usize,
    links: usize,
    /// The regions that were defined.
    regions: BTreeSet<Arc<str>>,
}

impl Paje {
    pub(super) fn new(mut out: Sink) -> anyhow::Result<Self> {
        for (number, (name, fields)) in EVENTS.iter().enumerate() {
            writeln!(out, "%EventDef Paje{name} {number}")?;
            for field in *fields {
                writeln!(out, "% {field}")?;
            }
            writeln!(out, "%EndEventDef")?;
        }
        write!(out, "{TYPES}")?;
        let values = VALUES.iter().map(|&(doing, colour)| (doing.name(), colour));
        let collectives = COLLECTIVES.map(|name| (name, "0.80 0.47 0.65"));
        for (name, colour) in values.chain(collectives) {
            writeln!(out, "4 {name} S {name} \"{colour}\"")?;
        }
        writeln!(out, "{CREATE} 0.000000000000 f F 0 fabric")?;
        Ok(Self {
            out,
            jobs: Vec::new(),
            tracks: 0,
            links: 0,
            regions: BTreeSet::new(),
        })
    }

    /// Defines a region, and with the first one the states of ranks that regions are.
    fn define(&mut self, region: &Arc<str>) -> anyhow::Result<()> {
        if self.regions.is_empty() {
            writeln!(self.out, "1 G R Region")?;
        }
        if self.regions.insert(Arc::clone(region)) {
            let name = quoted(region);
            writeln!(self.out, "4 {name} G {name} \"0.95 0.90 0.25\"")?;
        }
        Ok(())
    }

    /// An event of `kind` at `ps`, with its fields.
    fn event(&mut self, kind: u8, ps: u64, fields: impl Display) -> anyhow::Result<()> {
        let (seconds, rest) = (ps / PS_PER_S, ps % PS_PER_S);
        Ok(writeln!(self.out, "{kind} {seconds}.{rest:012} {fields}")?)
    }
}

/// A name in quotes, which it cannot have itself.
fn quoted(name: &str) -> String {
    let plain = |c: char| if c == '"' || c.is_control() { '_' } else { c };
    format!("\"{}\"", name.chars().map(plain).collect::<String>())
}

impl Output for Paje {
    fn track(&mut self, track: &StreamTrack<'_>) -> anyhow::Result<()> {
        let of = track.of;
        if !self.jobs.contains(&of.job) {
            self.jobs.push(of.job);
            let fields = format!("j{} J f {}", of.job, quoted(track.job));
            self.event(CREATE, 0, fields)?;
        }
        let stream = match of.stream.index() {
            0 => String::new(),
            _ => format!(" stream {}", of.stream),
        };
        let nic = track.nic_name.map(|name| format!(" ({name})"));
        let nic = nic.unwrap_or_default();
        let name = format!("{} rank {}{stream}{nic}", track.job, of.rank);
        let fields = format!("r{} R j{} {}", self.tracks, of.job, quoted(&name));
        self.tracks += 1;
        self.event(CREATE, 0, fields)
    }

    fn change(&mut self, ps: u64, change: &Change) -> anyhow::Result<()> {
        let track = change.track;
        if let (Some(_), Some(peer)) = (change.from, change.peer) {
            self.event(NEW_EVENT, ps, format_args!("P r{track} \"rank {peer}\""))?;
        }
        if change.from.is_some() {
            self.event(POP, ps, format_args!("S r{track}"))?;
        }
        let [before, now] = &change.regions;
        if before != now {
            if before.is_some() {
                self.event(POP, ps, format_args!("G r{track}"))?;
            }
            if let Some(region) = now {
                self.define(region)?;
                let fields = format!("G r{track} {}", quoted(region));
                self.event(PUSH, ps, fields)?;
            }
        }
        match change.to {
            Some(doing) => self.event(PUSH, ps, format_args!("S r{track} {}", doing.name())),
            None => Ok(()),
        }
    }

    fn sent(&mut self, ps: u64, message: &Message) -> anyhow::Result<()> {
        let (from, bytes, key) = (message.tracks[0], message.sent.bytes, message.number);
        self.event(START_LINK, ps, format_args!("M f r{from} {bytes} {key}"))
    }

    fn delivered(&mut self, ps: u64, message: &Message) -> anyhow::Result<()> {
        let (to, bytes, key) = (message.tracks[1], message.sent.bytes, message.number);
        self.event(END_LINK, ps, format_args!("M f r{to} {bytes} {key}"))
    }

    fn link(&mut self, name: &str) -> anyhow::Result<()> {
        let fields = format!("l{} L f {}", self.links, quoted(name));
        self.links += 1;
        self.event(CREATE, 0, fields)
    }

    fn used(&mut self, span: [u64; 2], link: usize, part: f64) -> anyhow::Result<()> {
        let percent = part * 100.0;
        self.event(SET, span[1], format_args!("U l{link} {percent}"))
    }

    fn finish(mut self: Box<Self>, ps: u64) -> anyhow::Result<()> {
        for link in 0..self.links {
            self.event(DESTROY, ps, format_args!("L l{link}"))?;
        }
        for track in 0..self.tracks {
            self.event(DESTROY, ps, format_args!("R r{track}"))?;
        }
        for job in std::mem::take(&mut self.jobs) {
            self.event(DESTROY, ps, format_args!("J j{job}"))?;
        }
        self.event(DESTROY, ps, "F f")?;
        Ok(self.out.finish()?)
    }
}
