//! The fabric of InfiniBand switches and NICs (`docs/model/infiniband.md`).
//!
//! The crossbar binds an in-port and an output of a switch to each other for one packet at a
//! time. After its grant nothing holds up a packet before the next switch: the grant decides
//! when every flit crosses, leaves by the link, and reaches the next buffer. So a packet takes
//! one event per hop, plus one for each wake-up of an output that then grants nothing.
//!
//! This module holds the state of the fabric and runs the phases of a tick (§5):
//!
//! | phase | what | module |
//! |---|---|---|
//! | 1 | arrivals at NICs | `arrival` |
//! | 2 | credit returns, when a ledger is read | `link`, `credit_returns`, `credit_return` |
//! | 2 | injection reports | `nic` |
//! | 3 | messages | `messages` |
//! | 4 | routing | `route`, `fifos`, `flows` |
//! | 5, 6 | grant, accept | `crossbar`, `arbiter`, `iterations` |
//! | 7, 8 of switches | decided with the grant | `crossing` |
//! | 7, 8 of NICs | send engine and link | `nic` |
//!
//! The state is in `switches`, `nics`, `link` and `state`.

mod arbiter;
mod arrival;
mod block;
mod credit_return;
mod credit_returns;
mod crossbar;
mod crossing;
mod deadlock;
mod fifos;
mod flows;
mod iterations;
pub(super) mod layout;
mod link;
mod mail;
mod messages;
mod nic;
mod nics;
mod packet;
mod ports;
mod power;
mod prefetch;
mod rate;
mod route;
pub(in crate::engine) mod schedule;
mod state;
mod statistics;
mod switches;

pub(super) use self::block::lookahead;
use self::credit_return::{Crossbar, DrainRates};
use self::credit_returns::CreditReturns;
use self::deadlock::Holders;
use self::layout::Rates;
use self::link::Links;
use self::mail::{Arrival, Credits};
use self::nics::Nics;
use self::packet::{Origins, Packet};
use self::route::Routes;
use self::state::Output;
use self::statistics::Pending;
use self::switches::Switches;
use super::bits::{Divisor, push_quickly};
use super::blocks::post::Post;
use super::calendar::{ShortBucket, wheel_events};
use super::congestion::Congestion;
use super::deadlock::{Deadlock, Waiting};
use super::ids::{InputId, OutputId};
use super::kernel::{Kernel, SwitchModel};
use super::list::List;
use super::pool::PacketId;
use super::power::LinkPowers;
use super::variant::Variant;
use crate::ids::{NicId, SwitchId};
use crate::prefetch::PREFETCH_PORTS;
use crate::routing::Router;
use crate::series::PortVlSample;
use crate::spec::Stages;
use crate::spec::{FabricSpec, SpecError, Tick, Units, Voq};
use crate::stats::{FabricStats, LinkStats};
use crate::workload::{Message, Workload};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The state of a fabric at the end of a tick.
#[derive(Debug)]
pub(super) struct Fabric<V: Variant> {
    kernel: Kernel<Packet<V>, ShortBucket, V::Watcher>,
    units: Units,
    stages: Stages,
    radix: u32,
    vls: usize,
    /// Ports of all switches.
    ports: usize,
    /// Credits of the largest packet.
    largest: u16,
    /// Credits of the largest data packet or CNP.
    largest_but_acks: u16,
    drain: DrainRates,
    /// The fabric has more than [`PREFETCH_PORTS`] ports: see `prefetch`.
    prefetching: bool,

    // The parts, numbered as in `layout`.
    switches: Switches<V>,
    nics: Nics,
    /// The sending ends of links: of switches, then of NICs.
    outputs: List<OutputId, Output>,
    /// Per output: credits of its own buffer that are on their way back.
    buffer_returns: List<OutputId, CreditReturns<V>>,
    links: Links<V>,

    routes: Routes,
    origins: Origins,

    congestion: Option<Box<Congestion>>,
    /// Announcements of packets that have not reached their outputs.
    announcements: BTreeSet<(Tick, OutputId)>,

    work: Work,

    /// If this is a block of a fabric.
    post: Option<Box<Post<Arrival<V>, Credits<V>>>>,
}

/// Work of the present tick; empty between ticks.
#[derive(Debug, Default)]
struct Work {
    /// Packets whose header becomes ready in phase 4, if the order in which they are routed matters.
    joining: Vec<PacketId>,
    /// Outputs of switches that may grant in phase 5.
    dirty_outputs: Vec<OutputId>,
    /// NICs that may send in phase 7.
    dirty_nics: Vec<NicId>,
    /// In-ports with a grant in phase 6.
    granted_inputs: Vec<InputId>,
    /// Packets that became heads of their FIFOs by the grant of the packet before them.
    new_heads: Vec<PacketId>,
    /// Queue pairs, as (NIC, key), whose last packet was fetched in phase 7.
    exhausted: Vec<(NicId, u32)>,
}

wheel_events! {
    /// An event of a tick.
    Event {
        /// The header of this packet joins its VoQ.
        Join(PacketId) = 0,
        /// This output may have something to grant.
        Output(OutputId) = 1,
        /// This NIC may send.
        Nic(NicId) = 2,
        /// The tail of this packet reaches its NIC.
        Delivery(PacketId) = 3,
        /// A stop or a go reaches this output.
        StopOrGo(OutputId) = 5,
        /// Announcements reach their outputs, among them this one.
        Announcement(OutputId) = 6,
    }
    last {
        /// The tail of a message has left this NIC.
        Injection(NicId) = 4,
    }
}

/// Ticks that the wheel looks ahead at most: more buckets would cost more than events beyond them.
const MOST_BUCKETS: u64 = 1 << 14;

impl<V: Variant> Fabric<V> {
    /// An idle fabric at tick 0.
    ///
    /// # Errors
    /// If `spec` exceeds a limit of this engine that `layout::check_limits` does not check. The
    /// caller has validated `spec`, checked the limits and chosen the variant. `voq` is its switch model.
    pub(super) fn new(
        spec: &FabricSpec,
        voq: &Voq,
        watcher: V::Watcher,
        router: &Arc<Router>,
    ) -> Result<Self, SpecError> {
        let rates = Rates::new(spec, voq);
        debug_assert!(
            V::RATES >= rates.count() || V::IS_PLAIN && layout::is_plain(spec, voq),
            "a variant of another fabric"
        );
        let (topology, units, buffers) = (&spec.topology, spec.units, &voq.buffers);
        let (radix, vls) = (topology.radix(), usize::from(spec.qos.vls));
        let ports = (topology.switches() * radix) as usize;
        let drain = DrainRates {
            rates: rates.all(units.flit_bytes),
            flits_per_credit: Divisor::new(units.flits_per_credit.min(1 << 15)),
            crossbar: Crossbar::new(voq.crossbar_rate(), units.flit_bytes),
        };
        let (inputs, outputs) = state::ports(spec, voq, &rates, &drain.rates);
        let nic_link_rates = layout::nic_link_rates(spec, voq);
        let nics = Nics::new(spec, voq, &rates, &nic_link_rates);
        let reach = layout::wheel_reach(spec, voq, &drain);
        let congestion = spec.congestion_control.as_deref();
        let congestion = congestion.map(|control| {
            Congestion::new(spec, control, layout::byte_rates(spec, voq, nic_link_rates))
                .map(Box::new)
        });
        let mut kernel = Kernel::new(spec, reach.min(MOST_BUCKETS), watcher);
        let ends = outputs.iter().map(|sending| sending.to);
        kernel.power = LinkPowers::new(spec, ports, ends);
        Ok(Self {
            kernel,
            radix,
            vls,
            ports,
            largest: layout::most_credits(spec, voq),
            largest_but_acks: spec.largest_packet_credits() as u16,
            links: Links::new(&outputs, buffers, radix, voq.hca.sink_rate.is_some()),
            prefetching: ports > PREFETCH_PORTS,
            switches: Switches::new(spec, voq, inputs, &outputs),
            buffer_returns: outputs.iter().map(|_| CreditReturns::default()).collect(),
            nics,
            routes: Routes::new(spec, voq, router)?,
            origins: Origins::default(),
            congestion: congestion.transpose()?,
            announcements: BTreeSet::new(),
            outputs,
            drain,
            units,
            stages: voq.stages,
            work: Work::default(),
            post: None,
        })
    }

    /// Tick in which a packet joins its VoQ at a switch that its `header` reaches in that tick.
    #[inline(always)]
    fn joins_at(&self, header: Tick) -> Tick {
        header + self.stages.input_store + self.stages.routing
    }

    /// Packet `id`, whose `header` reaches a switch in that tick, will join its VoQ there.
    #[inline(always)]
    fn join_later(&mut self, id: PacketId, header: Tick) {
        let at = self.joins_at(header);
        if !self.leaves_block(id, at) {
            self.kernel.push(at, Event::Join(id));
        }
    }

    /// Wakes `output` in tick `at` or earlier, to grant if it can.
    #[inline(always)]
    fn wake_output(&mut self, output: OutputId, at: Tick) {
        let wake = &mut self.outputs[output].wake;
        self.kernel.wake(wake, at, Event::Output(output));
    }

    /// Wakes `nic` in tick `at` or earlier, to send if it can.
    #[inline]
    fn wake_nic(&mut self, nic: NicId, at: Tick) {
        let wake = &mut self.nics.state[nic].wake;
        self.kernel.wake(wake, at, Event::Nic(nic));
    }

    /// Lists `nic` for phase 7 of this tick.
    #[inline]
    fn mark_nic_dirty(&mut self, nic: NicId) {
        if !std::mem::replace(&mut self.nics.state[nic].dirty, true) {
            self.work.dirty_nics.push(nic);
        }
    }
}

impl<V: Variant> SwitchModel for Fabric<V> {
    type Packet = Packet<V>;
    type Bucket = ShortBucket;
    type Event = Event;
    type Watcher = V::Watcher;
    type Arrival = Arrival<V>;
    type Credits = Credits<V>;
    type NotStarted = BTreeMap<OutputId, Pending>;
    /// Number of a VoQ.
    type Queue = usize;
    type Held = Holders;

    #[inline(always)]
    fn kernel(&self) -> &Kernel<Packet<V>, ShortBucket, V::Watcher> {
        &self.kernel
    }

    #[inline(always)]
    fn kernel_mut(&mut self) -> &mut Kernel<Packet<V>, ShortBucket, V::Watcher> {
        &mut self.kernel
    }

    #[inline(always)]
    fn prefetch(&self, due: &[u32], at: usize) {
        if self.prefetching {
            self.prefetch_events(due, at);
        }
    }

    /// Phases 1 and 2: tails reach their NICs and injections are reported. Notes which headers
    /// become ready, and which outputs and NICs may act in later phases.
    #[inline(always)]
    fn event(&mut self, event: Event, workload: &mut dyn Workload) {
        let now = self.kernel.now;
        match event {
            Event::Join(packet) => {
                if self.routes.depends_on_order() {
                    self.work.joining.push(packet);
                } else {
                    // No other part can observe that this happens before phase 4.
                    self.join(packet);
                }
            }
            Event::Output(output) => {
                self.outputs[output].wake.arrived(now);
                push_quickly(&mut self.work.dirty_outputs, output);
            }
            Event::Nic(nic) => {
                self.nics.state[nic].wake.arrived(now);
                self.mark_nic_dirty(nic);
            }
            Event::Delivery(packet) => self.arrive(packet, workload),
            Event::Announcement(_) => self.take_announcements(),
            Event::StopOrGo(output) => self.see_stops(output),
            Event::Injection(nic) => self.report_injections(nic, workload),
        }
    }

    fn enqueue(&mut self, message: &Message) {
        self.append(message);
        self.mark_nic_dirty(message.src);
    }

    /// Phases 4 to 7 of `docs/model/infiniband.md` §5. Grants have decided what the links of
    /// switches do in phase 7, and all of phase 8.
    #[inline]
    fn act(&mut self, workload: &mut dyn Workload) {
        if !self.work.joining.is_empty() {
            self.complete_routing();
        }
        if self.switches.has_flows() {
            self.sort_joined();
        }
        match self.switches.allocator.filter(|_| !V::IS_PLAIN) {
            Some(allocator) => self.allocate(allocator),
            None => {
                self.grant();
                if !self.work.granted_inputs.is_empty() {
                    self.accept();
                }
            }
        }
        if !self.work.new_heads.is_empty() {
            self.join_behind_heads();
        }
        if self.switches.has_flows() {
            self.sort_granted();
        }
        if V::part(&self.congestion).is_some() {
            self.update_congestion_states();
        }
        if !self.work.dirty_nics.is_empty() {
            self.send(workload);
        }
    }

    fn find_cycle(&mut self, at_rest: bool) -> Option<Deadlock> {
        self.find_deadlock(at_rest)
    }

    fn not_started(&self, all: &mut Self::NotStarted) {
        self.add_pending(all);
    }

    fn restart_statistics(&mut self, not_started: &Self::NotStarted) {
        self.restart_counting(not_started);
    }

    fn stats(&self, not_started: &Self::NotStarted) -> FabricStats {
        self.collect_stats(not_started)
    }

    fn links(&self, not_started: &Self::NotStarted) -> Vec<LinkStats> {
        self.count_links(not_started)
    }

    fn become_block(&mut self, post: Post<Arrival<V>, Credits<V>>) {
        if let Some(power) = &mut self.kernel.power {
            power.keep(|output| post.owns(output));
        }
        self.post = Some(Box::new(post));
    }

    #[inline]
    fn post_mut(&mut self) -> Option<&mut Post<Arrival<V>, Credits<V>>> {
        self.post.as_deref_mut()
    }

    fn receive(&mut self, arrival: Arrival<V>) {
        self.receive_packet(arrival);
    }

    fn take_back(&mut self, credits: Credits<V>) {
        self.receive_credits(credits);
    }

    fn held(&self, all: &mut Holders) {
        self.add_held(all);
    }

    fn waiting(&mut self, held: &Holders, at_rest: bool, all: &mut BTreeMap<usize, Vec<usize>>) {
        self.add_waiting(held, at_rest, all);
    }

    fn switch_of(&self, queue: usize) -> SwitchId {
        self.switches.inputs[self.switches.input_of(queue)].switch
    }

    fn describe(&self, queue: usize) -> Waiting {
        self.describe_head(queue)
    }

    fn congestion(&mut self) -> Option<&mut Congestion> {
        self.congestion.as_deref_mut()
    }

    fn occupancy(&self) -> Vec<PortVlSample> {
        self.waiting_flits()
    }
}
