//! The fabric of hierarchical switches (`docs/model/fabric.md`).
//!
//! [`Fabric`] owns all switches, NICs and links, and runs the phases of a tick
//! (`docs/model/fabric.md` §5). It does not create traffic: a
//! [`Workload`](crate::workload::Workload) does, and is told what was delivered.
//!
//! A packet costs a handful of events per hop. Its header becomes ready in an input,
//! a central and an output buffer, and a part wakes when its port is free or credits
//! have returned. The flits in between follow in closed form ([`schedule`]), without
//! events.
//!
//! A tick first collects its events. Then each phase runs once, over the parts that
//! an event or an earlier phase has listed. An action of one part affects another part
//! in the next tick at the earliest, so the order within a phase does not matter.
//!
//! | phase | module |
//! |---|---|
//! | 1, 2 | this one; deliveries in [`output`], CNPs in [`notify`] |
//! | 3 | [`nic`], or [`pairs`] with congestion control |
//! | 4 | [`route`] |
//! | 5 | [`allocate`] and [`eligibility`]; [`blind`] for blind virtual allocation, [`rounds`] for allocation in rounds |
//! | 6 | [`grant`] |
//! | 7 | [`output`] and [`scheduler`]; CNPs in [`notify`] |
//! | 8 | none: [`schedule`] has the ticks in closed form |
//!
//! The state is in [`switches`], [`nics`], [`links`] and [`state`]; [`picks`] are part of the state of switches.

mod allocate;
mod blind;
mod block;
mod buffers;
mod central_links;
mod control;
mod deadlock;
mod eligibility;
mod fifos;
mod grant;
mod layout;
mod ledger;
mod ledgers;
mod links;
mod mail;
mod nic;
mod nics;
mod notify;
mod output;
mod packet;
mod pairs;
mod picks;
mod prefetch;
mod records;
mod rounds;
mod route;
mod schedule;
mod scheduler;
mod state;
mod statistics;
mod switches;
mod yielding;

pub(super) use self::block::lookahead;
use self::control::ControlState;
pub(super) use self::layout::is_usual;
use self::links::Links;
use self::mail::{Arrival, Credits};
use self::nics::Nics;
use self::packet::Packet;
use self::scheduler::Schedulers;
use self::state::{Ports, Queue, Sender};
use self::switches::Switches;
use super::blocks::post::Post;
use super::calendar::{DelayLine, wheel_events};
use super::congestion::Congestion;
use super::deadlock::{Deadlock, Waiting};
use super::ids::{CentralId, InputId, OutputId};
use super::kernel::{Kernel, SwitchModel};
use super::list::List;
use super::next_hop::NextHops;
use super::pool::{MessageId, PacketId};
use super::power::LinkPowers;
use super::variant::Variant;
use super::vls::Vls;
use crate::ids::{NicId, SwitchId};
use crate::prefetch::PREFETCH_PORTS;
use crate::routing::Router;
use crate::spec::hierarchical::Timing;
use crate::spec::{FabricSpec, Hierarchical, SpecError, Tick, Units};
use crate::stats::{FabricStats, LinkStats};
use crate::workload::{Message, Workload};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a fabric.
#[derive(Debug)]
pub(super) struct Fabric<V: Variant> {
    /// `None` without congestion control.
    control: Option<Box<ControlState>>,
    kernel: Kernel<Packet, Vec<u32>, V::Watcher>,
    units: Units,
    timing: Timing,
    radix: u32,
    vls: usize,
    ports: usize,
    /// The fabric has more than [`PREFETCH_PORTS`] ports: see `prefetch`.
    prefetching: bool,

    // The parts, numbered as in `layout`.
    switches: Switches,
    nics: Nics,
    /// The sending ends of links: of out-ports, then of NICs.
    senders: List<OutputId, Sender>,
    schedulers: Schedulers,
    links: Links,

    // Tables.
    next_hops: NextHops,
    vl_policy: Vls,

    // Events to come that are not on the wheel.
    /// Headers that become ready in input buffers, as (port, packet): first the headers that come
    /// from switches, then the headers from NICs.
    input_ready: [DelayLine<(InputId, PacketId)>; 2],
    /// Headers that become ready in central buffers: (central buffer, queue, packet).
    central_ready: DelayLine<(CentralId, u32, PacketId)>,
    /// Headers that become ready in output buffers: (output, packet).
    output_ready: DelayLine<(OutputId, PacketId)>,

    work: Work,

    /// If this is a block of a fabric.
    post: Option<Box<Post<Arrival, Credits>>>,
}

/// Lists of the present tick; empty between ticks.
#[derive(Debug, Default)]
struct Work {
    dirty_inputs: Vec<InputId>,
    dirty_centrals: Vec<CentralId>,
    dirty_outputs: Vec<OutputId>,
    dirty_nics: Vec<NicId>,
    requested_centrals: Vec<CentralId>,
    requested_outputs: Vec<OutputId>,
    arrivals: Vec<(InputId, PacketId)>,
}

wheel_events! {
    /// An event of a tick.
    Event {
        /// An input buffer may have an eligible head.
        Input(InputId) = 0,
        /// An output may have a packet that can be sent.
        Output(OutputId) = 1,
        /// A NIC may move packets to its send queue.
        Nic(NicId) = 2,
        /// The tail of a packet reaches its NIC.
        Delivery(PacketId) = 3,
        /// A central buffer may have an eligible head.
        Central(CentralId) = 5,
        /// The header of a packet from another block, or over links that differ, becomes ready in an input buffer.
        Arrival(PacketId) = 6,
    }
    last {
        /// The tail of a message has left its NIC.
        Injection(MessageId) = 4,
    }
}

impl<V: Variant> Fabric<V> {
    /// An idle fabric at tick 0.
    ///
    /// # Errors
    /// If the specification contradicts itself or exceeds a limit of the engine.
    pub(super) fn new(
        spec: &FabricSpec,
        switch: &Hierarchical,
        watcher: V::Watcher,
        router: &Arc<Router>,
    ) -> Result<Self, SpecError> {
        layout::check_limits(spec, switch)?;
        debug_assert!(
            V::HAS_ANY_RULE || is_usual(spec, switch),
            "a variant of another fabric"
        );
        let (topology, timing) = (&spec.topology, &switch.timing);
        let radix = topology.radix();
        let ports = (topology.switches() * radix) as usize;
        let Ports {
            inputs,
            outputs,
            senders,
        } = Ports::new(topology);
        let control = spec.congestion_control.as_deref();
        let control = control.map(|control| ControlState::new(spec, control).map(Box::new));
        let mut kernel = Kernel::new(spec, layout::event_horizon(spec, timing), watcher);
        let ends = senders.iter().map(|sending| sending.to);
        kernel.power = LinkPowers::new(spec, ports, ends);
        Ok(Self {
            control: control.transpose()?,
            kernel,
            units: spec.units,
            timing: *timing,
            radix,
            vls: usize::from(spec.qos.vls),
            ports,
            prefetching: ports > PREFETCH_PORTS,
            switches: Switches::new::<V>(spec, switch, inputs, outputs),
            nics: Nics::new(spec, switch),
            schedulers: Schedulers::new(spec, &switch.scheduler, senders.len()),
            senders,
            links: Links::new(spec, switch),
            next_hops: NextHops::new(spec, router),
            vl_policy: Vls::new(spec)?,
            input_ready: [DelayLine::new(), DelayLine::new()],
            central_ready: DelayLine::new(),
            output_ready: DelayLine::new(),
            work: Work::default(),
            post: None,
        })
    }

    /// Wakes the part that `event` names in tick `at`, unless it wakes earlier. Sources wake in rounds, if
    /// there are some.
    #[inline(always)]
    fn wake(&mut self, event: Event, at: Tick) {
        let at = match event {
            Event::Input(_) | Event::Central(_) if self.switches.rounds.are_used::<V>() => {
                self.switches.rounds.next(at.max(self.kernel.now + 1))
            }
            _ => at,
        };
        let wake = match event {
            Event::Input(input) => &mut self.switches.inputs[input].wake,
            Event::Central(central) => &mut self.switches.centrals[central].wake,
            Event::Output(output) => &mut self.senders[output].wake,
            Event::Nic(nic) => &mut self.nics.state[nic].wake,
            Event::Delivery(_) | Event::Injection(_) | Event::Arrival(_) => return,
        };
        self.kernel.wake(wake, at, event);
    }

    /// Whether sources can allocate in this tick.
    #[inline(always)]
    fn allocates_now(&self) -> bool {
        !self.switches.rounds.are_used::<V>()
            || self.switches.rounds.next(self.kernel.now) == self.kernel.now
    }

    /// Lists an input buffer for phase 5 of this tick, or of the next round.
    #[inline]
    fn touch_input(&mut self, port: InputId) {
        if !self.allocates_now() {
            return self.wake(Event::Input(port), self.kernel.now);
        }
        if !std::mem::replace(&mut self.switches.inputs[port].dirty, true) {
            self.work.dirty_inputs.push(port);
        }
    }

    /// Lists a central buffer for phase 5 of this tick, or of the next round.
    #[inline]
    fn touch_central(&mut self, central: CentralId) {
        if !self.allocates_now() {
            return self.wake(Event::Central(central), self.kernel.now);
        }
        if !std::mem::replace(&mut self.switches.centrals[central].dirty, true) {
            self.work.dirty_centrals.push(central);
        }
    }

    /// Lists a NIC for phase 3 of this tick.
    #[inline]
    fn touch_nic(&mut self, nic: NicId) {
        if !std::mem::replace(&mut self.nics.state[nic].dirty, true) {
            self.work.dirty_nics.push(nic);
        }
    }
}

impl<V: Variant> SwitchModel for Fabric<V> {
    type Packet = Packet;
    type Bucket = Vec<u32>;
    type Event = Event;
    type Watcher = V::Watcher;
    type Arrival = Arrival;
    type Credits = Credits;
    type NotStarted = ();
    type Queue = Queue;
    type Held = ();

    #[inline(always)]
    fn kernel(&self) -> &Kernel<Packet, Vec<u32>, V::Watcher> {
        &self.kernel
    }

    #[inline(always)]
    fn kernel_mut(&mut self) -> &mut Kernel<Packet, Vec<u32>, V::Watcher> {
        &mut self.kernel
    }

    /// Phases 1 and 2: delivers what arrived, and lists the parts that are woken.
    #[inline(always)]
    fn event(&mut self, event: Event, workload: &mut dyn Workload) {
        let now = self.kernel.now;
        match event {
            Event::Input(input) => {
                self.switches.inputs[input].wake.arrived(now);
                self.touch_input(input);
            }
            Event::Central(central) => {
                self.switches.centrals[central].wake.arrived(now);
                self.touch_central(central);
            }
            Event::Output(output) => {
                self.senders[output].wake.arrived(now);
                self.work.dirty_outputs.push(output);
            }
            Event::Nic(nic) => {
                self.nics.state[nic].wake.arrived(now);
                self.touch_nic(nic);
            }
            Event::Delivery(packet) => self.deliver(packet, workload),
            Event::Arrival(packet) => self.header_arrived(packet),
            Event::Injection(message) => {
                workload.injected(now, self.kernel.messages[message].token);
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, due: &[u32], at: usize) {
        if self.prefetching {
            self.prefetch_events(&due[at + 1..]);
        }
    }

    /// Adds a message to its application queue, and lists its NIC for this phase.
    #[inline]
    fn enqueue(&mut self, message: &Message) {
        self.append(message);
        self.touch_nic(message.src);
    }

    /// Phases 3 to 7 of `docs/model/fabric.md` §5.
    #[inline]
    fn act(&mut self, workload: &mut dyn Workload) {
        self.fill_send_queues(workload);
        self.complete_routing();
        self.allocate();
        self.send();
    }

    fn find_cycle(&mut self, _: bool) -> Option<Deadlock> {
        self.find_deadlock()
    }

    /// Links count packets as they start them.
    fn not_started(&self, (): &mut ()) {}

    fn restart_statistics(&mut self, (): &()) {
        self.restart_counting();
    }

    fn stats(&self, (): &()) -> FabricStats {
        self.collect_stats()
    }

    fn links(&self, (): &()) -> Vec<LinkStats> {
        self.count_links()
    }

    fn become_block(&mut self, post: Post<Arrival, Credits>) {
        if let Some(power) = &mut self.kernel.power {
            power.keep(|output| post.owns(output));
        }
        self.post = Some(Box::new(post));
    }

    #[inline]
    fn post_mut(&mut self) -> Option<&mut Post<Arrival, Credits>> {
        self.post.as_deref_mut()
    }

    fn receive(&mut self, arrival: Arrival) {
        self.receive_packet(arrival);
    }

    fn take_back(&mut self, credits: Credits) {
        self.receive_credits(credits);
    }

    /// The senders into buffers know the credits that are held.
    fn held(&self, (): &mut ()) {}

    fn waiting(&mut self, (): &(), _: bool, all: &mut BTreeMap<Queue, Vec<Queue>>) {
        self.add_waiting(all);
    }

    fn switch_of(&self, queue: Queue) -> SwitchId {
        self.place_of(queue).1.switch
    }

    fn describe(&self, queue: Queue) -> Waiting {
        self.describe_head(queue)
    }

    fn congestion(&mut self) -> Option<&mut Congestion> {
        let control = V::part_mut(&mut self.control)?;
        Some(&mut control.congestion)
    }
}
