//! Which VL a packet takes for its next hop (`docs/model/fabric.md` §7): tables of the rules in
//! [`spec::vls`](crate::spec::vls), for both kinds of switch.

use super::ids::{InputId, OutputId};
use super::queueing::Queues;
use crate::ids::{NicId, PortId};
use crate::spec::{FabricSpec, SlToVl, SpecError, VlPolicy};
use crate::topology::VlClasses;

/// The VL policy of a fabric.
#[derive(Debug)]
pub(super) struct Vls {
    /// Per SL.
    levels: Vec<Level>,
    /// VLs, sorted by SL, then by VL class, then by queue.
    vls: Vec<u8>,
    planes: u32,
    changes: Changes,
}

/// The VLs of a service level.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The first of them.
    first: u32,
    /// Number of queues per VL class.
    queues: u32,
}

/// The reasons for which the VL of a packet changes at a switch.
#[derive(Debug)]
enum Changes {
    /// Nothing: it keeps the VL on which it left its NIC.
    Never,
    /// Its VL class.
    Classes(VlClasses),
    /// Its VL class, which counts on from leg to leg of its path.
    Legs(VlClasses),
    /// SL-to-VL tables, which also decide the first VL.
    Tables(PortTables),
    /// A queueing scheme, which also decides the first VL.
    Queues(Box<Queues>),
}

/// The ports of a packet at a switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hop {
    pub input: InputId,
    pub output: OutputId,
    /// The same ports, numbered within the switch.
    pub in_port: PortId,
    pub out_port: PortId,
    /// The first VL class of the leg of its path that the packet is on.
    pub first_class: u8,
    /// That leg begins here.
    pub leg_begins: bool,
}

impl Hop {
    /// VL class behind the hop of a packet whose class was `class`, if each leg of its path has the classes `of_leg`.
    #[inline]
    pub(super) fn class_behind(&self, of_leg: &VlClasses, class: u8) -> u8 {
        let output = self.output.get();
        let behind = if self.leg_begins {
            of_leg.first(output)
        } else {
            of_leg.behind(
                self.in_port,
                self.out_port,
                output,
                class - self.first_class,
            )
        };
        self.first_class + behind
    }
}

/// VL and VL class of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VlAndClass {
    pub vl: u8,
    pub class: u8,
}

impl Vls {
    /// # Errors
    /// If there are too many different SL-to-VL tables.
    pub(super) fn new(spec: &FabricSpec) -> Result<Self, SpecError> {
        let (mut levels, mut vls) = (Vec::new(), Vec::new());
        let classes = spec.classes();
        for sl in 0..spec.qos.service_levels.len() {
            let queues = spec.qos.queues(sl, classes) as u32;
            levels.push(Level {
                first: vls.len() as u32,
                queues,
            });
            for class in 0..classes {
                let channels =
                    (0..queues as usize).map(|queue| spec.channel_of_queue(sl, class, queue));
                vls.extend(channels.map(|channel| channel.map_or(0, |channel| channel.vl)));
            }
        }
        let changes = match &spec.qos.vl_policy {
            VlPolicy::SlToVl(tables) => Changes::Tables(PortTables::new(spec, tables)?),
            VlPolicy::Queueing(scheme) if spec.queueing_by_more().is_some() => {
                Changes::Queues(Box::new(Queues::new(spec, scheme)))
            }
            VlPolicy::ServiceChannels | VlPolicy::Queueing(_) => {
                match (classes, spec.routing.paths.legs()) {
                    (1, _) => Changes::Never,
                    (_, 1) => Changes::Classes(VlClasses::new(&spec.topology)),
                    _ => Changes::Legs(VlClasses::new(&spec.topology)),
                }
            }
        };
        Ok(Self {
            levels,
            vls,
            planes: spec.topology.planes(),
            changes,
        })
    }

    /// VL of a packet of `sl` for `dst` that leaves `nic`.
    #[inline]
    pub(super) fn at_nic(&self, nic: NicId, dst: NicId, sl: u8) -> u8 {
        match &self.changes {
            Changes::Tables(tables) => tables.at_nic(nic, sl),
            Changes::Queues(queues) => queues.at_nic(nic, dst, sl),
            Changes::Classes(_) | Changes::Legs(_) | Changes::Never => self.of_class(sl, 0, dst),
        }
    }

    /// VL and class of a packet of `sl` for `dst` behind a hop, if it had `before` in front of it.
    /// Calls `hop` only if the hop matters.
    #[inline(always)]
    pub(super) fn behind(
        &self,
        hop: impl FnOnce() -> Hop,
        sl: u8,
        dst: NicId,
        before: VlAndClass,
    ) -> VlAndClass {
        match &self.changes {
            Changes::Never => before,
            Changes::Classes(classes) => {
                let hop = hop();
                let (in_port, out_port) = (hop.in_port, hop.out_port);
                let class = classes.behind(in_port, out_port, hop.output.get(), before.class);
                VlAndClass {
                    vl: self.of_class(sl, class, dst),
                    class,
                }
            }
            Changes::Legs(of_leg) => {
                let class = hop().class_behind(of_leg, before.class);
                VlAndClass {
                    vl: self.of_class(sl, class, dst),
                    class,
                }
            }
            Changes::Tables(tables) => {
                let hop = hop();
                VlAndClass {
                    vl: tables.at_switch(hop.input, hop.out_port, sl),
                    class: before.class,
                }
            }
            Changes::Queues(queues) => queues.behind(hop(), sl, dst, before),
        }
    }

    /// VL of a packet of `sl` for `dst` in VL class `class`, by service channel.
    #[inline(always)]
    fn of_class(&self, sl: u8, class: u8, dst: NicId) -> u8 {
        let Level { first, queues } = self.levels[usize::from(sl)];
        // Most have one queue: a division would cost more than this test.
        let at = match queues {
            1 => u32::from(class),
            _ => u32::from(class) * queues + dst.get() / self.planes % queues,
        };
        self.vls[(first + at) as usize]
    }
}

/// The SL-to-VL tables of switches and NICs. Equal tables are kept once.
#[derive(Debug)]
struct PortTables {
    /// The different tables.
    tables: Vec<Vec<u8>>,
    /// Table of each (in-port over all switches, out-port); empty if all have the default one.
    of_ports: Vec<u16>,
    radix: usize,
    /// Table of each NIC.
    of_nics: Vec<u16>,
}

impl PortTables {
    fn new(spec: &FabricSpec, sl2vl: &SlToVl) -> Result<Self, SpecError> {
        let radix = spec.topology.radix();
        let mut tables = vec![sl2vl.default.clone()];
        let mut position = |table: &Vec<u8>| {
            let at = tables.iter().position(|known| known == table);
            at.unwrap_or_else(|| {
                tables.push(table.clone());
                tables.len() - 1
            }) as u16
        };
        let of_nics = spec
            .topology
            .endpoint_ids()
            .map(|nic| sl2vl.hcas.get(&nic).map_or(0, &mut position))
            .collect();
        let mut of_ports = Vec::new();
        if !sl2vl.ports.is_empty() {
            let ports = spec.topology.switches() * radix;
            of_ports = vec![0; ports as usize * radix as usize];
            for (hop, table) in &sl2vl.ports {
                let in_port = spec.topology.port_index(hop.switch, hop.in_port);
                let at = in_port * radix as usize + hop.out_port.index();
                of_ports[at] = position(table);
            }
        }
        if tables.len() > usize::from(u16::MAX) {
            let (count, most) = (tables.len(), u16::MAX);
            return Err(SpecError {
                key: "fabric.sl2vl",
                problem: format!(
                    "{count} different tables exceed the limit of this engine, {most}"
                ),
            });
        }
        Ok(Self {
            tables,
            of_ports,
            radix: radix as usize,
            of_nics,
        })
    }

    /// VL of a packet of `sl` that leaves `nic`.
    #[inline]
    fn at_nic(&self, nic: NicId, sl: u8) -> u8 {
        self.tables[usize::from(self.of_nics[nic.index()])][usize::from(sl)]
    }

    /// VL of a packet of `sl` from `input` to `out_port` of the same switch.
    #[inline]
    fn at_switch(&self, input: InputId, out_port: PortId, sl: u8) -> u8 {
        let pair = input.index() * self.radix + out_port.index();
        let table = self.of_ports.get(pair).copied().unwrap_or(0);
        self.tables[usize::from(table)][usize::from(sl)]
    }
}
