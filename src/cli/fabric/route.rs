//! `flitwise fabric info --route`: the route of one packet.

use super::{CliError, InfoArgs, names};
use flitwise::fabric::analysis::path::{Path, Step, path, path_via};
use flitwise::fabric::ids::{NicId, NicPair, PortId};
use flitwise::fabric::spec::{FabricSpec, Tick};
use flitwise::units::counted;
use flitwise_base::quote::cut;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::{self, Write};

/// Service level and payload of the packet that was asked for.
fn packet(spec: &FabricSpec, args: &InfoArgs) -> Result<(usize, u32), CliError> {
    let bad = |problem: String| Err(CliError::BadInput(problem));
    let levels = &spec.qos.service_levels;
    let sl = match &args.sl {
        None => 0,
        Some(name) => match levels.iter().position(|level| level.name == *name) {
            Some(sl) => sl,
            None => {
                let known: Vec<&str> = levels.iter().map(|l| l.name.as_str()).collect();
                return bad(format!(
                    "--sl {}: there is no such service level; there are {}",
                    cut(name),
                    cut(&known.join(", "))
                ));
            }
        },
    };
    let mtu = levels[sl].mtu_bytes;
    let payload = match args.packet {
        None => mtu,
        Some(bytes) => match u32::try_from(bytes.0) {
            Ok(payload) if payload <= mtu => payload,
            _ => {
                let name = &levels[sl].name;
                return bad(format!(
                    "--packet: {} B are more than the MTU of {name}, {mtu} B",
                    bytes.0
                ));
            }
        },
    };
    Ok((sl, payload))
}

/// A pair and its route.
pub(super) struct Route<'a> {
    spec: &'a FabricSpec,
    pair: NicPair,
    /// The NIC at whose switch the first of two legs ends, on paths with two legs.
    via: Option<NicId>,
    sl: usize,
    payload: u32,
    path: Path,
}

impl<'a> Route<'a> {
    /// The route that was asked for.
    pub(super) fn of(spec: &'a FabricSpec, args: &InfoArgs) -> Result<Option<Self>, CliError> {
        let Some([src, dst]) = args.route.as_deref() else {
            return Ok(None);
        };
        let bad = |problem: String| Err(CliError::BadInput(problem));
        let nics = spec.topology.nics();
        let switch_of = |nic| spec.topology.attachment(nic).switch;
        let [from, to] = [src, dst].map(|text| names::find(&spec.topology, "--route", text));
        let (from, to) = (from?, to?);
        if from == to {
            return bad(format!(
                "--route {} {}: give two different NICs below {nics}",
                cut(src),
                cut(dst)
            ));
        }
        let paths = &spec.routing.paths;
        if args.via.is_some() && paths.detours().is_none() {
            return bad("--via: paths have one leg; take fabric.paths = \"valiant\"".into());
        }
        let via = args.via.as_deref();
        let via = via.map(|text| names::find(&spec.topology, "--via", text));
        let via = via.transpose()?;
        if let Some(over) = via.filter(|&over| !spec.allows_detour(switch_of(from), to, over)) {
            return bad(format!(
                "--via {over}: no detour leads there from {from} to {to}; take a NIC of another group"
            ));
        }
        // By default the path is minimal.
        let via = match paths.detours() {
            Some(detours) if !detours.rule.is_adaptive() => Some(via.unwrap_or(from)),
            _ => via,
        };
        let (sl, payload) = packet(spec, args)?;
        let (src, dst) = (from, to);
        let pair = NicPair { src, dst };
        let found = match via {
            Some(via) => path_via(spec, spec, pair, via, sl, payload),
            None => path(spec, spec, pair, sl, payload),
        };
        match found {
            Ok(path) => Ok(Some(Self {
                spec,
                pair,
                via,
                sl,
                payload,
                path,
            })),
            Err(e) => {
                let (src, dst) = (spec.topology.nic_text(src), spec.topology.nic_text(dst));
                Err(CliError::Failed(format!("{src} to {dst}: {e}")))
            }
        }
    }

    fn ns(&self, ticks: Tick) -> String {
        format!("{:.2} ns", self.spec.units.tick.ns(ticks.into()))
    }

    pub(super) fn write(&self, out: &mut String) -> fmt::Result {
        let path = &self.path;
        let level = &self.spec.qos.service_levels[self.sl].name;
        let nic = |id| self.spec.topology.nic_text(id);
        let (sc, vl) = path.injection;
        writeln!(
            out,
            "\nroute of a packet of {} B ({}) in {level} from {} to {}{}:",
            self.payload,
            counted(path.flits.into(), "flit"),
            nic(self.pair.src),
            nic(self.pair.dst),
            self.via
                .map(|via| format!(" over the switch of {}", nic(via)))
                .unwrap_or_default()
        )?;
        let src = self.pair.src;
        writeln!(out, "  tick 0: leaves {} on SC {sc}, VL {vl}", nic(src))?;
        for step in &path.steps {
            self.write_step(out, step)?;
        }
        writeln!(
            out,
            "  tick {}: header at {}; tail at tick {}",
            path.header,
            nic(self.pair.dst),
            path.tail
        )?;
        writeln!(
            out,
            "  {}, zero-load latency {} ticks of {} ps, {}",
            counted(path.steps.len() as u64 - 1, "hop"),
            path.tail,
            self.spec.units.tick.length_ps(),
            self.ns(path.tail)
        )
    }

    fn write_step(&self, out: &mut String, step: &Step) -> fmt::Result {
        let topology = &self.spec.topology;
        let kind = self.spec.routing.kind_of_candidates().replace('_', "-");
        let mport = |port| self.spec.switch.kind().mport(port);
        let on_mport = |port: PortId| match mport(port) {
            Some(mport) => format!(" (MPort {mport})"),
            None => String::new(),
        };
        let through = match (mport(step.port_in), step.central) {
            (None, _) => String::new(),
            (Some(mport), None) => format!(" within MPort {mport},"),
            (Some(_), Some(central)) => format!(" through central buffer {central},"),
        };
        let trunk = match (step.candidates.first(), step.candidates.iter().last()) {
            (Some(first), Some(last)) if first < last => {
                format!(" ({kind} {first}-{last})")
            }
            _ => String::new(),
        };
        let (sc, vl) = step.channel;
        // The line begins with the switch, so its ports need only their numbers.
        let own = |port| format!("port {}", topology.device_port(port));
        writeln!(
            out,
            "  tick {}: {} {}{},{through} out of {}{trunk}{} at tick {} on SC {sc}, VL \
             {vl} to {}",
            step.arrives,
            topology.switch_label(step.switch),
            own(step.port_in),
            on_mport(step.port_in),
            own(step.port_out),
            on_mport(step.port_out),
            step.leaves,
            topology.peer_text(step.switch, step.port_out),
        )
    }

    /// `route` of `flitwise fabric info --json` (`docs/reference/fabric-command.md`). Where the operators have no names,
    /// keys with names are absent.
    pub(super) fn document(&self) -> Value {
        let path = &self.path;
        let (sc, vl) = path.injection;
        let names = self.spec.topology.names();
        let label = |nic| names.map(|names| names.nic_label(nic));
        let mut document = json!({
            "src": self.pair.src,
            "dst": self.pair.dst,
            "sl": self.spec.qos.service_levels[self.sl].name,
            "payload_bytes": self.payload,
            "flits": path.flits,
            "hops": path.steps.len() - 1,
            "injection": { "sc": sc, "vl": vl },
            "switches": path.steps.iter().map(|step| self.at_switch(step)).collect::<Vec<_>>(),
            "header_ticks": path.header,
            "latency_ticks": path.tail,
            "latency_ps": self.spec.units.tick.ps(path.tail),
        });
        add(&mut document, "src_name", label(self.pair.src));
        add(&mut document, "dst_name", label(self.pair.dst));
        add(&mut document, "via", self.via);
        document
    }

    /// A switch of a route, with the ports from which the routing chooses.
    fn at_switch(&self, step: &Step) -> Value {
        let mport = |port| self.spec.switch.kind().mport(port);
        let names = self.spec.topology.names();
        let on_device = |port: PortId| names.map(|_| port.get() + 1);
        let candidates = json!({
            "first_port": step.candidates.first(),
            "links": step.candidates.count(),
        });
        let (sc, vl) = step.channel;
        let mut document = json!({
            "switch": step.switch,
            "port_in": step.port_in,
            "mport_in": mport(step.port_in),
            "central_buffer": step.central,
            "port_out": step.port_out,
            "mport_out": mport(step.port_out),
            (self.spec.routing.kind_of_candidates()): candidates,
            "sc": sc,
            "vl": vl,
            "header_arrives_ticks": step.arrives,
            "header_leaves_ticks": step.leaves,
        });
        let name = names.map(|names| names.switch_label(step.switch));
        add(&mut document, "switch_name", name);
        add(&mut document, "device_port_in", on_device(step.port_in));
        add(&mut document, "device_port_out", on_device(step.port_out));
        document
    }
}

/// Adds a key, if it has a value.
fn add(document: &mut Value, key: &str, value: Option<impl Serialize>) {
    if let Some(value) = value {
        document[key] = json!(value);
    }
}
