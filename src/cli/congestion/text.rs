//! The summary of `flitwise congestion`.

use super::analysed::Analysed;
use super::args::CongestionArgs;
use super::candidates::{Damage, Deadlock};
use flitwise::oblivious::{Network, NodeKind, Pattern, SpreadRow};
use flitwise::results::write_table;
use flitwise::units::{counted, human_count};
use std::fmt::Write;

/// Failed cables that a line names.
const MOST_FAILED: usize = 4;

/// Connections that a line of the table of cables names.
const MOST_FLOWS: usize = 4;

pub(super) fn of(args: &CongestionArgs, results: &[Analysed]) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    match results {
        [one] => {
            head(&mut out, one);
            figures(&mut out, one);
            congestions(&mut out, one);
        }
        _ => compare(&mut out, results),
    }
    for check in results.iter().filter_map(|one| one.check.as_ref()) {
        super::check::write(&mut out, check);
    }
    for one in results {
        cables(&mut out, one, args.cables, results.len() > 1);
    }
    out
}

/// `324 hosts, 27 switches, 972 cables`.
fn size(network: &Network) -> String {
    let graph = &network.graph;
    let switches = graph
        .nodes()
        .iter()
        .filter(|node| node.kind == NodeKind::Switch)
        .count();
    format!(
        "{}, {}, {}",
        counted(graph.host_count().into(), "host"),
        counted(switches as u64, "switch"),
        counted(graph.edges().len() as u64 / 2, "cable")
    )
}

/// `bisect, 16 ranks, 1 level`.
fn pattern(one: &Analysed) -> String {
    let settings = &one.settings;
    let ranks = settings.mapping.ranks;
    let levels = match (settings.level, settings.pattern.levels(ranks)) {
        (Some(level), levels) => format!("level {level} of {levels}"),
        (None, levels) => counted(levels.into(), "level"),
    };
    format!(
        "{}, {}, {levels}",
        settings.pattern,
        counted(ranks.into(), "rank")
    )
}

/// `1,000 runs, seed 1, hosts in random order; --in-order keeps theirs`.
fn runs(one: &Analysed) -> String {
    let runs = counted(one.analysis.runs.len() as u64, "run");
    let mapping = &one.settings.mapping;
    let some = mapping.ranks < one.candidate.network.graph.host_count();
    let order = if mapping.shuffle {
        ", hosts in random order; --in-order keeps theirs"
    } else if mapping.is_drawn() && some {
        ", drawn hosts in their order"
    } else {
        ", hosts in their order"
    };
    format!("{runs}, seed {}{order}", one.settings.seed)
}

fn head(out: &mut String, one: &Analysed) {
    let row = |out: &mut String, name: &str, text: &str| {
        let _ = writeln!(out, "{name:<11} {text}");
    };
    row(
        out,
        "network",
        &format!("{}: {}", one.label, size(&one.candidate.network)),
    );
    let survey = &one.candidate.survey;
    let mut routes = format!("{} pairs", human_count(survey.pairs));
    let lost = survey.pairs - survey.connected();
    if lost > 0 {
        let _ = write!(routes, ", {} without a route", human_count(lost));
    }
    if let Some((least, most, _)) = survey.between_switches(&one.candidate.network) {
        let _ = write!(
            routes,
            ", {} to {} over each direction of a cable between switches",
            human_count(least),
            human_count(most)
        );
    }
    row(out, "routes", &routes);
    if let Some(damage) = &one.candidate.damage {
        row(out, "failed", &failed(damage));
    }
    if let Some(deadlock) = &one.candidate.deadlock {
        row(out, "VLs", &vls(deadlock, &one.candidate.network));
    }
    row(out, "pattern", &pattern(one));
    row(out, "runs", &runs(one));
    if let Some(worst) = &one.worst {
        let graph = &one.candidate.network.graph;
        let at = worst.edge.map_or(String::new(), |edge| {
            format!(", at {}", graph.edge_text(edge))
        });
        let text = if worst.exact() {
            format!(
                "the worst permutation of hosts has congestion {}{at}",
                worst.congestion
            )
        } else {
            format!(
                "no permutation of hosts has a congestion above {}; one has {}{at}",
                worst.bound, worst.congestion
            )
        };
        row(out, "worst case", &text);
    }
    let lost = one.analysis.lost();
    if lost > 0 {
        row(
            out,
            "left out",
            &format!("{} of the pattern without a route", counted(lost, "pair")),
        );
    }
}

/// `2 cables (L003 port 5 - S001 port 4, …), 4 hosts; 96 routes changed`.
fn failed(damage: &Damage) -> String {
    let cables = &damage.lost_cables;
    let mut text = counted(cables.len() as u64, "cable");
    if !cables.is_empty() {
        let mut named = cables[..cables.len().min(MOST_FAILED)].to_vec();
        if cables.len() > MOST_FAILED {
            named.push(format!(
                "{} more",
                human_count((cables.len() - MOST_FAILED) as u64)
            ));
        }
        let _ = write!(text, " ({})", named.join(", "));
    }
    if damage.lost_hosts > 0 {
        let _ = write!(text, ", {}", counted(damage.lost_hosts as u64, "host"));
    }
    if let Some(changed) = damage.routes_changed {
        let _ = write!(text, "; {} changed or lost", counted(changed, "route"));
    }
    text
}

/// Whether one VL can deadlock, the cycle, and the number of VLs that cannot.
fn vls(deadlock: &Deadlock, network: &Network) -> String {
    let Some(cycle) = &deadlock.cycle else {
        return "1 is enough: cables do not wait for each other in a cycle".into();
    };
    let names: Vec<String> = cycle
        .iter()
        .map(|&edge| network.graph.edge_text(edge))
        .collect();
    let enough = match &deadlock.layers {
        Ok(layers) => format!("{} are enough", layers.count()),
        Err(why) => why.clone(),
    };
    format!(
        "{enough}; on one VL these cables wait for each other in a cycle: {}",
        names.join("; ")
    )
}

/// The figures that exist.
fn rows(one: &Analysed) -> Vec<SpreadRow> {
    one.spreads.rows(one.settings.pattern.has_bytes())
}

fn figures(out: &mut String, one: &Analysed) {
    let header = [
        "", "mean", "± 95 %", "least", "5 %", "median", "95 %", "most",
    ];
    let mut table = vec![header.map(String::from).to_vec()];
    let single = one.analysis.runs.len() == 1;
    if single {
        table[0].truncate(2);
        table[0][1] = "value".to_owned();
    }
    for figure in rows(one) {
        let (s, cell) = (figure.spread, |value: f64| figure.text(value));
        let mut row = vec![figure.name.to_owned(), cell(s.mean)];
        if !single {
            row.push(s.half_width.map_or(String::new(), cell));
            row.extend([s.least, s.p05, s.median, s.p95, s.most].map(cell));
        }
        table.push(row);
    }
    let _ = write_table(out, &table);
}

/// Connections by congestion.
fn congestions(out: &mut String, one: &Analysed) {
    let histogram = one.analysis.histogram();
    let all = histogram.connections();
    let header = ["congestion", "connections", "share"]
        .map(String::from)
        .to_vec();
    let mut table = vec![header];
    // Many values share a line: 1, 2, … 8, then up to the next power of two.
    let mut lines: Vec<(u64, u64, u64)> = Vec::new();
    for (value, count) in histogram.of_connections() {
        match lines.last_mut() {
            Some((first, last, sum))
                if value > 8 && *first > 8 && value < first.next_power_of_two() * 2 =>
            {
                *last = value;
                *sum += count;
            }
            _ => lines.push((value, value, count)),
        }
    }
    for (first, last, count) in lines {
        let range = if first == last {
            first.to_string()
        } else {
            format!("{first} to {last}")
        };
        let share = 100.0 * count as f64 / all.max(1) as f64;
        table.push(vec![range, human_count(count), format!("{share:.2} %")]);
    }
    let _ = write_table(out, &table);
}

/// Candidates side by side.
fn compare(out: &mut String, results: &[Analysed]) {
    let Some(first) = results.first() else { return };
    let differ = (results.iter()).any(|one| one.settings.pattern != first.settings.pattern);
    let sent = match &first.settings.pattern {
        Pattern::Versus(both) if differ => {
            format!("{} on {} ranks", both.first, human_count(both.ranks.into()))
        }
        _ => pattern(first),
    };
    let _ = writeln!(out, "{:<11} {sent}", "pattern");
    let _ = writeln!(out, "{:<11} {}", "runs", runs(first));
    let mut table = vec![vec![String::new()]];
    table[0].extend(results.iter().map(|one| one.label.clone()));
    let mut row = |name: &str, cell: &dyn Fn(&Analysed) -> String| {
        let cells = std::iter::once(name.to_owned()).chain(results.iter().map(cell));
        table.push(cells.collect());
    };
    row("pairs without a route", &|one| {
        human_count(one.candidate.survey.pairs - one.candidate.survey.connected())
    });
    row("routes on a cable between switches", &routes_on_cables);
    row("longest route, cables", &|one| {
        let lengths = one.candidate.survey.by_edges.len();
        lengths.saturating_sub(1).to_string()
    });
    if first.candidate.damage.is_some() {
        row("routes changed or lost", &routes_changed);
    }
    if first.candidate.deadlock.is_some() {
        row("VLs without a deadlock", &vls_without_deadlock);
    }
    for figure in rows(first) {
        row(figure.name, &|one| metric(one, figure.name));
    }
    if first.worst.is_some() {
        row("worst permutation", &worst);
    }
    let _ = write_table(out, &table);
}

/// The text of a table cell without a value.
const NONE: &str = "-";

fn routes_on_cables(one: &Analysed) -> String {
    let survey = &one.candidate.survey;
    match survey.between_switches(&one.candidate.network) {
        Some((least, most, _)) if least < most => {
            format!("{} to {}", human_count(least), human_count(most))
        }
        Some((least, ..)) => human_count(least),
        None => NONE.into(),
    }
}

fn routes_changed(one: &Analysed) -> String {
    let damage = one.candidate.damage.as_ref();
    let changed = damage.and_then(|damage| damage.routes_changed);
    changed.map_or(NONE.into(), human_count)
}

/// Number of VLs with which the routes cannot deadlock.
fn vls_without_deadlock(one: &Analysed) -> String {
    match &one.candidate.deadlock {
        Some(Deadlock { cycle: None, .. }) => "1".into(),
        Some(Deadlock {
            layers: Ok(layers), ..
        }) => layers.count().to_string(),
        _ => NONE.into(),
    }
}

/// Mean and interval of a figure.
fn metric(one: &Analysed, name: &str) -> String {
    let own = rows(one);
    let own = own.iter().find(|own| own.name == name);
    own.map_or(NONE.into(), SpreadRow::mean_text)
}

fn worst(one: &Analysed) -> String {
    match &one.worst {
        Some(worst) if worst.exact() => worst.congestion.to_string(),
        Some(worst) => format!("{} to {}", worst.congestion, worst.bound),
        None => NONE.into(),
    }
}

/// The cables with the largest loads.
fn cables(out: &mut String, one: &Analysed, most: usize, named: bool) {
    let hottest = &one.hottest[..most.min(one.hottest.len())];
    if hottest.is_empty() {
        return;
    }
    if named {
        let _ = writeln!(out, "\n{}", one.label);
    }
    let graph = &one.candidate.network.graph;
    let header = ["cable", "mean", "most", "then crossed by"]
        .map(String::from)
        .to_vec();
    let mut table = vec![header];
    for hot in hottest {
        let flows = &hot.flows;
        let name = |host| graph.host_name(host);
        let mut text: Vec<String> = (flows.iter().take(MOST_FLOWS))
            .map(|[src, dst]| format!("{} -> {}", name(*src), name(*dst)))
            .collect();
        if flows.len() > MOST_FLOWS {
            text.push(format!(
                "{} more",
                human_count((flows.len() - MOST_FLOWS) as u64)
            ));
        }
        let of_host = if graph.is_between_switches(hot.edge) {
            ""
        } else {
            " (host)"
        };
        table.push(vec![
            graph.edge_text(hot.edge) + of_host,
            format!("{:.2}", one.outcome().mean(&hot.load)),
            human_count(hot.load.peak),
            text.join(", "),
        ]);
    }
    let _ = write_table(out, &table);
}
