//! `flitwise fabric export`. It writes piece by piece, because forwarding tables are large.

use super::{CliError, ExportArgs, Format, tell};
use crate::cli::instead::{self, Wanted};
use crate::cli::progress::working;
use flitwise::config::{self, FabricOnly, LoadedNetwork, fabric_json};
use flitwise::fabric::ids::{PortId, SwitchId, SwitchPort};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::topology::{Drawing, Link, Peer, Place, Topology};
use flitwise::results::gbit_per_s;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::ops::Range;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-fabric-export-1";

pub(super) fn run(args: &ExportArgs) -> Result<(), CliError> {
    let misplaced = match args.format {
        Format::Json => None,
        _ if args.lft => Some("--lft belongs to --format json"),
        _ => None,
    };
    let misplaced = misplaced.or(match args.format {
        Format::Dot => None,
        _ if args.ports => Some("--ports belongs to --format dot"),
        _ if args.no_nics => Some("--no-nics belongs to --format dot"),
        _ => None,
    });
    let misplaced = misplaced.or(match args.format {
        Format::Orcs => None,
        _ if args.tables.is_some() => Some("--tables belongs to --format orcs"),
        _ => None,
    });
    if let Some(problem) = misplaced {
        return Err(CliError::BadInput(problem.into()));
    }
    let out = || {
        working::end();
        BufWriter::new(io::stdout().lock())
    };
    match args.format {
        Format::Dot => {
            let (loaded, mut out) = (fabric(args)?, out());
            let written = dot(&mut out, &loaded.fabric, args.ports, !args.no_nics);
            ended(written.and_then(|()| out.flush()))
        }
        Format::Json => {
            let (loaded, mut out) = (fabric(args)?, out());
            ended(json(&mut out, &loaded, args.lft).and_then(|()| out.flush()))
        }
        Format::Orcs => {
            let loaded = network(args)?;
            if loaded.network.tables.paths() > 1 {
                tell(format_args!(
                    "note: hosts have several addresses; the graph has the routes to the first of each"
                ));
            }
            if loaded.routed && loaded.network.tables.own_routes().len() > 0 {
                let problem = "--format orcs lists routes by destination; leave out fabric.source_routes, or take json";
                return Err(CliError::BadInput(problem.into()));
            }
            ended(loaded.network.write_orcs(out(), loaded.routed))
        }
        Format::Ibsim => {
            let found = network(args)?.network.graph.to_discovery();
            let found = found.map_err(|e| CliError::BadInput(e.to_string()))?;
            ended(found.write(out()))
        }
    }
}

/// The fabric of an experiment.
fn fabric(args: &ExportArgs) -> Result<FabricOnly, CliError> {
    let path = args.file.as_deref();
    config::load_fabric(path, &args.sets).map_err(|e| {
        let network = path.and_then(|path| config::load_network(Some(path), None, &[]).ok());
        match network.filter(|network| network.fabric().is_none()) {
            None => instead::error("fabric export", Wanted::Network, path, &e),
            Some(_) => CliError::BadInput(
                "--format dot and json need an experiment file; other networks go out as orcs or ibsim"
                    .into(),
            ),
        }
    })
}

/// Reads the network of any file. Its oddities go to the standard error output.
fn network(args: &ExportArgs) -> Result<LoadedNetwork, CliError> {
    let path = args.file.as_deref();
    let loaded = config::load_network(path, args.tables.as_deref(), &args.sets)
        .map_err(|e| instead::error("fabric export", Wanted::Network, path, &e))?;
    for note in &loaded.notes {
        let line = note
            .line
            .map_or(String::new(), |line| format!("line {line}: "));
        tell(format_args!("note: {line}{}", note.text));
    }
    Ok(loaded)
}

/// Ends an output, whose reader may have closed it early.
fn ended(written: io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::Failed(format!("cannot write the graph: {e}")))
        }
        _ => Ok(()),
    }
}

/// Working links between switches, each once: the lower end first.
fn links(spec: &FabricSpec) -> impl Iterator<Item = Link> + '_ {
    let (topology, failed) = (&spec.topology, spec.routing.failed_ports());
    let of_switch = |s| topology.port_ids().map(move |p| SwitchPort::new(s, p));
    let ends = topology.switch_ids().flat_map(of_switch);
    ends.filter_map(move |a| match topology.peer(a.switch, a.port) {
        Peer::Switch { switch, port } => {
            let b = SwitchPort { switch, port };
            (a < b && !failed.contains(&a)).then_some([a, b])
        }
        Peer::Nic(_) | Peer::None => None,
    })
}

/// Rates and latencies of links, where some of them differ.
struct Speeds<'f>(&'f FabricSpec);

impl<'f> Speeds<'f> {
    fn of(spec: &'f FabricSpec) -> Option<Self> {
        let topology = &spec.topology;
        let rate = |at: SwitchPort| spec.link_rate(at.switch, at.port);
        let between = links(spec).any(|[a, _]| rate(a) != spec.switch_link_rate());
        let mut nics = topology.nic_ids().map(|nic| topology.attachment(nic));
        let differ = between || nics.any(|at| rate(at) != spec.host_link_rate());
        (differ || !spec.link_latency.exceptions.is_empty()).then_some(Self(spec))
    }

    /// Gb/s and nanoseconds of the link at a port.
    fn at(&self, at: SwitchPort) -> [f64; 2] {
        let spec = self.0;
        let rate = gbit_per_s(spec, spec.link_rate(at.switch, at.port));
        let latency = spec.link_latency.at(&spec.topology, at.switch, at.port);
        let ns = latency as f64 * spec.units.tick.length_ps().to_f64() / 1000.0;
        [rate, ns].map(|value| (value * 1e6).round() / 1e6)
    }
}

fn dot(out: &mut impl Write, spec: &FabricSpec, ports: bool, nics: bool) -> io::Result<()> {
    let topology = &spec.topology;
    writeln!(out, "graph fabric {{")?;
    writeln!(out, "  graph [ranksep=1.2];")?;
    writeln!(out, "  node [fontname=\"sans-serif\"];")?;
    writeln!(out, "  node [shape=box];")?;
    let drawing = topology.family().drawing();
    dot_switches(out, topology, &drawing)?;
    let text = |port: PortId| match spec.switch.kind().mport(port) {
        Some(mport) => format!("{port}/{mport}"),
        None => port.to_string(),
    };
    let speeds = Speeds::of(spec);
    let label = |tail: SwitchPort, head: Option<PortId>| {
        let mut attributes = Vec::new();
        if ports {
            attributes.push(format!("taillabel=\"{}\"", text(tail.port)));
            attributes.extend(head.map(|port| format!("headlabel=\"{}\"", text(port))));
        }
        if let Some([rate, latency]) = speeds.as_ref().map(|speeds| speeds.at(tail)) {
            attributes.push(format!("rate_gbps={rate}, latency_ns={latency}"));
        }
        if attributes.is_empty() {
            String::new()
        } else {
            format!(" [{}]", attributes.join(", "))
        }
    };
    for [a, b] in links(spec) {
        // Upper end first.
        let [a, b] = match drawing {
            Drawing::Levels(_) => [b, a],
            Drawing::Groups(_) | Drawing::Plain => [a, b],
        };
        let label = label(a, Some(b.port));
        writeln!(out, "  s{} -- s{}{label};", a.switch, b.switch)?;
    }
    if nics {
        writeln!(out, "  node [shape=ellipse];")?;
        for nic in topology.nic_ids() {
            let at = topology.attachment(nic);
            writeln!(out, "  s{} -- n{nic}{};", at.switch, label(at, None))?;
        }
    }
    writeln!(out, "}}")
}

/// The switches, each level or group together.
fn dot_switches(out: &mut impl Write, topology: &Topology, drawing: &Drawing) -> io::Result<()> {
    let names = |switches: &Range<SwitchId>| {
        let switches = SwitchId::within(switches.clone());
        let names: Vec<String> = switches.map(|s| format!("s{s}")).collect();
        names.join("; ")
    };
    match drawing {
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
            for switch in topology.switch_ids() {
                writeln!(out, "  s{switch};")?;
            }
        }
    }
    Ok(())
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
    writeln!(out, "  \"trunk\": {},", topology.family().trunk())?;
    let switches = topology
        .switch_ids()
        .map(|switch| switch_json(topology, switch));
    list(out, "switches", switches, ",")?;
    let speeds = Speeds::of(spec);
    let speed = |at: SwitchPort| match speeds.as_ref().map(|speeds| speeds.at(at)) {
        Some([rate, latency]) => {
            format!(", \"rate_gbps\": {rate}, \"latency_ns\": {latency}")
        }
        None => String::new(),
    };
    let nics = topology.nic_ids().map(|nic| {
        let at = topology.attachment(nic);
        let SwitchPort { switch, port } = at;
        let named = topology.names().map_or_else(String::new, |names| {
            let name = serde_json::json!(names.nic_label(nic));
            let addresses = names.nic(nic).map_or_else(String::new, |named| {
                format!(
                    ", \"guid\": \"{:#018x}\", \"device_port\": {}, \"lid\": {}",
                    named.guid, named.port, named.lid
                )
            });
            format!(", \"name\": {name}{addresses}")
        });
        format!(
            "{{ \"id\": {nic}, \"switch\": {switch}, \"port\": {port}{}{named} }}",
            speed(at)
        )
    });
    list(out, "nics", nics, ",")?;
    let links = links(spec).map(|[a, b]| {
        let wrap = topology.family().is_wrap_link(a.switch, a.port);
        format!(
            "{{ \"a\": [{}, {}], \"b\": [{}, {}], \"wrap\": {wrap}{} }}",
            a.switch,
            a.port,
            b.switch,
            b.port,
            speed(a)
        )
    });
    list(out, "links", links, if lft { "," } else { "" })?;
    if lft {
        routes_json(out, spec)?;
    }
    writeln!(out, "}}")
}

/// The forwarding tables, and the routes of single pairs if there are any.
fn routes_json(out: &mut impl Write, spec: &FabricSpec) -> io::Result<()> {
    let topology = &spec.topology;
    let tables = topology.switch_ids().map(|switch| {
        let port = |dst| match spec.table_port(switch, dst) {
            Some(port) => port.to_string(),
            None => "null".to_owned(),
        };
        let ports: Vec<String> = topology.nic_ids().map(port).collect();
        format!("[{}]", ports.join(","))
    });
    let routes = &spec.routing.source_routes;
    let comma = if routes.is_empty() { "" } else { "," };
    list(out, "lft", tables, comma)?;
    if !routes.is_empty() {
        let texts = routes.texts().map(|text| format!("\"{text}\""));
        list(out, "source_routes", texts, "")?;
    }
    Ok(())
}

fn switch_json(topology: &Topology, switch: SwitchId) -> String {
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
        Place::OnLine {
            dimension,
            line,
            level,
            position,
        } => format!(
            ", \"dimension\": {dimension}, \"line\": {line}, \"level\": {level}, \"position\": {position}"
        ),
    };
    let named = topology.names().map_or_else(String::new, |names| {
        let name = serde_json::json!(names.switch_label(switch));
        let addresses = names.switch(switch).map_or_else(String::new, |named| {
            let lid = named.lid.map_or("null".to_owned(), |lid| lid.to_string());
            format!(", \"guid\": \"{:#018x}\", \"lid\": {lid}", named.guid)
        });
        format!(", \"name\": {name}{addresses}")
    });
    format!("{{ \"id\": {switch}{place}{named} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_links_are_left_out() {
        let drawn = |failed: &str| {
            let sets = [
                "fabric.topology={kind=\"torus\",dimensions=[3]}".to_owned(),
                "fabric.routing=\"min-hop\"".to_owned(),
                format!("fabric.failure=[{failed}]"),
            ];
            let fabric = config::load_fabric(None, &sets).unwrap().fabric;
            let mut out = Vec::new();
            dot(&mut out, &fabric, false, false).unwrap();
            let text = String::from_utf8(out).unwrap();
            let is_link = |line: &&str| line.contains("--");
            text.lines()
                .filter(is_link)
                .map(|line| line.trim().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(drawn(""), ["s0 -- s1;", "s0 -- s2;", "s1 -- s2;"]);
        assert_eq!(drawn("{what=\"s0 - s1\"}"), ["s0 -- s2;", "s1 -- s2;"]);
    }
}
