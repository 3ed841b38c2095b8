//! `flitwise fabric check`, and the same check before a run, which only warns.

use super::{CheckArgs, CliError, print};
use crate::cli::console::json_text;
use flitwise::fabric::analysis::channels::{Buffer, Channel, ChannelGraph, Credits, Towards};
use flitwise::fabric::analysis::routes::{RouteAnalysis, RoutingLoop};
use flitwise::fabric::analysis::{QUICK_STEPS, TooLarge, steps};
use flitwise::fabric::ids::{NicPair, PortId, SwitchId};
use flitwise::fabric::spec::{FabricSpec, SchemeKind};
use flitwise::fabric::switch::Waits;
use flitwise::fabric::switch::hierarchical::CentralQueues;
use flitwise::units::{counted, human_count};
use serde_json::{Value, json};
use std::fmt::{self, Write};
use std::path::Path;

/// Version of the JSON.
const SCHEMA: &str = "flitwise-fabric-check-1";

pub(super) fn run(args: &CheckArgs) -> Result<(), CliError> {
    let loaded = args.source.load()?;
    let verdict =
        Verdict::of(&loaded.fabric).map_err(|e| CliError::BadInput(format!("fabric: {e}")))?;
    if args.json {
        print(&json_text(&verdict.document(args.source.file()))?)?;
    } else {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = verdict.write(&mut text);
        print(&text)?;
    }
    match verdict.problem() {
        None => Ok(()),
        Some(problem) => Err(CliError::Failed(problem)),
    }
}

/// The warning before a run: the fabric can deadlock, or is too large to check in time. `file` and `sets` are the
/// arguments of the run.
pub(in crate::cli) fn warning(spec: &FabricSpec, file: &Path, sets: &[String]) -> Option<String> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let mut command = format!("flitwise fabric check {}", file.display());
    for set in sets {
        command.push_str(&format!(" --set {}", quoted(set)));
    }
    if steps(spec) > QUICK_STEPS {
        return Some(format!(
            "this fabric is too large to look for deadlocks before every run; `{command}` does it"
        ));
    }
    let cycle = Verdict::of(spec).ok()?.cycle?;
    Some(format!(
        "this fabric can deadlock: {} can wait for each other in a cycle; `{command}` shows it",
        counted(cycle.len() as u64, "channel"),
    ))
}

struct Verdict<'a> {
    spec: &'a FabricSpec,
    routes: RouteAnalysis,
    queues: u64,
    dependencies: u64,
    per_destination: bool,
    without_room: [u64; 3],
    cycle: Option<Vec<Channel>>,
}

/// A line of the report.
fn row(out: &mut String, name: &str, state: &str, text: String) -> fmt::Result {
    writeln!(out, "{name:<9} {state:<7} {text}")
}

impl<'a> Verdict<'a> {
    fn of(spec: &'a FabricSpec) -> Result<Self, TooLarge> {
        let routes = RouteAnalysis::new(spec, spec)?;
        let graph = ChannelGraph::new(spec, &routes)?;
        Ok(Self {
            spec,
            queues: graph.queues,
            dependencies: graph.dependencies(),
            per_destination: graph.per_destination,
            without_room: graph.without_room,
            cycle: graph.cycle(),
            routes,
        })
    }

    fn problem(&self) -> Option<String> {
        let lost = self.routes.pairs - self.routes.connected();
        if lost > 0 {
            return Some(format!(
                "{} cannot reach each other; correct the routes",
                counted(lost, "pair")
            ));
        }
        let cycle = self.cycle.as_ref()?;
        Some(format!(
            "the fabric can deadlock: {} can wait for each other in a cycle; {}",
            counted(cycle.len() as u64, "channel"),
            self.cure(cycle)
        ))
    }

    /// A change that would break the cycle.
    fn cure(&self, cycle: &[Channel]) -> &'static str {
        let any = |test: &dyn Fn(&Channel) -> bool| cycle.iter().any(test);
        let central = |c: &Channel| c.buffer == Buffer::Central;
        if self.spec.needs_classes() && self.classes_meet() {
            return "give every service level two SCs, and the first SCs and the second SCs of all \
                    service levels different VLs (qos.sc2vl)";
        }
        let switches = self.spec.hierarchical();
        if switches.is_some_and(|switch| switch.allocator.blocks_other_queues()) {
            return "give a round of the allocator a second iteration: \
                    fabric.allocator_iterations = 2";
        }
        if any(&|c| c.credits == Credits::Shared && !central(c)) {
            return "reserve room for the largest packet on every VL: raise fabric.exclusive or \
                    the buffers, or lower the MTUs";
        }
        if any(&|c| c.credits == Credits::Shared) {
            return "reserve room for the largest packet in every central queue: raise \
                    fabric.central_exclusive or the central buffers, or lower the MTUs";
        }
        let per_vl = match self.spec.switch.kind().waits() {
            Waits::FromBufferToBuffer(at) => at.central_queues == CentralQueues::PerVl,
            Waits::FromInputToInput { .. } => false,
        };
        if any(&central) && per_vl {
            return "take fabric.central_queues = \"per-neighbour\"";
        }
        "take a routing without such turns, or SL-to-VL tables that change the VL on them"
    }

    /// A VL serves both VL classes.
    fn classes_meet(&self) -> bool {
        let qos = &self.spec.qos;
        let scheme = self.spec.queueing_scheme();
        if scheme.is_some_and(|scheme| scheme.kind != SchemeKind::Dbbm) {
            // Every queue of every class has a VL of its own.
            return false;
        }
        let mut classes = [0u8; 32];
        for sl in 0..qos.service_levels.len() {
            for class in 0..self.spec.classes() {
                let queues = 0..qos.queues(sl, self.spec.classes());
                let channel = |queue| self.spec.channel_of_queue(sl, class, queue);
                for channel in queues.filter_map(channel) {
                    classes[usize::from(channel.vl) % 32] |= 1 << class;
                }
            }
        }
        classes.iter().any(|classes| classes.count_ones() > 1)
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "{}", self.spec.topology.family().name())?;
        let qos = &self.spec.qos;
        let scs: usize = qos.service_levels.iter().map(|sl| sl.scs.len()).sum();
        row(
            out,
            "tables",
            "ok",
            format!(
                "{}, {}, {}: each buffer holds the largest packet",
                counted(qos.service_levels.len() as u64, "service level"),
                counted(scs as u64, "SC"),
                counted(qos.vls.into(), "VL")
            ),
        )?;
        self.write_routes(out)?;
        self.write_quotas(out)?;
        self.write_channels(out)
    }

    fn write_routes(&self, out: &mut String) -> fmt::Result {
        let r = &self.routes;
        let connected = format!(
            "{} of {} pairs connected",
            human_count(r.connected()),
            human_count(r.pairs)
        );
        if r.connected() == r.pairs {
            let text = format!("{connected}, no routing loop");
            return row(out, "routes", "ok", text);
        }
        row(out, "routes", "FAILED", connected)?;
        for NicPair { src, dst } in &r.lost {
            let topology = &self.spec.topology;
            let [src, dst] = [*src, *dst].map(|nic| topology.nic_label(nic));
            row(out, "", "", format!("{src} has no route to {dst}"))?;
        }
        if let Some(RoutingLoop { dst, switches }) = &r.routing_loop {
            let topology = &self.spec.topology;
            let label = |switch: &SwitchId| match topology.names() {
                Some(names) => names.switch_label(*switch).to_owned(),
                None => switch.to_string(),
            };
            let switches: Vec<String> = switches.iter().map(label).collect();
            let text = format!(
                "packets for {} go round in a loop: switches {}",
                topology.nic_label(*dst),
                switches.join(" -> ")
            );
            row(out, "", "", text)?;
        }
        Ok(())
    }

    fn write_quotas(&self, out: &mut String) -> fmt::Result {
        let [input, output, central] = self.without_room;
        match input + output + central {
            0 => row(
                out,
                "quotas",
                "ok",
                "every queue has room of its own for its largest packet".into(),
            ),
            _ => row(
                out,
                "quotas",
                "shared",
                format!(
                    "queues that wait for shared credits: {} in input, {} in output, {} in central buffers",
                    human_count(input),
                    human_count(output),
                    human_count(central)
                ),
            ),
        }
    }

    fn write_channels(&self, out: &mut String) -> fmt::Result {
        if self.per_destination {
            let queues = counted(self.queues, "queue");
            let text = format!(
                "{queues}, each for one destination, to which all its routes lead: no cycle"
            );
            return row(out, "channels", "ok", text);
        }
        let graph = format!(
            "{}, {}",
            counted(self.queues, "queue"),
            counted(self.dependencies, "dependency")
        );
        let Some(cycle) = &self.cycle else {
            return row(out, "channels", "ok", format!("{graph}, no cycle"));
        };
        row(
            out,
            "channels",
            "FAILED",
            format!("{graph}; a cycle: each of these waits for the next, the last for the first:"),
        )?;
        for channel in cycle {
            row(out, "", "", self.name(channel))?;
        }
        Ok(())
    }

    fn name(&self, c: &Channel) -> String {
        let topology = &self.spec.topology;
        let switch = topology.switch_label(c.switch);
        let port = PortId::new(c.index);
        let number = topology.device_port(port);
        let place = match c.buffer {
            Buffer::Input => {
                let from = topology.peer_text(c.switch, port);
                format!("{switch} input port {number} (from {from})")
            }
            Buffer::Output => {
                let to = topology.peer_text(c.switch, port);
                format!("{switch} output port {number} (to {to})")
            }
            Buffer::Central => {
                format!(
                    "{switch} central buffer {} (MPort {})",
                    c.index,
                    c.index / 2
                )
            }
        };
        match c.credits {
            Credits::Shared => format!("{place}, credits shared by its queues"),
            Credits::Queue { vl, towards } => match towards {
                None | Some(Towards::All) => format!("{place}, VL {vl}"),
                Some(Towards::Nics) => format!("{place}, VL {vl}, queue to NICs"),
                Some(Towards::Switch(next)) => {
                    let next = topology.switch_label(next);
                    format!("{place}, VL {vl}, queue to {next}")
                }
            },
        }
    }

    /// The JSON of the check (`docs/reference/fabric-command.md`).
    fn document(&self, file: Option<String>) -> Value {
        let r = &self.routes;
        let lost = |&NicPair { src, dst }: &NicPair| json!({ "src": src, "dst": dst });
        let circle = r.routing_loop.as_ref();
        let [input, output, central] = self.without_room;
        let channels = |cycle: &Vec<Channel>| -> Vec<Value> {
            cycle.iter().map(|c| self.in_cycle(c)).collect()
        };
        json!({
            "schema": SCHEMA,
            "file": file,
            "ok": self.problem().is_none(),
            "pairs": r.pairs,
            "connected": r.connected(),
            "not_connected": r.lost.iter().map(lost).collect::<Vec<_>>(),
            "circle": circle.map(|found| json!({ "dst": found.dst, "switches": found.switches })),
            "queues": self.queues,
            "queues_in_shared_space": { "input": input, "output": output, "central": central },
            "dependencies": self.dependencies,
            "cycle": self.cycle.as_ref().map(channels),
            "problem": self.problem(),
        })
    }

    fn in_cycle(&self, c: &Channel) -> Value {
        let (vl, towards) = match c.credits {
            Credits::Shared => (None, None),
            Credits::Queue { vl, towards } => (Some(vl), towards),
        };
        let buffer = match c.buffer {
            Buffer::Input => "input",
            Buffer::Output => "output",
            Buffer::Central => "central",
        };
        let towards = towards.map(|towards| match towards {
            Towards::All => json!("all"),
            Towards::Nics => json!("nics"),
            Towards::Switch(switch) => json!({ "switch": switch }),
        });
        json!({
            "buffer": buffer,
            "switch": c.switch,
            "index": c.index,
            "vl": vl,
            "towards": towards,
            "text": self.name(c),
        })
    }
}
