//! A fabric without load: every message is alone in it.
//!
//! The time of a message here is latency and serialisation; the time that it takes longer among others is
//! contention. The engine itself simulates a lone message, once for each size and kind of
//! path: equal links, VLs and zero-load latencies. On two paths of one kind the arbiters may begin
//! elsewhere, which shows only where a buffer holds less than a few packets.

use super::analysis::path::{Step, path};
use super::engine::{Engine, RunEnd};
use super::ids::NicPair;
use super::spec::hierarchical::CentralLink;
use super::spec::{FabricSpec, Hierarchical, SpecError, Tick, TrunkSelection};
use super::workload::{Message, Workload};
use flitwise_base::units::Ratio;
use std::collections::BTreeMap;

/// Ticks between two lone messages: the credits of the first return before.
const BETWEEN: Tick = 720_720;

/// Returns the tick in which the next lone message starts in a fabric whose last tick was `now`. It is divisible by
/// the time of an `allocation`, so the message starts in a round of the allocators where there are rounds.
#[must_use]
pub fn next_start(allocation: Tick, now: Tick) -> Tick {
    let between = if BETWEEN.is_multiple_of(allocation) {
        BETWEEN
    } else {
        BETWEEN.saturating_mul(allocation)
    };
    let next = now.saturating_add(between);
    next.saturating_sub(next % between)
}

/// Entries of a table, beyond which it begins anew: a long run has too many pairs of NICs to
/// remember.
const MAX_ENTRIES: usize = 1 << 18;

/// The times of a lone message on its path, in ticks after its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// Its tail has left the NIC: the tick of [`Workload::injected`].
    pub injected: Tick,
    /// Its tail has arrived: the tick of [`Workload::delivered`].
    pub delivered: Tick,
}

/// A fabric in which every message is alone.
///
/// # Examples
/// ```
/// use flitwise_fabric::ids::NicId;
/// use flitwise_fabric::spec::FabricSpec;
/// use flitwise_fabric::topology::Topology;
/// use flitwise_fabric::unloaded::Unloaded;
/// use flitwise_fabric::workload::Message;
///
/// let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
/// let mut fabric = Unloaded::new(&spec)?;
/// let times = |fabric: &mut Unloaded<'_>, to, bytes| {
///     let message = Message::new(NicId::new(0), NicId::new(to), 0, bytes, 0);
///     fabric.times(&message).expect("a route")
/// };
/// let (near, far) = (times(&mut fabric, 1, 64), times(&mut fabric, 15, 64));
/// assert!(near.delivered < far.delivered);
/// assert_eq!(far, times(&mut fabric, 14, 64));
/// # Ok::<(), flitwise_fabric::spec::SpecError>(())
/// ```
#[derive(Debug)]
pub struct Unloaded<'a> {
    spec: &'a FabricSpec,
    engine: Engine,
    /// Kinds of paths, numbered.
    kinds: BTreeMap<PathKind, u32>,
    /// Kind of the path between two NICs in a service level; `None` if there is no path.
    of_pair: BTreeMap<(NicPair, u8), Option<u32>>,
    /// By kind of path and size in bytes; `None` if the message never arrives.
    known: BTreeMap<(u32, u64), Option<Times>>,
}

/// The key that distinguishes the paths of lone messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct PathKind {
    sl: u8,
    /// Virtual lane and rate of the first link.
    first: (u8, Ratio),
    sections: Vec<Section>,
    /// Network latency of a packet of full size.
    tail: Tick,
}

/// A switch of a path and the link behind it, as far as a lone packet of full size notices them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Section {
    /// Virtual lane of the link.
    vl: u8,
    /// Ticks from the start of the packet until its header arrives at the switch, and until it leaves.
    arrives: Tick,
    leaves: Tick,
    /// Whether a central buffer lies between the ports of the switch.
    central: bool,
    /// Rate of the link in flits per tick.
    rate: Ratio,
}

impl<'a> Unloaded<'a> {
    /// The fabric of `spec` without load.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(spec: &'a FabricSpec) -> Result<Self, SpecError> {
        // Waiting for a link that is down is no latency: it depends on the traffic before.
        let always_up = spec.always_up();
        Ok(Self {
            spec,
            engine: Engine::new(&always_up)?,
            kinds: BTreeMap::new(),
            of_pair: BTreeMap::new(),
            known: BTreeMap::new(),
        })
    }

    /// Returns the times of `message` if it is alone in the fabric; `None` if it never arrives.
    ///
    /// Where routing draws a detour (Valiant) or takes the links of a trunk in turn, it does so for each
    /// message. Where allocation is in rounds, the message starts in one.
    ///
    /// # Panics
    /// As [`Engine::run`].
    pub fn times(&mut self, message: &Message) -> Option<Times> {
        let routing = &self.spec.routing;
        let draws_links = |switch: &Hierarchical| {
            matches!(switch.buffers.central_link, CentralLink::Random { .. })
        };
        if routing.paths.detours().is_some()
            || routing.trunk == TrunkSelection::RoundRobin
            || self.spec.hierarchical().is_some_and(draws_links)
        {
            return self.simulate(message);
        }
        let key = (self.kind(message)?, message.bytes);
        if let Some(&times) = self.known.get(&key) {
            return times;
        }
        let times = self.simulate(message);
        make_room(&mut self.known);
        self.known.insert(key, times);
        times
    }

    /// The kind of path that `message` takes.
    fn kind(&mut self, message: &Message) -> Option<u32> {
        let &Message { src, dst, sl, .. } = message;
        let pair = NicPair { src, dst };
        if let Some(&kind) = self.of_pair.get(&(pair, sl)) {
            return kind;
        }
        let kind = self.new_kind(pair, sl).map(|kind| {
            if self.kinds.len() >= MAX_ENTRIES {
                // The numbers begin anew.
                self.kinds.clear();
                self.of_pair.clear();
                self.known.clear();
            }
            let next = self.kinds.len() as u32;
            *self.kinds.entry(kind).or_insert(next)
        });
        make_room(&mut self.of_pair);
        self.of_pair.insert((pair, sl), kind);
        kind
    }

    /// The kind of the path between two NICs.
    fn new_kind(&self, pair: NicPair, sl: u8) -> Option<PathKind> {
        let spec = self.spec;
        let level = usize::from(sl);
        let mtu = spec.qos.service_levels.get(level)?.mtu_bytes;
        let path = path(spec, spec, pair, level, mtu).ok()?;
        let first = spec.topology.attachment(pair.src);
        let section = |step: &Step| Section {
            vl: step.channel.1,
            arrives: step.arrives,
            leaves: step.leaves,
            central: step.central.is_some(),
            rate: spec.link_rate(step.switch, step.port_out),
        };
        Some(PathKind {
            sl,
            first: (path.injection.1, spec.link_rate(first.switch, first.port)),
            sections: path.steps.iter().map(section).collect(),
            tail: path.tail,
        })
    }

    /// Sends `message` through the empty fabric.
    fn simulate(&mut self, message: &Message) -> Option<Times> {
        let allocation = self.spec.switch.kind().stages().allocation;
        let start = next_start(allocation, self.engine.progress().tick);
        let mut lone = Lone::new(*message, start);
        match self.engine.run(&mut lone) {
            RunEnd::Finished => Some(Times {
                injected: lone.injected? - start,
                delivered: lone.delivered? - start,
            }),
            _ => None,
        }
    }
}

/// Empties a table that is full.
fn make_room<K, V>(table: &mut BTreeMap<K, V>) {
    if table.len() >= MAX_ENTRIES {
        table.clear();
    }
}

/// One message, which is created in a given tick with token 0.
#[derive(Debug)]
pub struct Lone {
    message: Message,
    due: Option<Tick>,
    injected: Option<Tick>,
    delivered: Option<Tick>,
}

impl Lone {
    /// Sends `message` in tick `start`.
    pub fn new(message: Message, start: Tick) -> Self {
        Self {
            message,
            due: Some(start),
            injected: None,
            delivered: None,
        }
    }

    /// The tick in which its injection was reported.
    pub fn injected_at(&self) -> Option<Tick> {
        self.injected
    }

    /// The tick in which it was delivered.
    pub fn delivered_at(&self) -> Option<Tick> {
        self.delivered
    }
}

impl Workload for Lone {
    fn next_tick(&mut self) -> Option<Tick> {
        self.due
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.due = None;
        out.push(Message {
            created: now,
            token: 0,
            report_injection: true,
            ..self.message
        });
    }

    fn delivered(&mut self, now: Tick, _: u64) {
        self.delivered = Some(now);
    }

    fn injected(&mut self, now: Tick, _: u64) {
        self.injected = Some(now);
    }

    fn finished(&self) -> bool {
        self.delivered.is_some() && self.injected.is_some()
    }
}
