//! The networks that are analysed side by side.

use super::args::{CongestionArgs, Routing};
use crate::cli::console::tell;
use crate::cli::error::CliError;
use crate::cli::instead::{self, Wanted};
use crate::cli::warnings::tell_each_once;
use flitwise::config::{LoadedNetwork, NetworkSource, load_network};
use flitwise::fabric::topology::Topology;
use flitwise::oblivious::{
    Damaged, Dependencies, EdgeId, HostId, Layers, Lost, LostPair, Network, Request, Survey,
};
use flitwise_base::quote::cut;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Seed of the draws on a network from no experiment.
const USUAL_SEED: u64 = 1;

/// A network with the name that tables give it.
pub(super) struct Candidate {
    pub label: String,
    /// The name of the input, the same for all its routings.
    pub input: String,
    pub network: Network,
    routing: Routing,
    pub survey: Survey,
    /// The effects of failures, if there are any.
    pub damage: Option<Damage>,
    pub deadlock: Option<Deadlock>,
    loaded: Rc<LoadedNetwork>,
}

/// The effects of failures on the network.
pub(super) struct Damage {
    pub lost_hosts: usize,
    /// The cables that are lost, each by its two ends: `L003 port 5 - S001 port 4`.
    pub lost_cables: Vec<String>,
    /// Pairs with another route than before, or with a route only before or only now.
    pub routes_changed: Option<u64>,
    hosts_before: Vec<HostId>,
}

/// Whether routes can deadlock.
pub(super) struct Deadlock {
    /// Edges that wait for each other on one VL.
    pub cycle: Option<Vec<EdgeId>>,
    /// Routes by VL, so that none has a cycle; or why this is not known.
    pub layers: Result<Layers, String>,
}

/// All candidates that the arguments name.
pub(super) fn load(args: &CongestionArgs) -> Result<Vec<Candidate>, CliError> {
    let path = args.fabric.as_deref();
    let wrong = |e| instead::error("congestion", Wanted::Network, path, &e);
    let load = |tables| load_network(path, tables, &args.sets).map_err(wrong);
    let mut found = Vec::new();
    for tables in &args.tables {
        found.push((tables.display().to_string(), load(Some(tables.as_path()))?));
    }
    if args.tables.is_empty() {
        let loaded = load(None)?;
        // Without a file there is a fabric.
        let topology = || {
            loaded
                .fabric()
                .map(|fabric| fabric.topology.family().name())
        };
        let shown = path.map(|path| path.display().to_string());
        let label = args.label.clone().or(shown).or_else(topology);
        found.push((label.unwrap_or_default(), loaded));
    }
    found.iter().for_each(|(_, loaded)| remark(loaded));
    // A single network has the name of its file, not of its tables.
    let labels = match (&args.tables[..], path.and_then(Path::file_name)) {
        ([_], Some(name)) => vec![
            args.label
                .clone()
                .unwrap_or_else(|| name.to_string_lossy().into()),
        ],
        _ => short(&args.tables),
    };
    let mut candidates = Vec::new();
    for (at, (whole, loaded)) in found.into_iter().enumerate() {
        let loaded = Rc::new(loaded);
        let label = labels.get(at).cloned().unwrap_or(whole);
        let routings = match (&args.routing[..], at) {
            ([], _) => vec![Routing::Given],
            // Our routings do not depend on the tables.
            (asked, 0) => asked.to_vec(),
            (asked, _) => asked
                .iter()
                .copied()
                .filter(|&r| r == Routing::Given)
                .collect(),
        };
        for routing in routings {
            candidates.push(candidate(args, &label, &loaded, routing)?);
        }
    }
    let paths = candidates.iter().map(|one| one.network.tables.paths());
    args.options.check_path(paths.max().unwrap_or(1))?;
    Ok(candidates)
}

/// Reports oddities of the input, and keys that are not counted.
fn remark(loaded: &LoadedNetwork) {
    for note in &loaded.notes {
        let line = note
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        tell(format_args!("note: {line}{}", note.text));
    }
    if let NetworkSource::Experiment(only) = &loaded.source {
        tell_each_once(only.uncounted.clone());
    }
}

fn no_routes(source: &NetworkSource) -> String {
    let cure = match source {
        NetworkSource::Discovery => {
            "name its forwarding tables with --tables, or route it with --routing"
        }
        _ => "write destinations into the comments of its edges, or route it with --routing",
    };
    format!("the network has no routes; {cure}")
}

/// The analysis that the experiment asks for, if there is an experiment and it asks for one.
fn requested(source: &NetworkSource) -> Option<Request> {
    match source {
        NetworkSource::Experiment(only) => only.congestion.clone(),
        _ => None,
    }
}

/// The network with one routing.
fn candidate(
    args: &CongestionArgs,
    input: &str,
    loaded: &Rc<LoadedNetwork>,
    routing: Routing,
) -> Result<Candidate, CliError> {
    let bad = |problem: String| CliError::BadInput(format!("{input}: {problem}"));
    let before = &loaded.network;
    let left = if args.fail.is_empty() {
        None
    } else {
        Some(Damaged::of(&before.graph, &args.fail, args.fail_seed).map_err(bad)?)
    };
    let graph = left.as_ref().map_or(&before.graph, |left| &left.graph);
    let tables = match (routing, &left) {
        (Routing::Engine(engine), _) => engine.route(graph),
        (Routing::Given, _) if !loaded.routed => return Err(bad(no_routes(&loaded.source))),
        (Routing::Given, Some(left)) => left.tables_before(before),
        (Routing::Given, None) => Ok(before.tables.clone()),
    };
    let tables = tables.map_err(|e| bad(e.to_string()))?;
    let network = Network {
        graph: graph.clone(),
        tables,
    };
    let choice = args.options.path_choice(requested(&loaded.source).as_ref());
    let end = |edge| before.graph.port_text(edge);
    let cable = |&edge: &EdgeId| {
        let back = before.graph.edge(edge).reverse;
        format!("{} - {}", end(edge), end(back))
    };
    let damage = left.map(|left| Damage {
        lost_hosts: left.lost_hosts.len(),
        lost_cables: left.lost_cables.iter().map(cable).collect(),
        routes_changed: (loaded.routed).then(|| left.routes_changed(before, &network, choice)),
        hosts_before: left.hosts_before,
    });
    let survey = network.survey_by(choice);
    let deadlock = args.vls.then(|| Deadlock {
        cycle: Dependencies::of(&network).cycle(),
        layers: Layers::of(&network),
    });
    Ok(Candidate {
        label: label(args, input, routing),
        input: input.to_owned(),
        network,
        routing,
        survey,
        damage,
        deadlock,
        loaded: loaded.clone(),
    })
}

/// The name of the network of `input` with one routing.
fn label(args: &CongestionArgs, input: &str, routing: Routing) -> String {
    match routing {
        Routing::Given => input.to_owned(),
        Routing::Engine(engine) if args.routing.len() > 1 || args.tables.len() > 1 => {
            engine.to_string()
        }
        Routing::Engine(engine) => format!("{input}, routed by {engine}"),
    }
}

/// Distinguishes paths by their parts: without the directories that all begin with, and without the names that all end
/// with.
fn short(paths: &[PathBuf]) -> Vec<String> {
    let parts: Vec<Vec<_>> = paths
        .iter()
        .map(|path| path.components().collect())
        .collect();
    let Some(first) = parts.first().filter(|_| parts.len() > 1) else {
        return paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
    };
    let shortest = parts.iter().map(Vec::len).min().unwrap_or(0);
    let same = |at: &dyn Fn(&Vec<std::path::Component<'_>>) -> usize| {
        parts.iter().all(|path| path[at(path)] == first[at(first)])
    };
    let head = (0..shortest).take_while(|&i| same(&|_| i)).count();
    let tail = (1..shortest - head.min(shortest - 1))
        .take_while(|&i| same(&|path| path.len() - i))
        .count();
    let label = |path: &Vec<std::path::Component<'_>>| {
        let middle: PathBuf = path[head.min(path.len() - 1)..path.len() - tail]
            .iter()
            .collect();
        middle.display().to_string()
    };
    let labels: Vec<String> = parts.iter().map(label).collect();
    if labels.iter().all(|label| !label.is_empty()) {
        labels
    } else {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    }
}

impl Candidate {
    /// The topology as an experiment describes it; `None` for a graph or a dump. Also `None` if switches have failed,
    /// because then the others have new numbers.
    pub(super) fn topology(&self) -> Option<&Topology> {
        let topology = &self.loaded.fabric()?.topology;
        let graph = &self.network.graph;
        let switches = graph.nodes().len() - graph.hosts().len();
        (topology.switches() as usize == switches).then_some(topology)
    }

    /// The analysis that the experiment asks for, if there is an experiment and it asks for one.
    pub(super) fn request(&self) -> Option<Request> {
        requested(&self.loaded.source)
    }

    /// The text of the experiment; `None` if no experiment describes the network.
    pub(super) fn experiment(&self) -> Option<&str> {
        let text = self.loaded.text.as_str();
        self.is_experiment().then_some(text)
    }

    /// The seed of the experiment, or the usual one.
    pub(super) fn seed(&self) -> u64 {
        match &self.loaded.source {
            NetworkSource::Experiment(only) => only.seed,
            _ => USUAL_SEED,
        }
    }

    /// An error of the input that belongs to no file.
    pub(super) fn bad(&self, problem: String) -> CliError {
        CliError::BadInput(format!("{}: {problem}", self.label))
    }

    /// Whether the network belongs to an experiment.
    pub(super) fn is_experiment(&self) -> bool {
        self.loaded.fabric().is_some()
    }

    /// The number of this host before the failures; `None` if it is gone.
    pub(super) fn host_now(&self, before: HostId) -> Option<HostId> {
        match &self.damage {
            None => Some(before),
            Some(damage) => {
                let at = damage.hosts_before.binary_search(&before).ok()?;
                Some(HostId::new(at as u32))
            }
        }
    }

    /// An error if pairs have no route, unless they are to be skipped.
    pub(super) fn refuse_lost(&self, skip: bool) -> Result<(), CliError> {
        let lost = self.survey.pairs - self.survey.connected();
        let Some(example) = self.survey.examples.first().filter(|_| lost > 0 && !skip) else {
            return Ok(());
        };
        let (graph, pairs) = (&self.network.graph, self.survey.pairs);
        let name = |node| cut(&graph.node(node).name);
        let [from, to] = [example.src, example.dst].map(|host| name(graph.node_of(host)));
        let (node, what) = match example.why {
            Lost::NoEntry(node) => (node, "has no entry for it"),
            Lost::WrongHost(node) => (node, "is another host"),
            Lost::Loop(node) => (node, "is on a routing loop"),
            _ => return Err(self.bad(format!("{lost} pairs have no route"))),
        };
        let (given, failed) = (self.routing == Routing::Given, self.damage.is_some());
        let parted = !graph.reached_from(node)[graph.node_of(example.dst).index()];
        let why = match (parted, self.round(example)) {
            (true, _) => format!("no cables lead from {} to {to}", name(node)),
            (false, round) => format!(
                "the route from {from} to {to} ends at {}, which {what}{round}",
                name(node)
            ),
        };
        // Computed tables cannot be mended, and no tables lead where no cables do.
        let cure = match (parted, given, failed) {
            (true, _, true) => "",
            (true, _, false) => "add a cable, or ",
            (false, false, _) => "take another --routing, or ",
            (false, true, true) => "route the rest with --routing, or ",
            (false, true, false) => "mend the tables, or ",
        };
        let place = (given && !failed && !parted)
            .then(|| self.loaded.entry_place(node, example.dst, example.path))
            .flatten();
        Err(CliError::Failed(format!(
            "{}: {}{lost} of {pairs} pairs have no route: {why}; {cure}leave such pairs out with --skip-lost",
            place.as_ref().unwrap_or(&self.label),
            if failed { "after the failures " } else { "" },
        )))
    }

    /// The switches of the routing loop on which the route of a pair ends, in brackets.
    fn round(&self, pair: &LostPair) -> String {
        let graph = &self.network.graph;
        match &self.survey.routing_loop {
            Some(round) if matches!(pair.why, Lost::Loop(_)) => {
                let names = round.switches.iter().map(|&s| cut(&graph.node(s).name));
                let names: Vec<String> = names.map(|name| name.to_string()).collect();
                format!(" ({})", names.join(" -> "))
            }
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_what_differs() {
        let labels = |paths: &[&str]| short(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(labels(&["/a/x/lft", "/a/y/lft"]), ["x", "y"]);
        assert_eq!(labels(&["a.dump", "b.dump"]), ["a.dump", "b.dump"]);
        assert_eq!(labels(&["d/a.dump"]), ["d/a.dump"]);
        assert_eq!(labels(&["a", "a"]), ["a", "a"]);
        assert_eq!(labels(&["x/a", "x/b/a"]), ["a", "b/a"]);
    }
}
