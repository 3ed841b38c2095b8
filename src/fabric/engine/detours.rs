//! Detours (`docs/model/fabric.md` §7): which packets leave the minimal path, over which NIC, and on which leg of
//! its path each packet is. [`next_hop`](super::next_hop) asks at every switch.

use super::choice::{Choice, Occupancy};
use super::ids::OutputId;
use super::next_hop::{Context, Table};
use super::pool::PacketId;
use crate::ids::{NicId, SwitchId};
use crate::spec::{self, DetourRule, FabricSpec, Intermediate};
use crate::topology::Peer;
use flitwise_base::random::{Purpose, Stream};

/// The leg of its path that a packet is on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leg {
    /// NIC that it is routed to.
    pub target: NicId,
    /// The first VL class of the leg.
    pub first_class: u8,
    /// The leg begins at this switch.
    pub begins: bool,
}

/// No NIC.
const NO_NIC: NicId = NicId::new(u32::MAX);
/// No switch, no group.
const NONE: u32 = u32::MAX;

/// The progress of a packet on its path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// The NIC that the first leg of its detour leads to; [`NO_NIC`] on the minimal path and on the second leg.
    via: NicId,
    /// Number of its leg.
    leg: u8,
    /// It is on the minimal path.
    minimal: bool,
}

/// At the switch of the source NIC.
const START: Progress = Progress {
    via: NO_NIC,
    leg: 0,
    minimal: true,
};

/// Paths over a NIC drawn at random.
#[derive(Debug)]
pub(super) struct Detours {
    rule: DetourRule,
    bias: u64,
    /// Leg with which a detour begins.
    first_leg: u8,
    /// The first VL class of each leg.
    first_class: [u8; 3],
    /// Per in-port: the random stream of its packets; `None` where they draw nothing.
    streams: Vec<Option<Stream>>,
    /// Per in-port: a NIC is connected to it.
    is_source: Vec<bool>,
    /// By packet.
    progress: Vec<Progress>,
    places: Places,
}

impl Detours {
    /// `None` if all paths are minimal.
    pub(super) fn new(spec: &FabricSpec) -> Option<Self> {
        let &spec::Detours {
            rule,
            intermediate,
            bias,
            seed,
        } = spec.routing.paths.detours()?;
        let topology = &spec.topology;
        let ports = || {
            let of = |switch| topology.port_ids().map(move |port| (switch, port));
            topology.switch_ids().flat_map(of)
        };
        let stream = |component| Some(Stream::new(seed, Purpose::Paths, component));
        let stream_at = |(switch, port)| match topology.peer(switch, port) {
            Peer::Nic(nic) => stream([nic.get().into(), 0]),
            Peer::Switch { .. } if rule == DetourRule::Par => {
                stream([topology.port_index(switch, port) as u64, 1])
            }
            Peer::Switch { .. } | Peer::None => None,
        };
        let mut first_class = [0; 3];
        for (leg, class) in (0..spec.routing.paths.legs()).zip(&mut first_class) {
            *class = spec.first_class(leg);
        }
        Some(Self {
            rule,
            bias: bias.into(),
            first_leg: spec::Detours::first_leg(spec.routing.paths.detours()?),
            first_class,
            streams: ports().map(stream_at).collect(),
            is_source: ports()
                .map(|(switch, port)| matches!(topology.peer(switch, port), Peer::Nic(_)))
                .collect(),
            progress: Vec::new(),
            places: Places::new(spec, intermediate, rule),
        })
    }

    /// Whether the queues of outputs decide.
    pub(super) fn by_queues(&self) -> bool {
        self.rule.is_adaptive()
    }

    /// The progress of packet `id`.
    pub(super) fn progress(&self, id: PacketId) -> Progress {
        self.progress.get(id.index()).copied().unwrap_or(START)
    }

    pub(super) fn set_progress(&mut self, id: PacketId, progress: Progress) {
        if self.progress.len() <= id.index() {
            self.progress.resize(id.index() + 1, START);
        }
        self.progress[id.index()] = progress;
    }

    /// The leg of a packet at a switch.
    pub(super) fn leg<O: Occupancy>(
        &mut self,
        at: &mut Context<O>,
        table: &Table,
        choice: &Choice,
    ) -> Leg {
        let source = self.is_source[at.input.index()];
        let before = if source {
            START
        } else {
            self.progress(at.packet)
        };
        let mut now = before;
        let asked = match self.rule {
            DetourRule::Par => before.minimal,
            DetourRule::Valiant | DetourRule::UgalL | DetourRule::UgalG => source,
        };
        if asked && let Some(via) = self.detour(at, table, choice) {
            now = Progress {
                via,
                leg: self.first_leg,
                minimal: false,
            };
        }
        if now.via != NO_NIC && self.places.ends(at.switch, now.via) {
            (now.via, now.leg) = (NO_NIC, now.leg + 1);
        }
        self.set_progress(at.packet, now);
        Leg {
            target: if now.via == NO_NIC { at.dst } else { now.via },
            first_class: self.first_class[usize::from(now.leg)],
            begins: now.leg != before.leg,
        }
    }

    /// The NIC over which a packet that is asked takes a detour, if it takes one.
    fn detour<O: Occupancy>(
        &mut self,
        at: &mut Context<O>,
        table: &Table,
        choice: &Choice,
    ) -> Option<NicId> {
        let allowed = self.places.allowed(self.rule, at.switch, at.dst);
        let stream = self.streams[at.input.index()].as_mut()?;
        if allowed == 0 {
            return None;
        }
        let draw = stream.below(allowed.into()) as u32;
        let via = self.places.pick(at.switch, at.dst, draw);
        if self.rule == DetourRule::Valiant {
            return Some(via);
        }
        let all_queues = self.rule == DetourRule::UgalG;
        let mut cost = |via| {
            let costs = PathCosts {
                places: &self.places,
                table,
                choice,
                all_queues,
            };
            costs.cost(at, via)
        };
        let (minimal, detour) = (cost(None), cost(Some(via)));
        (minimal > detour + self.bias).then_some(via)
    }
}

/// The places of switches, NICs and groups in the topology, as far as detours need them.
#[derive(Debug)]
struct Places {
    /// Switch of each NIC.
    switch_of: Vec<SwitchId>,
    /// Group of each switch; empty without groups.
    group_of: Vec<u32>,
    /// The groups, if detours lead over groups.
    groups: Option<Groups>,
    /// Switch behind each output; [`NONE`] if there is none. Empty if no rule needs it.
    behind: Vec<u32>,
}

/// The NICs of the groups.
#[derive(Debug)]
struct Groups {
    /// All NICs, group by group.
    nics: Vec<NicId>,
    /// Index of the first NIC of each group, and the number of NICs at the end.
    first: Vec<u32>,
}

impl Places {
    fn new(spec: &FabricSpec, intermediate: Intermediate, rule: DetourRule) -> Self {
        let topology = &spec.topology;
        let of_switch = |switch| topology.family().global_group(switch);
        let group_of: Option<Vec<u32>> = topology.switch_ids().map(of_switch).collect();
        let group_of = group_of.unwrap_or_default();
        let switch_of: Vec<SwitchId> = topology
            .nic_ids()
            .map(|nic| topology.attachment(nic).switch)
            .collect();
        let behind = |switch| {
            topology
                .port_ids()
                .map(move |port| match topology.peer(switch, port) {
                    Peer::Switch { switch, .. } => switch.get(),
                    Peer::Nic(_) | Peer::None => NONE,
                })
        };
        Self {
            groups: match intermediate {
                Intermediate::Nic => None,
                Intermediate::Group => Some(Groups::new(&switch_of, &group_of)),
            },
            behind: if rule.is_adaptive() {
                topology.switch_ids().flat_map(behind).collect()
            } else {
                Vec::new()
            },
            switch_of,
            group_of,
        }
    }

    fn group(&self, switch: SwitchId) -> u32 {
        self.group_of.get(switch.index()).copied().unwrap_or(NONE)
    }

    /// See [`FabricSpec::is_near`].
    fn is_near(&self, switch: SwitchId, dst: NicId) -> bool {
        let home = self.switch_of[dst.index()];
        if self.group_of.is_empty() {
            switch == home
        } else {
            self.group(switch) == self.group(home)
        }
    }

    /// Whether the first leg of a detour over NIC `via` ends at `switch`.
    fn ends(&self, switch: SwitchId, via: NicId) -> bool {
        match self.groups {
            Some(_) => self.is_near(switch, via),
            None => self.switch_of[via.index()] == switch,
        }
    }

    /// The number of NICs over which detours from `switch` to `dst` may lead.
    fn allowed(&self, rule: DetourRule, switch: SwitchId, dst: NicId) -> u32 {
        let all = self.switch_of.len() as u32;
        match &self.groups {
            None if !rule.is_adaptive() => all,
            _ if self.is_near(switch, dst) => 0,
            None => all,
            Some(groups) => {
                let home = self.switch_of[dst.index()];
                let [own, other] = [switch, home].map(|s| groups.range(self.group(s)));
                all - (own.1 - own.0) - (other.1 - other.0)
            }
        }
    }

    /// The NIC at position `draw` of those allowed.
    fn pick(&self, switch: SwitchId, dst: NicId, draw: u32) -> NicId {
        let Some(groups) = &self.groups else {
            return NicId::new(draw);
        };
        let home = self.switch_of[dst.index()];
        let mut out = [switch, home].map(|s| groups.range(self.group(s)));
        out.sort_unstable();
        let at = out.iter().fold(
            draw,
            |at, &(first, end)| if at < first { at } else { at + (end - first) },
        );
        groups.nics[at as usize]
    }
}

impl Groups {
    fn new(switch_of: &[SwitchId], group_of: &[u32]) -> Self {
        let group = |nic: &NicId| group_of[switch_of[nic.index()].index()];
        let mut nics: Vec<NicId> = NicId::all(switch_of.len() as u32).collect();
        nics.sort_by_key(group);
        let count = group_of.iter().max().map_or(0, |&last| last + 1);
        let first = (0..=count).map(|g| nics.partition_point(|nic| group(nic) < g) as u32);
        Self {
            first: first.collect(),
            nics,
        }
    }

    /// The index of the first NIC of a group, and the index behind its last.
    fn range(&self, group: u32) -> (u32, u32) {
        (self.first[group as usize], self.first[group as usize + 1])
    }
}

/// The costs by which paths are compared.
struct PathCosts<'a> {
    places: &'a Places,
    table: &'a Table,
    choice: &'a Choice,
    /// Of all switches, not only of the present one.
    all_queues: bool,
}

impl PathCosts<'_> {
    /// Queue times hops of the path from the present switch to the destination, over NIC `via` if it is a detour.
    fn cost<O: Occupancy>(&self, at: &mut Context<O>, mut via: Option<NicId>) -> u64 {
        let (places, mut switch) = (self.places, at.switch);
        let home = places.switch_of[at.dst.index()];
        let (mut queue, mut hops) = (0, 0);
        let mut counted = false;
        loop {
            via = via.filter(|&via| !places.ends(switch, via));
            if via.is_none() && switch == home {
                return u64::from(queue) * hops;
            }
            let target = via.unwrap_or(at.dst);
            let first = self.table.candidate(switch, target);
            let output: OutputId = match hops {
                0 => (self.choice).foresee(switch, first, target, &mut at.occupancy),
                _ => self.choice.of_destination(first, target),
            };
            let behind = places.behind[output.index()];
            if behind == NONE {
                // Routes of a valid fabric lead on.
                return u64::from(queue) * hops;
            }
            let next = SwitchId::new(behind);
            let counts = match (self.all_queues, places.group_of.is_empty()) {
                (false, _) => hops == 0,
                (true, true) => true,
                (true, false) => !counted && places.group(next) != places.group(switch),
            };
            if counts {
                queue = queue.max(at.occupancy.waiting(output) + at.occupancy.in_buffer(output));
                counted = true;
            }
            (switch, hops) = (next, hops + 1);
        }
    }
}
