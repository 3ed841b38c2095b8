//! `flitwise fabric export`: written piece by piece, since forwarding tables are large.

use super::{CliError, ExportArgs, Format};
use crate::config::{FabricOnly, fabric_json};
use crate::fabric::analysis::Routes;
use crate::fabric::routing::NextHop;
use crate::fabric::topology::{Peer, Shape, Topology};
use std::io::{self, BufWriter, ErrorKind, Write};

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
    match topology.shape() {
        // Roots first, so that they are drawn above.
        Shape::Tree(tree) => {
            for level in (0..tree.n()).rev() {
                let first = level * tree.width();
                let names = (first..first + tree.width()).map(|s| format!("s{s}"));
                let names: Vec<String> = names.collect();
                writeln!(out, "  {{ rank=same; {}; }}", names.join("; "))?;
            }
        }
        Shape::Xgft(tree) => {
            for level in (1..=tree.levels()).rev() {
                let names: Vec<String> = tree.switches_of(level).map(|s| format!("s{s}")).collect();
                writeln!(out, "  {{ rank=same; {}; }}", names.join("; "))?;
            }
        }
        Shape::Single | Shape::Cube(_) | Shape::Graph(_) => {
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
    if let Shape::Tree(_) | Shape::Xgft(_) = topology.shape() {
        for (a, b) in links(topology) {
            // Upper end first.
            writeln!(out, "  s{} -- s{}{};", b.0, a.0, label(b.1, Some(a.1)))?;
        }
    } else {
        for (a, b) in links(topology) {
            writeln!(out, "  s{} -- s{}{};", a.0, b.0, label(a.1, Some(b.1)))?;
        }
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

fn json(out: &mut impl Write, loaded: &FabricOnly, lft: bool) -> io::Result<()> {
    let spec = &loaded.fabric;
    let topology = &spec.topology;
    writeln!(out, "{{")?;
    writeln!(out, "  \"schema\": \"{SCHEMA}\",")?;
    writeln!(out, "  \"fabric\": {},", fabric_json(spec, loaded.routing))?;
    writeln!(out, "  \"radix\": {},", topology.radix())?;
    let trunk = match topology.shape() {
        Shape::Cube(cube) => cube.trunk(),
        _ => 1,
    };
    writeln!(out, "  \"trunk\": {trunk},")?;
    let switches = (0..topology.switches()).map(|switch| switch_json(topology, switch));
    list(out, "switches", switches, ",")?;
    let nics = (0..topology.nics()).map(|nic| {
        let (switch, port) = topology.attachment(nic);
        format!("{{ \"id\": {nic}, \"switch\": {switch}, \"port\": {port} }}")
    });
    list(out, "nics", nics, ",")?;
    let links = links(topology).map(|(a, b)| {
        let wrap = match topology.shape() {
            Shape::Cube(cube) => cube.is_wrap_link(a.0, a.1),
            _ => false,
        };
        format!(
            "{{ \"a\": [{}, {}], \"b\": [{}, {}], \"wrap\": {wrap} }}",
            a.0, a.1, b.0, b.1
        )
    });
    list(out, "links", links, if lft { "," } else { "" })?;
    if lft {
        let tables = (0..topology.switches()).map(|switch| {
            let port = |dst| match spec.next_hop(switch, dst) {
                Some(NextHop::Local(port) | NextHop::Trunk { first: port, .. }) => port.to_string(),
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
    let place = match topology.shape() {
        Shape::Single | Shape::Graph(_) => String::new(),
        Shape::Cube(cube) => {
            let coordinates = (0..cube.dimensions().len()).map(|d| cube.coordinate(switch, d));
            let coordinates: Vec<String> = coordinates.map(|c| c.to_string()).collect();
            format!(", \"coordinates\": [{}]", coordinates.join(", "))
        }
        Shape::Tree(tree) => {
            let (level, position) = tree.position(switch);
            format!(", \"level\": {level}, \"position\": {position}")
        }
        Shape::Xgft(tree) => {
            let (level, position) = tree.position(switch);
            format!(", \"level\": {level}, \"position\": {position}")
        }
    };
    format!("{{ \"id\": {switch}{place} }}")
}
