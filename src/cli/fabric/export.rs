//! `flitwise fabric export`, which writes piece by piece, since forwarding tables are large.

use super::{CliError, ExportArgs, Format};
use crate::config::{FabricOnly, fabric_json};
use crate::fabric::analysis::Routes;
use crate::fabric::spec::{FabricSpec, UpPorts};
use crate::fabric::topology::{Drawing, Peer, Place, Topology};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::ops::Range;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-fabric-export-1";

pub(super) fn run(args: &ExportArgs) -> Result<(), CliError> {
    let misplaced = match args.format {
        Format::Dot if args.lft => Some("--lft belongs to --format json"),
        Format::Json if args.ports => Some("--ports belongs to --format dot"),
        Format::Json if args.no_nics => Some("--no-nics belongs to --format dot"),
        _ => None,
    };
    if let Some(problem) = misplaced {
        return Err(CliError::BadInput(problem.into()));
    }
    let loaded = args.source.load()?;
    let mut out = BufWriter::new(io::stdout().lock());
    let written = match args.format {
        Format::Dot => dot(&mut out, &loaded.fabric.topology, args.ports, !args.no_nics),
        Format::Json => json(&mut out, &loaded, args.lft),
    };
    match written.and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::Failed(format!("cannot write the graph: {e}")))
        }
        _ => Ok(()),
    }
}

/// Links between switches, each once: the end with the lower (switch, port) first.
fn links(topology: &Topology) -> impl Iterator<Item = ((u32, u32), (u32, u32))> + '_ {
    let ends = (0..topology.switches()).flat_map(|s| (0..topology.radix()).map(move |p| (s, p)));
    ends.filter_map(|a| match topology.peer(a.0, a.1) {
        Peer::Switch { switch, port } if a < (switch, port) => Some((a, (switch, port))),
        _ => None,
    })
}

fn dot(out: &mut impl Write, topology: &Topology, ports: bool, nics: bool) -> io::Result<()> {
    writeln!(out, "graph fabric {{")?;
    writeln!(out, "  graph [ranksep=1.2];")?;
    writeln!(out, "  node [fontname=\"sans-serif\"];")?;
    writeln!(out, "  node [shape=box];")?;
    let drawing = topology.family().drawing();
    let names = |switches: &Range<u32>| {
        let names: Vec<String> = switches.clone().map(|s| format!("s{s}")).collect();
        names.join("; ")
    };
    match &drawing {
        // Roots first, so that they are drawn above.
        Drawing::Levels(levels) => {
            for level in levels {
                writeln!(out, "  {{ rank=same; {}; }}", names(level))?;
            }
        }
        Drawing::Groups(groups) => {
            for (number, group) in groups.iter().enumerate() {
                writeln!(out, "  subgraph cluster_{number} {{ {}; }}", names(group))?;
            }
        }
        Drawing::Plain => {
            for switch in 0..topology.switches() {
                writeln!(out, "  s{switch};")?;
            }
        }
    }
    let label = |tail: u32, head: Option<u32>| {
        if !ports {
            return String::new();
        }
        let head = head.map_or(String::new(), |p| format!(", headlabel=\"{p}/{}\"", p / 4));
        format!(" [taillabel=\"{tail}/{}\"{head}]", tail / 4)
    };
    for (a, b) in links(topology) {
        // Upper end first.
        let (a, b) = match drawing {
            Drawing::Levels(_) => (b, a),
            Drawing::Groups(_) | Drawing::Plain => (a, b),
        };
        writeln!(out, "  s{} -- s{}{};", a.0, b.0, label(a.1, Some(b.1)))?;
    }
    if nics {
        writeln!(out, "  node [shape=ellipse];")?;
        for nic in 0..topology.nics() {
            let (switch, port) = topology.attachment(nic);
            writeln!(out, "  s{switch} -- n{nic}{};", label(port, None))?;
        }
    }
    writeln!(out, "}}")
}

/// A list of lines, one per item.
fn list<W: Write>(
    out: &mut W,
    name: &str,
    items: impl Iterator<Item = String>,
    end: &str,
) -> io::Result<()> {
    write!(out, "  \"{name}\": [")?;
    for (i, item) in items.enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}\n    {item}")?;
    }
    writeln!(out, "\n  ]{end}")
}

/// The port towards `dst` as one table can give it: the first link of a trunk, and on the way up a
/// tree the port that the destination selects.
fn own_port(spec: &FabricSpec, switch: u32, dst: u32) -> Option<u32> {
    let candidates = spec.candidates(switch, dst);
    match spec.routing.up_ports {
        UpPorts::LeastQueued => spec.preferred(switch, dst),
        UpPorts::Destination => candidates.first(),
    }
}

fn json(out: &mut impl Write, loaded: &FabricOnly, lft: bool) -> io::Result<()> {
    let spec = &loaded.fabric;
    let topology = &spec.topology;
    writeln!(out, "{{")?;
    writeln!(out, "  \"schema\": \"{SCHEMA}\",")?;
    writeln!(out, "  \"fabric\": {},", fabric_json(spec, loaded.routing))?;
    writeln!(out, "  \"radix\": {},", topology.radix())?;
    writeln!(out, "  \"trunk\": {},", topology.family().trunk())?;
    let switches = (0..topology.switches()).map(|switch| switch_json(topology, switch));
    list(out, "switches", switches, ",")?;
    let nics = (0..topology.nics()).map(|nic| {
        let (switch, port) = topology.attachment(nic);
        format!("{{ \"id\": {nic}, \"switch\": {switch}, \"port\": {port} }}")
    });
    list(out, "nics", nics, ",")?;
    let links = links(topology).map(|(a, b)| {
        let wrap = topology.family().is_wrap_link(a.0, a.1);
        format!(
            "{{ \"a\": [{}, {}], \"b\": [{}, {}], \"wrap\": {wrap} }}",
            a.0, a.1, b.0, b.1
        )
    });
    list(out, "links", links, if lft { "," } else { "" })?;
    if lft {
        let tables = (0..topology.switches()).map(|switch| {
            let port = |dst| match own_port(spec, switch, dst) {
                Some(port) => port.to_string(),
                None => "null".to_owned(),
            };
            let ports: Vec<String> = (0..topology.nics()).map(port).collect();
            format!("[{}]", ports.join(","))
        });
        list(out, "lft", tables, "")?;
    }
    writeln!(out, "}}")
}

fn switch_json(topology: &Topology, switch: u32) -> String {
    let place = match topology.family().place(switch) {
        Place::None => String::new(),
        Place::Coordinates(all) => {
            let all: Vec<String> = all.iter().map(u32::to_string).collect();
            format!(", \"coordinates\": [{}]", all.join(", "))
        }
        Place::Within {
            part,
            number,
            position,
        } => format!(", \"{part}\": {number}, \"position\": {position}"),
    };
    format!("{{ \"id\": {switch}{place} }}")
}
