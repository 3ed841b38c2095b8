//! The networks that are analysed side by side.

use super::CongestionArgs;
use crate::cli::{CliError, bad_config, tell};
use flitwise::config::{LoadedNetwork, NetworkSource, load_network};
use flitwise::oblivious::{Lost, Network, Survey};
use std::path::PathBuf;

/// A network with the name that tables give it.
pub(super) struct Candidate {
    pub label: String,
    pub network: Network,
    pub survey: Survey,
    loaded: LoadedNetwork,
}

/// All candidates that the arguments name.
pub(super) fn load(args: &CongestionArgs) -> Result<Vec<Candidate>, CliError> {
    let path = args.fabric.as_deref();
    let shown = path.map_or("the usual fabric".to_owned(), |path| {
        path.display().to_string()
    });
    let load = |tables| load_network(path, tables, &args.sets).map_err(|e| bad_config(path, &e));
    let mut found = Vec::new();
    for tables in &args.tables {
        found.push((tables.display().to_string(), load(Some(tables.as_path()))?));
    }
    if args.tables.is_empty() {
        found.push((shown, load(None)?));
    }
    for note in found.iter().flat_map(|(_, loaded)| &loaded.notes) {
        let line = note
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        tell(format_args!("note: {line}{}", note.text));
    }
    let labels = short(&args.tables);
    found
        .into_iter()
        .enumerate()
        .map(|(at, (whole, loaded))| {
            let label = labels.get(at).cloned().unwrap_or(whole);
            if !loaded.routed {
                let cure = match loaded.source {
                    NetworkSource::Discovery => "name its forwarding tables with --tables",
                    _ => "write destinations into the comments of its edges",
                };
                return Err(CliError::BadInput(format!(
                    "{label}: the network has no routes; {cure}"
                )));
            }
            let network = loaded.network.clone();
            let survey = network.survey();
            Ok(Candidate {
                label,
                network,
                survey,
                loaded,
            })
        })
        .collect()
}

/// What tells paths apart: without the directories that all begin with, and without the names that all end with.
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
    match labels.iter().all(|label| !label.is_empty()) {
        true => labels,
        false => paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
    }
}

impl Candidate {
    /// An error if pairs have no route, unless they are to be skipped.
    pub(super) fn refuse_lost(&self, skip: bool) -> Result<(), CliError> {
        let lost = self.survey.pairs - self.survey.connected();
        let Some(example) = self.survey.examples.first().filter(|_| lost > 0 && !skip) else {
            return Ok(());
        };
        let graph = &self.network.graph;
        let name = |node| &graph.node(node).name;
        let host = |host| name(graph.node_of(host));
        let (node, what) = match example.why {
            Lost::NoEntry(node) => (node, "has no entry for it"),
            Lost::WrongHost(node) => (node, "is another host"),
            Lost::Loop(node) => (node, "is on a routing loop"),
            _ => {
                return Err(CliError::BadInput(format!(
                    "{}: {lost} pairs have no route",
                    self.label
                )));
            }
        };
        let place = self.loaded.entry_place(node, example.dst, example.path);
        let place = place.unwrap_or_else(|| self.label.clone());
        let round = self
            .survey
            .routing_loop
            .as_ref()
            .filter(|_| matches!(example.why, Lost::Loop(_)));
        let round = round.map(|round| {
            let names: Vec<&str> = round.switches.iter().map(|&s| name(s).as_str()).collect();
            format!(" ({})", names.join(" -> "))
        });
        Err(CliError::Failed(format!(
            "{place}: {lost} of {} pairs have no route: that from {} to {} ends at {}, which {what}{}; mend the tables, or leave such \
             pairs out with --skip-lost",
            self.survey.pairs,
            host(example.src),
            host(example.dst),
            name(node),
            round.unwrap_or_default(),
        )))
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
