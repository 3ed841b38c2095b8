//! `flitwise fabric info`: sizes, links, hops and bounds of a fabric.

mod document;

use super::route::Route;
use super::{CliError, InfoArgs, print};
use crate::cli::console::json_text;
use flitwise::config::{FabricOnly, Tables};
use flitwise::fabric::analysis::bisection::Bisection;
use flitwise::fabric::analysis::distance::Distances;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::fabric::ids::{PortId, SwitchPort};
use flitwise::fabric::spec::{DetourRule, Detours, FabricSpec, Intermediate};
use flitwise::fabric::switch::BufferCredits;
use flitwise::fabric::switch::hierarchical::MPORT_PORTS;
use flitwise::fabric::topology::Peer;
use flitwise::results::write_table;
use flitwise::units::{Ratio, counted, human_bytes, human_count};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

pub(super) fn run(args: &InfoArgs) -> Result<(), CliError> {
    let loaded = args.source.load()?;
    let spec = &loaded.fabric;
    let route = Route::of(spec, args)?;
    let ports = spec.working_ports();
    let info = Info {
        loaded: &loaded,
        kinds: port_kinds(spec, &ports),
        routes: RouteAnalysis::new(spec, spec).map_err(|e| e.to_string()),
        distances: Distances::new(spec).map_err(|e| e.to_string()),
        bisection: Bisection::new(spec),
        buffers: spec.switch.kind().buffer_credits(&spec.topology, &ports),
        ports,
    };
    if args.json {
        let route = route.as_ref().map(Route::document);
        let document = info.document(args.source.file(), route);
        return print(&json_text(&document)?);
    }
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = info.write(&mut text);
    if let Some(route) = route {
        let _ = route.write(&mut text);
    }
    print(&text)
}

/// Number of ports of each kind that a switch has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct PortKinds {
    nic: u32,
    link: u32,
    free: u32,
}

/// The switches, counted by their ports, of which `used` have a NIC or a working link behind them.
fn port_kinds(spec: &FabricSpec, used: &[Vec<PortId>]) -> BTreeMap<PortKinds, u64> {
    let topology = &spec.topology;
    let mut switches = BTreeMap::new();
    for (switch, used) in topology.switch_ids().zip(used) {
        let is_nic = |&&port: &&PortId| matches!(topology.peer(switch, port), Peer::Nic(_));
        let nic = used.iter().filter(is_nic).count() as u32;
        let kinds = PortKinds {
            nic,
            link: used.len() as u32 - nic,
            free: topology.radix() - used.len() as u32,
        };
        *switches.entry(kinds).or_default() += 1;
    }
    switches
}

/// The most loaded link under uniform traffic.
struct BusyLink {
    from: SwitchPort,
    /// Flits per flit that each NIC offers.
    load: f64,
}

struct Info<'a> {
    loaded: &'a FabricOnly,
    /// By switch, the ports with a NIC or a working link behind them.
    ports: Vec<Vec<PortId>>,
    kinds: BTreeMap<PortKinds, u64>,
    routes: Result<RouteAnalysis, String>,
    distances: Result<Distances, String>,
    bisection: Option<Bisection>,
    buffers: BufferCredits,
}

fn mean(total: u64, count: u64) -> f64 {
    if count == 0 {
        0.0
    } else {
        total as f64 / count as f64
    }
}

fn hops(diameter: usize, total: u64, pairs: u64) -> String {
    format!("diameter {diameter}, average {:.4}", mean(total, pairs))
}

/// The table of pairs by hops.
fn write_hops(out: &mut String, r: &RouteAnalysis) -> fmt::Result {
    let header = ["hops", "pairs", "share"].map(String::from).to_vec();
    let hops = r.pairs_by_hops.iter().enumerate();
    let line = |(hops, &pairs): (usize, &u64)| {
        let share = 100.0 * mean(pairs, r.pairs);
        vec![
            hops.to_string(),
            human_count(pairs),
            format!("{share:.2} %"),
        ]
    };
    let rows: Vec<_> = std::iter::once(header)
        .chain(hops.filter(|&(_, &n)| n > 0).map(line))
        .collect();
    write_table(out, &rows)
}

impl Info<'_> {
    fn spec(&self) -> &FabricSpec {
        &self.loaded.fabric
    }

    fn bytes(&self, credits: u64) -> u64 {
        let units = self.spec().units;
        let credit = u64::from(units.flits_per_credit) * u64::from(units.flit_bytes);
        credits.saturating_mul(credit)
    }

    /// MPorts of a switch, if switches of this kind have any.
    fn mports(&self) -> Option<u32> {
        let spec = self.spec();
        let first = spec.switch.kind().mport(PortId::new(0));
        first.map(|_| spec.topology.radix() / MPORT_PORTS)
    }

    /// Rate of one direction of the usual link between switches.
    fn link_bytes_per_s(&self) -> f64 {
        self.bytes_per_s(self.spec().switch_link_rate())
    }

    /// Rate of one direction of the usual link to a NIC.
    fn host_link_bytes_per_s(&self) -> f64 {
        self.bytes_per_s(self.spec().host_link_rate())
    }

    fn bytes_per_s(&self, flits_per_tick: Ratio) -> f64 {
        let units = self.spec().units;
        let flits_per_s = flits_per_tick.to_f64() * units.tick.per_second();
        f64::from(units.flit_bytes) * flits_per_s
    }

    /// Rate of all links of a cut together in one direction.
    fn cut_bytes_per_s(&self, cut: &Bisection) -> f64 {
        let rates = cut.links_by_rate.iter();
        rates
            .map(|&(rate, links)| links as f64 * self.bytes_per_s(rate))
            .sum()
    }

    /// Working switch-to-switch links and host links, both directions counted once.
    fn links(&self) -> (u64, u64) {
        let kinds = self.kinds.iter();
        let ends: u64 = kinds.map(|(kinds, &n)| u64::from(kinds.link) * n).sum();
        (ends / 2, self.spec().topology.nics().into())
    }

    fn capacity_bytes_per_s(&self) -> f64 {
        let spec = self.spec();
        let topology = &spec.topology;
        if spec.switch.kind().links().is_none() {
            let (switch, host) = self.links();
            return 2.0 * (switch + host) as f64 * self.link_bytes_per_s();
        }
        let directions = |switch, port| match topology.peer(switch, port) {
            Peer::None => 0.0,
            Peer::Switch { .. } => self.bytes_per_s(spec.link_rate(switch, port)),
            Peer::Nic(_) => 2.0 * self.bytes_per_s(spec.link_rate(switch, port)),
        };
        let switches = topology.switch_ids().zip(&self.ports);
        let ends = switches.flat_map(|(switch, ports)| ports.iter().map(move |&p| (switch, p)));
        ends.map(|(switch, port)| directions(switch, port)).sum()
    }

    /// The routes, with the loads of links under uniform traffic.
    fn loads(&self) -> Result<&RouteAnalysis, &str> {
        let routes = self.routes.as_ref().map_err(String::as_str)?;
        match self.spec().routing.paths.detours() {
            Some(Detours {
                rule: DetourRule::Valiant,
                intermediate: Intermediate::Group,
                ..
            }) => Err(
                "loads of detours over groups are not analysed; simulate them with [measure], or take \
                 paths_intermediate = \"nic\"",
            ),
            _ => Ok(routes),
        }
    }

    /// The most loaded link.
    fn busiest(&self, routes: &RouteAnalysis) -> Option<BusyLink> {
        let topology = &self.spec().topology;
        let (at, pairs) = routes.busiest_link()?;
        let others = u64::from(topology.nics() - 1) * routes.share;
        Some(BusyLink {
            from: SwitchPort::of_index(at as u32, topology.radix()),
            load: mean(pairs, others),
        })
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let spec = self.spec();
        let topology = &spec.topology;
        let mut row = |name: &str, value: String| writeln!(out, "{name:<12}  {value}");
        row("topology", topology.family().name())?;
        row("routing", self.loaded.routing.into())?;
        if let Some(tables) = self.tables_text() {
            row("tables", tables)?;
        }
        if let Some(detours) = spec.routing.paths.detours() {
            row("paths", paths_text(detours))?;
        }
        row("NICs", human_count(topology.nics().into()))?;
        row("switches", human_count(topology.switches().into()))?;
        let radix = topology.radix();
        let about = spec.switch.kind().about_ports(radix);
        row("ports", format!("{radix} per switch{about}"))?;
        for (&PortKinds { nic, link, free }, &count) in &self.kinds {
            let kind = counted(count, "switch");
            row("", format!("{kind}: {nic} NIC, {link} link, {free} free"))?;
        }
        row("links", self.links_text())?;
        for (at, text) in self.failed_text().into_iter().enumerate() {
            row(if at == 0 { "failed" } else { "" }, text)?;
        }
        row("hops", self.hops_text())?;
        row("minimal", self.minimal_text())?;
        row("bisection", self.bisection_text())?;
        match self.loads() {
            Ok(routes) => row("uniform", self.uniform_text(routes))?,
            // The hops say why there are no routes.
            Err(_) if self.routes.is_err() => {}
            Err(why) => row("uniform", format!("not computed: {why}"))?,
        }
        let b = &self.buffers;
        row(
            "buffers",
            format!(
                "input {}, output {}, central {}, NICs {}",
                human_bytes(self.bytes(b.input)),
                human_bytes(self.bytes(b.output)),
                human_bytes(self.bytes(b.central)),
                human_bytes(self.bytes(b.nic))
            ),
        )?;
        match &self.routes {
            Ok(routes) => write_hops(out, routes),
            Err(_) => Ok(()),
        }
    }

    /// The tables that decide routes or VLs, if there are any or could be.
    fn tables_text(&self) -> Option<String> {
        let Tables {
            forwarding, sl2vl, ..
        } = &self.loaded.tables;
        let computed = self.spec().routing.forwarding.is_some();
        let own = self.spec().routing.source_routes.0.len();
        if !computed && sl2vl.is_none() && own == 0 && self.spec().topology.names().is_none() {
            return None;
        }
        let routing = self.loaded.routing;
        let ports = match forwarding {
            Some(from) => format!("forwarding tables of {from} decide the ports, not {routing}"),
            None if self.spec().routing.forwarding.is_some() => {
                format!("forwarding tables that {routing} computes decide the ports")
            }
            None if own > 0 => format!("{routing} decides the ports"),
            None => format!("no forwarding tables: {routing} decides the ports"),
        };
        let ports = match own {
            0 => ports,
            _ => {
                let routes = counted(own as u64, "route");
                format!("{routes} of single pairs; for all others {ports}")
            }
        };
        Some(match sl2vl {
            Some(from) => format!("{ports}; SL-to-VL tables of {from} decide the VLs"),
            None => format!("{ports}; no SL-to-VL tables: service channels decide the VLs"),
        })
    }

    /// The links that have failed, a line each.
    fn failed_text(&self) -> Vec<String> {
        let topology = &self.spec().topology;
        let end = |end: SwitchPort| {
            let switch = topology.switch_label(end.switch);
            format!("{switch} port {}", topology.device_port(end.port))
        };
        let failed = self.spec().routing.failed.iter();
        failed
            .map(|&[a, b]| format!("{} - {}", end(a), end(b)))
            .collect()
    }

    fn links_text(&self) -> String {
        let giga = |bytes: f64| format!("{:.1}", bytes / 1e9);
        let spec = self.spec();
        let rates = |of_links: Vec<Ratio>, usual: f64| {
            let least = of_links
                .first()
                .map_or(usual, |&rate| self.bytes_per_s(rate));
            let most = of_links
                .last()
                .map_or(usual, |&rate| self.bytes_per_s(rate));
            if least == most {
                format!("{} GB/s", giga(most))
            } else {
                format!("{} to {} GB/s", giga(least), giga(most))
            }
        };
        let (switch_links, host_links) = self.links();
        let between = counted(switch_links, "link");
        let nics = spec.topology.nic_ids().map(|nic| {
            let SwitchPort { switch, port } = spec.topology.attachment(nic);
            spec.link_rate(switch, port)
        });
        let mut nics: Vec<Ratio> = nics.collect();
        nics.sort_unstable();
        let link = rates(spec.rates_between_switches(), self.link_bytes_per_s());
        let host = rates(nics, self.host_link_bytes_per_s());
        let (hosts, all) = (human_count(host_links), giga(self.capacity_bytes_per_s()));
        let from = &self.loaded.speeds.from;
        if link == host {
            format!(
                "{between} between switches, {hosts} to NICs, {link} each way; {all} GB/s in all ({from})"
            )
        } else {
            format!(
                "{between} between switches, {link} each way, {hosts} to NICs, {host}; {all} GB/s in all ({from})"
            )
        }
    }

    fn hops_text(&self) -> String {
        let r = match &self.routes {
            Ok(routes) => routes,
            Err(why) => return format!("not computed: {why}"),
        };
        let lost = match r.pairs - r.connected() {
            0 => String::new(),
            n => format!(", {} without a route", counted(n, "pair")),
        };
        let text = hops(r.diameter(), r.total_hops(), r.connected());
        let leg = match self.spec().routing.paths.legs() {
            1 => "",
            _ => " on each leg",
        };
        format!("{text}{leg}, as routed{lost}")
    }

    fn minimal_text(&self) -> String {
        match &self.distances {
            Ok(d) => hops(d.diameter(), d.total_hops(), d.pairs_by_hops.iter().sum()),
            Err(why) => format!("not computed: {why}"),
        }
    }

    fn bisection_text(&self) -> String {
        let Some(b) = &self.bisection else {
            return "none: all NICs are on one switch".into();
        };
        let rate = self.cut_bytes_per_s(b);
        format!(
            "{}{}, {:.1} GB/s each way, {:.3} of a link per NIC of a half ({})",
            if b.exact { "" } else { "at most " },
            counted(b.links, "link"),
            rate / 1e9,
            mean(b.links, b.half),
            b.method
        )
    }

    /// `num` / `den` flits per tick in flits per cycle, the time of a flit on the fastest link.
    fn per_cycle(&self, num: u64, den: u64) -> f64 {
        mean(num, den) / self.spec().fastest_link().to_f64()
    }

    fn uniform_text(&self, routes: &RouteAnalysis) -> String {
        let topology = &self.spec().topology;
        let (num, den) = routes.uniform_bound(topology.nics());
        let bound = format!(
            "saturation bound {:.4} flits/cycle/NIC",
            self.per_cycle(num, den)
        );
        match self.busiest(routes) {
            None => format!("{bound}: no link between switches is used"),
            Some(BusyLink { from, load }) => {
                let SwitchPort { switch, port } = from;
                format!(
                    "{bound}; the busiest link, {} -> {}, carries \
                     {load:.4} flits per flit that each NIC offers",
                    topology.port_label(from),
                    topology.peer_text(switch, port)
                )
            }
        }
    }
}

/// The detours that packets may take.
fn paths_text(detours: &Detours) -> String {
    let over = match detours.intermediate {
        Intermediate::Nic => "to the switch of a NIC drawn at random",
        Intermediate::Group => "to a group drawn at random",
    };
    let rule = detours.rule.name();
    match detours.rule {
        DetourRule::Valiant => format!("{rule}: two legs, the first {over}"),
        DetourRule::UgalL | DetourRule::UgalG | DetourRule::Par => {
            format!(
                "{rule}: minimal, or a detour of two legs, the first {over}, as the queues decide"
            )
        }
    }
}
