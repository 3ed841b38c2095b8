//! Reads networks for static analysis: an experiment file, a graph of a general tool, or the output of `ibnetdiscover`
//! with forwarding tables (`docs/reference/congestion-input.md`). The content tells which one it is.

use crate::config::document::{ConfigError, read, refused};
use crate::config::fabric_only::{FabricOnly, Needed, fabric_of_text};
use crate::config::import::misfit::Misfit;
use crate::config::import::{Imported, read_forwarding, text};
use crate::fabric::ids::{NicId, SwitchId, SwitchPort};
use crate::fabric::spec::FabricSpec;
use crate::fabric::topology::{Peer, Topology};
use crate::oblivious::{EdgeId, Graph, HostId, Network, NetworkError, NodeId, Note, Tables};
use flitwise_formats::graph::Format;
use flitwise_formats::infiniband::{Entry, Forwarding};
use flitwise_formats::source::{shown, stream_id};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A network from a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LoadedNetwork {
    /// The network.
    pub network: Network,
    /// The kind of the file.
    pub source: NetworkSource,
    /// False if the input has no routes, so that the tables are empty.
    pub routed: bool,
    /// Oddities of the input that are no errors.
    pub notes: Vec<Note>,
    /// The text of the experiment; empty for other networks.
    pub text: String,
    file: PathBuf,
    dumped: Option<Dumped>,
}

/// Kind of file that a network is from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NetworkSource {
    /// An experiment, or its defaults.
    Experiment(Box<FabricOnly>),
    /// A graph of a general tool.
    Graph,
    /// The output of `ibnetdiscover`.
    Discovery,
}

/// Forwarding tables as they were written.
#[derive(Debug, Clone, PartialEq)]
struct Dumped {
    file: PathBuf,
    tables: Forwarding,
    /// GUID by switch, LIDs by host.
    guids: Vec<u64>,
    lids: Vec<Range<u32>>,
}

impl LoadedNetwork {
    /// The fabric, if the network is from an experiment.
    #[must_use]
    pub fn fabric(&self) -> Option<&FabricSpec> {
        match &self.source {
            NetworkSource::Experiment(only) => Some(&only.fabric),
            NetworkSource::Graph | NetworkSource::Discovery => None,
        }
    }

    /// `FILE:LINE` of the entry by which `node` sends what is for path `path` of `host`. Without such an entry, of
    /// the heading of its table, or of the node. `None` if no file has the tables.
    #[must_use]
    pub fn entry_place(&self, node: NodeId, host: HostId, path: u32) -> Option<String> {
        let graph = &self.network.graph;
        let (file, line) = match (&self.source, &self.dumped) {
            (NetworkSource::Experiment(_), _) | (NetworkSource::Discovery, None) => return None,
            (NetworkSource::Discovery, Some(dumped)) => {
                let switch = node.get().checked_sub(graph.host_count())?;
                let table = dumped
                    .tables
                    .tables
                    .get(dumped.guids.get(switch as usize)?)?;
                let lid = lid(dumped.lids.get(host.index())?, path);
                let entry = table.entry(lid);
                (&dumped.file, entry.map_or(table.line, |entry| entry.line))
            }
            (NetworkSource::Graph, _) => {
                let column = self.network.tables.column(host, path);
                let edge = match graph.host_at(node) {
                    Some(host) => Some(graph.injection(host)),
                    None => self.network.tables.next(graph, node, column),
                };
                let line = edge.map_or(graph.node(node).line, |edge| graph.edge(edge).line);
                (&self.file, line)
            }
        };
        Some(format!("{}:{line}", shown(file).display()))
    }
}

/// Reads the network of a file: an experiment, of which `[fabric]` counts, with the overrides `sets`; without a file
/// its defaults; a graph; the output of `ibnetdiscover`, with the forwarding tables in the file
/// `tables`. The files may be packed.
///
/// # Errors
/// The first problem found, with its place and a cure.
pub fn load_network(
    path: Option<&Path>,
    tables: Option<&Path>,
    sets: &[String],
) -> Result<LoadedNetwork, ConfigError> {
    let Some(path) = path else {
        refuse_tables(tables)?;
        let fabric = fabric_of_text(None, String::new(), sets, Needed::Routes)?;
        return experiment(fabric, None, String::new());
    };
    let content = text(path, "")?;
    let kind = FileKind::of(&content);
    if let (FileKind::Graph(_) | FileKind::Discovery, Some(set)) = (kind, sets.first()) {
        let problem = format!(
            "`{set}` changes a key of an experiment, and {} is {}; leave it out",
            shown(path).display(),
            kind.name()
        );
        return refused("--set", problem);
    }
    if kind != FileKind::Discovery {
        refuse_tables(tables)?;
    }
    match kind {
        FileKind::Experiment => {
            // A stream can be read once; other files are read again for messages about their encoding.
            let content = match stream_id(path) {
                Some(_) => content,
                None => read(path)?,
            };
            let fabric = fabric_of_text(Some(path), content.clone(), sets, Needed::Routes)?;
            experiment(fabric, Some(path), content)
        }
        FileKind::Graph(format) => {
            let read = Network::from_text(&content, format).map_err(|e| in_file(path, e))?;
            Ok(LoadedNetwork {
                network: read.network,
                source: NetworkSource::Graph,
                routed: read.routed,
                notes: read.notes,
                text: String::new(),
                file: path.to_owned(),
                dumped: None,
            })
        }
        FileKind::Discovery => discovery(&content, path, tables),
        FileKind::Tables => refused(
            "",
            format!(
                "{}: these are forwarding tables, and a network needs its cables; name the output of ibnetdiscover, and these \
                 tables with --tables",
                shown(path).display()
            ),
        ),
    }
}

/// The text of the file of a network, which may be packed; `-` is standard input.
///
/// # Errors
/// If it cannot be read.
pub fn network_text(path: &Path) -> Result<String, ConfigError> {
    text(path, "")
}

/// The form of the network that `text` describes, in words; `None` if the text looks like none but an experiment.
#[must_use]
pub fn network_kind(text: &str) -> Option<&'static str> {
    let kind = FileKind::of(text);
    let is_sure = match kind {
        // Other files begin alike.
        FileKind::Experiment | FileKind::Graph(Format::EdgeList) => false,
        FileKind::Graph(Format::GraphMl) => text.contains("<graphml"),
        FileKind::Graph(Format::NodeLink) => {
            text.contains("\"nodes\"") && text.contains("\"source\"")
        }
        _ => true,
    };
    is_sure.then(|| kind.name())
}

/// The lines by which an experiment names the network that `text`, the content of `path`, describes; `None` if none do.
#[must_use]
pub fn network_lines(path: &Path, text: &str) -> Option<String> {
    let file = |path: &Path| serde_json::Value::from(shown(path).display().to_string());
    let of_dump = |preset: &str, file: &str, more: &str| {
        format!(
            "[fabric]\npreset = \"{preset}\"\ntopology = {{ kind = \"ibnetdiscover\", file = {file} }}{more}"
        )
    };
    match FileKind::of(text) {
        FileKind::Discovery => {
            let imported = Imported::of_text(text, path, "").ok();
            let preset = imported.and_then(|imported| imported.speeds.preset());
            Some(of_dump(
                preset.unwrap_or(USUAL_PRESET),
                &file(path).to_string(),
                "",
            ))
        }
        FileKind::Tables => {
            let more = format!("\nforwarding = {}", file(path));
            Some(of_dump(USUAL_PRESET, "\"ibnetdiscover.txt\"", &more))
        }
        FileKind::Graph(_) => Some(format!(
            "[fabric]\ntopology = {{ kind = \"graph\", file = {} }}",
            file(path)
        )),
        FileKind::Experiment => None,
    }
}

/// The preset for a dump that tells no speeds.
const USUAL_PRESET: &str = "ib-qdr";

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Experiment,
    Graph(Format),
    Discovery,
    /// Forwarding tables, which are no network by themselves.
    Tables,
}

impl FileKind {
    /// Tells by the first words that are no comment.
    fn of(text: &str) -> Self {
        let mut rest = text.trim_start_matches('\u{feff}').trim_start();
        match rest.chars().next() {
            Some('<') => return Self::Graph(Format::GraphMl),
            Some('{') => return Self::Graph(Format::NodeLink),
            _ => {}
        }
        loop {
            let end = match (rest.starts_with(['#']), rest.starts_with("//")) {
                (true, _) | (_, true) => rest.find('\n').map(|at| at + 1),
                _ if rest.starts_with("/*") => rest.find("*/").map(|at| at + 2),
                _ => break,
            };
            rest = rest[end.unwrap_or(rest.len())..].trim_start();
        }
        let word = rest
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or("");
        let next = rest[word.len()..].trim_start().chars().next();
        let in_dot = ["digraph", "graph", "strict"];
        let in_discovery = ["vendid", "devid", "sysimgguid", "switchguid", "caguid"];
        if in_dot.iter().any(|known| word.eq_ignore_ascii_case(known))
            && !matches!(next, Some('=' | '.'))
        {
            return Self::Graph(Format::Dot);
        }
        if ["Unicast lids", "osm_ucast_mgr_dump", "dump_ucast_routes:"]
            .iter()
            .any(|begin| rest.starts_with(begin))
        {
            return Self::Tables;
        }
        let node = ["Switch", "Ca", "Rt", "DR"].contains(&word) && next != Some('=');
        if node || in_discovery.contains(&word) {
            Self::Discovery
        } else if is_edge(rest.lines().next().unwrap_or("")) {
            Self::Graph(Format::EdgeList)
        } else {
            Self::Experiment
        }
    }

    /// The format of a graph; its kind if the text is none.
    pub(super) fn of_graph(text: &str) -> Result<Format, Self> {
        match Self::of(text) {
            Self::Graph(format) => Ok(format),
            other => Err(other),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Experiment => "an experiment file",
            Self::Graph(format) => format.name(),
            Self::Discovery => "the output of ibnetdiscover",
            Self::Tables => "forwarding tables",
        }
    }
}

/// Whether a line may begin a list of edges: two words, which no line of an experiment has.
fn is_edge(line: &str) -> bool {
    let before = line.split('{').next().unwrap_or("");
    let words = before.split([' ', '\t', ',', ';']);
    let mut words = words.map(str::trim).filter(|word| !word.is_empty());
    let is_name = |word: &str| !word.starts_with(['[', '=', '\'', '"']) && !word.contains('=');
    words.next().is_some_and(is_name) && words.next().is_some_and(is_name)
}

fn refuse_tables(tables: Option<&Path>) -> Result<(), ConfigError> {
    let Some(tables) = tables else { return Ok(()) };
    let problem = format!(
        "{}: forwarding tables name switches by GUID, which only the output of ibnetdiscover has; an experiment names \
         its tables in fabric.forwarding, and a graph has its routes in the comments of edges",
        shown(tables).display()
    );
    refused("--tables", problem)
}

/// An error in the file `path`.
pub(super) fn in_file(path: &Path, error: NetworkError) -> ConfigError {
    let NetworkError { line, problem } = error;
    let line = line.map_or(String::new(), |line| format!("{line}:"));
    ConfigError::new("", format!("{}:{line} {problem}", shown(path).display()))
}

fn experiment(
    only: FabricOnly,
    path: Option<&Path>,
    text: String,
) -> Result<LoadedNetwork, ConfigError> {
    let network = Network::of_fabric(&only.fabric);
    Ok(LoadedNetwork {
        network: network.map_err(|e| ConfigError::new("fabric", e.problem))?,
        source: NetworkSource::Experiment(Box::new(only)),
        routed: true,
        notes: Vec::new(),
        text,
        file: path.map(Path::to_owned).unwrap_or_default(),
        dumped: None,
    })
}

fn discovery(
    content: &str,
    path: &Path,
    tables: Option<&Path>,
) -> Result<LoadedNetwork, ConfigError> {
    let imported = Imported::of_text(content, path, "")?;
    let graph = graph(&imported).map_err(|e| in_file(path, e))?;
    let mut notes = Vec::new();
    let mut loaded = LoadedNetwork {
        network: Network {
            tables: Tables::empty(&graph, 1).map_err(|e| in_file(path, e))?,
            graph,
        },
        source: NetworkSource::Discovery,
        routed: false,
        notes: Vec::new(),
        text: String::new(),
        file: path.to_owned(),
        dumped: None,
    };
    if let Some(file) = tables {
        let forwarding = read_forwarding(file, "")?;
        check_lids(&imported, path)?;
        let graph = &loaded.network.graph;
        loaded.network.tables = fill(graph, &imported, &forwarding, file, &mut notes)?;
        loaded.routed = true;
        loaded.dumped = Some(Dumped {
            file: file.to_owned(),
            tables: forwarding,
            guids: imported.switches.keys().copied().collect(),
            lids: imported.lids,
        });
    }
    loaded.notes = notes;
    Ok(loaded)
}

/// Makes the graph. A cable without a known speed counts as the fastest.
fn graph(imported: &Imported) -> Result<Graph, NetworkError> {
    let topology = &imported.topology;
    let known: BTreeMap<SwitchPort, f64> = imported.speeds.known();
    let fastest = known.values().copied().fold(1.0, f64::max);
    Graph::of_topology(topology, |switch, port| {
        let own = SwitchPort::new(switch, port);
        let far = match topology.peer(switch, port) {
            Peer::Switch { switch, port } => SwitchPort::new(switch, port),
            Peer::Nic(_) | Peer::None => own,
        };
        let rate = known.get(&own).or(known.get(&far));
        rate.copied().unwrap_or(fastest)
    })
}

/// Refuses two ports that own the same LID.
fn check_lids(imported: &Imported, path: &Path) -> Result<(), ConfigError> {
    let mut all: Vec<(&Range<u32>, NicId)> =
        (imported.lids.iter()).zip((0..).map(NicId::new)).collect();
    all.sort_unstable_by_key(|(lids, nic)| (lids.start, *nic));
    let both = all.windows(2).find(|two| two[0].0.end > two[1].0.start);
    let Some([(lids, one), (other, two)]) = both else {
        return Ok(());
    };
    let [one, two] = [one, two].map(|nic| host_name(&imported.topology, *nic));
    let problem = format!(
        "LID {} is of {one}, whose LIDs are {} to {}, and of {two}; the file was edited, or is of two sweeps",
        other.start,
        lids.start,
        lids.end - 1
    );
    Err(in_file(path, NetworkError::at(0, problem)))
}

/// The LID of path `path` of a host; one with fewer LIDs than other hosts repeats its own.
fn lid(lids: &Range<u32>, path: u32) -> u16 {
    (lids.start + path % lids.len().max(1) as u32) as u16
}

fn host_name(topology: &Topology, nic: NicId) -> String {
    let names = topology.names();
    names.map_or_else(String::new, |names| names.nic_label(nic).to_owned())
}

/// Forwarding tables of this graph. Entries that are missing are noted, once.
fn fill(
    graph: &Graph,
    imported: &Imported,
    forwarding: &Forwarding,
    file: &Path,
    notes: &mut Vec<Note>,
) -> Result<Tables, ConfigError> {
    let refused = |line, problem| in_file(file, NetworkError::at(line, problem));
    let misfit = Misfit {
        topology: &imported.topology,
        switches: &imported.switches,
        entries: forwarding,
        otherwise: "",
    };
    misfit.check_switches().map_err(|e| refused(0, e))?;
    let paths = imported.lids.iter().map(ExactSizeIterator::len).max();
    let paths = paths.unwrap_or(1) as u32;
    let mut tables = Tables::empty(graph, paths).map_err(|e| in_file(file, e))?;
    let mut missing = 0u64;
    let mut first = None;
    for (guid, &switch) in &imported.switches {
        let Some(table) = forwarding.tables.get(guid) else {
            continue;
        };
        let by_port = edges_by_port(graph, switch);
        for (host, lids) in (0..).map(HostId::new).zip(&imported.lids) {
            for path in 0..paths {
                let lid = lid(lids, path);
                let entry = table.entry(lid);
                let port = entry.map(|entry| entry.port);
                let line = entry.map_or(table.line, |entry| entry.line);
                let port = || misfit.port(switch, NicId::new(host.get()), lid, port);
                if absent(entry) {
                    missing += 1;
                    if first.is_none() {
                        first = port().err().map(|says| (line, says));
                    }
                    continue;
                }
                let port = port().map_err(|says| refused(line, says))?;
                if let Some(&edge) = by_port.get(&(port.get() + 1)) {
                    tables.set(graph, edge, tables.column(host, path));
                }
            }
        }
    }
    if let Some((line, says)) = first {
        let more = match missing - 1 {
            0 => String::new(),
            more => format!(" ({more} more entries are missing)"),
        };
        notes.push(Note::at(line, says + &more));
    }
    Ok(tables)
}

/// True for an entry by which nothing can be sent.
fn absent(entry: Option<&Entry>) -> bool {
    entry.is_none_or(|entry| matches!(entry.port, 0 | 255))
}

/// The edges of a switch by their numbers on the device.
fn edges_by_port(graph: &Graph, switch: SwitchId) -> BTreeMap<u32, EdgeId> {
    let edges = graph.edges_of(graph.switch_node(switch));
    edges.map(|edge| (graph.edge(edge).port, edge)).collect()
}
