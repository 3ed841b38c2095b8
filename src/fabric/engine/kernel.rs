//! The kernel of every fabric: the present tick, the calendar, the pools of messages and packets in
//! flight, and the counters. [`SwitchModel`] has the differences between the kinds of switch.

use super::blocks::post::Post;
use super::calendar::{Bucket, Wake, Wheel, WheelEvent};
use super::congestion::Congestion;
use super::counters::{Counters, LinkCounts};
use super::deadlock::{Deadlock, Waiting};
use super::ids::OutputId;
use super::nic::Messages;
use super::observers::Observers;
use super::outages::DownLink;
use super::pool::{MessageId, PacketId, Pool};
use super::power::LinkPowers;
use super::probe::Watcher;
use crate::ids::SwitchId;
use crate::series::{PortVlSample, Sample};
use crate::spec::{FabricSpec, Tick};
use crate::stats::{FabricStats, LinkStateTicks, LinkStats};
use crate::workload::{Message, Workload};
use std::collections::BTreeMap;

/// The state that the fabrics of all kinds of switch have. `K` is a packet; `B` keeps the events of
/// a tick; `P` watches.
#[derive(Debug)]
pub(super) struct Kernel<K, B: Bucket, P> {
    /// The present tick: everything before it has been simulated.
    pub now: Tick,
    /// Tick that was simulated last.
    pub acted: Tick,
    pub wheel: Wheel<B>,
    pub packets: Pool<PacketId, K>,
    pub messages: Messages,
    pub observers: Observers<P>,
    /// Power states and outages of links, if they have some. The fabric fills it in: it numbers the outputs.
    pub power: Option<Box<LinkPowers>>,
    /// Messages that the workload creates in phase 3; empty between ticks.
    outbox: Vec<Message>,
}

impl<K, B: Bucket, P: Watcher> Kernel<K, B, P> {
    /// An idle fabric at tick 0. `reach`: ticks that events usually lie ahead at most.
    pub(super) fn new(spec: &FabricSpec, reach: Tick, watcher: P) -> Self {
        Self {
            now: 0,
            acted: 0,
            wheel: Wheel::new(reach),
            packets: Pool::new(),
            messages: Messages::new(spec),
            observers: Observers {
                counters: Counters::new(spec),
                watcher,
            },
            power: None,
            outbox: Vec::new(),
        }
    }

    /// Adds a message that is created in this tick; `None` if there are too many.
    #[inline]
    pub(super) fn create(&mut self, message: &Message) -> Option<MessageId> {
        let counters = &mut self.observers.counters;
        self.messages.create(message, self.now, counters)
    }

    /// Sets the clock to the end of tick `tick`, before which everything has been simulated.
    pub(super) fn advance_to(&mut self, tick: Tick) {
        if tick > self.now {
            self.now = tick;
            self.wheel.advance_to(tick);
        }
    }

    /// Puts `event` on the wheel for tick `at`.
    #[inline]
    pub(super) fn push(&mut self, at: Tick, event: impl WheelEvent) {
        self.wheel.push(self.now, at, event.pack());
    }

    /// The ticks that the link of `output` has spent in each power state, up to the end of the present tick.
    pub(super) fn link_states(&self, output: OutputId) -> Option<LinkStateTicks> {
        self.power.as_deref()?.ticks(output, self.now)
    }

    /// The ticks for which the link of `output` was busy beyond the time that its packets take at its own rate.
    pub(super) fn longer_ticks(&self, output: OutputId) -> Tick {
        let power = self.power.as_deref();
        power.map_or(0, |power| power.longer_ticks(output, self.now))
    }

    /// The ticks in which packets waited for the link of `output` and it was not up.
    pub(super) fn down_wait(&self, output: OutputId) -> Tick {
        let power = self.power.as_deref();
        power.map_or(0, |power| power.down_wait(output, self.now))
    }

    /// Tries to send packets over the link of `output` that failed; `None` if there are no bit errors.
    pub(super) fn retries(&self, output: OutputId) -> Option<u64> {
        self.power.as_deref()?.retries(output, self.now)
    }

    /// The links that are down for good in the present tick, with packets that wait for them.
    pub(super) fn links_that_stay_down(&self) -> impl Iterator<Item = DownLink> {
        let power = self.power.as_deref();
        power
            .into_iter()
            .flat_map(|power| power.stay_down(self.now))
    }

    /// The ticks from `since` until before `to` in which an outage keeps the link of `output` from starting a packet; 0 if
    /// `to` is not after `since`.
    pub(super) fn outage_ticks(&self, output: OutputId, since: Tick, to: Tick) -> Tick {
        let power = self.power.as_deref();
        power.map_or(0, |power| power.outage_ticks(output, since, to))
    }

    /// The ticks of a credit wait that began in tick `since` and has not ended, up to and including the present one.
    pub(super) fn credit_wait_so_far(&self, output: OutputId, since: Tick) -> Tick {
        let end = self.now + 1;
        end.saturating_sub(since) - self.outage_ticks(output, since, end)
    }

    /// The link of `output` has waited for credits from tick `since` until before tick `now`; not at all if `since` is
    /// `Tick::MAX`. Ticks of an outage do not count.
    #[inline(always)]
    pub(super) fn credit_wait_ended(
        &mut self,
        link: &mut LinkCounts,
        output: OutputId,
        since: Tick,
        now: Tick,
    ) {
        if since < now {
            link.credit_wait += now - since - self.outage_ticks(output, since, now);
            let watcher = &mut self.observers.watcher;
            watcher.tell(|probe| probe.credit_wait(output, since, now));
        }
    }

    /// Wakes the part with this `wake` in tick `at` or earlier, by `event`.
    #[inline(always)]
    pub(super) fn wake(&mut self, wake: &mut Wake, at: Tick, event: impl WheelEvent) {
        wake.ask(&mut self.wheel, self.now, at, event);
    }
}

/// A fabric of one kind of switch: its devices, and their actions in a tick. The functions of this
/// module drive it.
pub(super) trait SwitchModel {
    type Packet;
    type Bucket: Bucket;
    type Event: WheelEvent;
    type Watcher: Watcher;
    /// A packet on its way from another block.
    type Arrival;
    /// Credits on their way back from another block.
    type Credits;
    /// The packets that were granted and that no link has started yet.
    type NotStarted: Default;
    /// A queue of packets, whose head may wait for credits.
    type Queue: Ord + Copy;
    /// The credits that are held in buffers, as far as the search for a deadlock asks for them.
    type Held: Default;

    fn kernel(&self) -> &Kernel<Self::Packet, Self::Bucket, Self::Watcher>;
    fn kernel_mut(&mut self) -> &mut Kernel<Self::Packet, Self::Bucket, Self::Watcher>;
    /// Phases 1 and 2: handles an event of this tick.
    fn event(&mut self, event: Self::Event, workload: &mut dyn Workload);
    /// Prefetches the data for some of the packed events of the tick, `due`. It is called before each
    /// of them, the one at position `at`.
    fn prefetch(&self, due: &[u32], at: usize);
    /// Phase 3: a message joins its queue at its NIC.
    fn enqueue(&mut self, message: &Message);
    /// The rest of phase 3, and the phases after it.
    fn act(&mut self, workload: &mut dyn Workload);
    /// A cycle of packets that can never move, if there is one. Changes nothing but lazy state. `at_rest`: no event is left.
    fn find_cycle(&mut self, at_rest: bool) -> Option<Deadlock>;
    /// Adds the packets that no link has started yet, by output.
    fn not_started(&self, all: &mut Self::NotStarted);
    /// Counts anew from the next tick on.
    fn restart_statistics(&mut self, not_started: &Self::NotStarted);
    /// All that has been counted up to the end of the present tick.
    fn stats(&self, not_started: &Self::NotStarted) -> FabricStats;
    /// The counters of the links up to the end of the present tick.
    fn links(&self, not_started: &Self::NotStarted) -> Vec<LinkStats>;

    /// From now on it is a block of a fabric, with this post.
    fn become_block(&mut self, post: Post<Self::Arrival, Self::Credits>);
    /// The post of a block; `None` if it is a whole fabric.
    fn post_mut(&mut self) -> Option<&mut Post<Self::Arrival, Self::Credits>>;
    /// A packet comes from another block.
    fn receive(&mut self, arrival: Self::Arrival);
    /// Credits come back from another block.
    fn take_back(&mut self, credits: Self::Credits);
    /// Adds the credits that packets of this block hold.
    fn held(&self, all: &mut Self::Held);
    /// Adds the queues of this block whose head waits for credits, each with the queues that hold these credits. `held`
    /// is of all blocks. `at_rest`: no event is left in any.
    fn waiting(
        &mut self,
        held: &Self::Held,
        at_rest: bool,
        all: &mut BTreeMap<Self::Queue, Vec<Self::Queue>>,
    );
    /// The switch that a queue belongs to.
    fn switch_of(&self, queue: Self::Queue) -> SwitchId;
    /// The head of a queue of this block, for the report of a deadlock.
    fn describe(&self, queue: Self::Queue) -> Waiting;

    /// Congestion control, if the fabric has it.
    fn congestion(&mut self) -> Option<&mut Congestion>;
    /// The flits that wait per Port VL, where the marker does not count them.
    fn occupancy(&self) -> Vec<PortVlSample> {
        Vec::new()
    }
}

/// The next tick after the present one in which something may happen without the workload.
#[inline]
pub(super) fn next_event(model: &impl SwitchModel) -> Option<Tick> {
    let kernel = model.kernel();
    kernel.wheel.next_after(kernel.now)
}

/// Whether no message is on its way. CNPs, ACKs and credits may still be; they do not keep a run
/// going.
#[inline]
pub(super) fn is_idle(model: &impl SwitchModel) -> bool {
    model.kernel().messages.is_empty()
}

/// Whether no more messages or packets can be numbered.
pub(super) fn is_full(model: &impl SwitchModel) -> bool {
    model.kernel().messages.is_full() || model.kernel().packets.is_full()
}

/// Simulates tick `now`, after ticks in which nothing happened. `due` takes its events; it is empty
/// before and after.
#[inline(always)]
pub(super) fn tick(
    model: &mut impl SwitchModel,
    now: Tick,
    due: &mut Vec<u32>,
    workload: &mut dyn Workload,
) {
    let kernel = model.kernel_mut();
    (kernel.now, kernel.acted) = (now, now);
    take_events(model, due, workload);
    if workload.next_tick().is_some_and(|tick| tick <= now) {
        create_messages(model, workload);
    }
    model.act(workload);
}

/// Phases 1 and 2: the events of this tick.
#[inline]
fn take_events<M: SwitchModel>(model: &mut M, due: &mut Vec<u32>, workload: &mut dyn Workload) {
    let kernel = model.kernel_mut();
    kernel.wheel.take(kernel.now, due);
    kernel.observers.counters.counts.events += due.len() as u64;
    for (i, &event) in due.iter().enumerate() {
        model.prefetch(due, i);
        model.event(M::Event::unpack(event), workload);
    }
    due.clear();
}

/// Messages of a tick for which memory stays. A workload may create millions in one call.
const MOST_KEPT: usize = 1 << 17;

/// Phase 3, first part: the workload creates messages.
fn create_messages(model: &mut impl SwitchModel, workload: &mut dyn Workload) {
    let kernel = model.kernel_mut();
    let (now, mut outbox) = (kernel.now, std::mem::take(&mut kernel.outbox));
    loop {
        workload.act(now, &mut outbox);
        for message in outbox.drain(..) {
            model.enqueue(&message);
        }
        if !workload.has_more() {
            break;
        }
    }
    outbox.shrink_to(MOST_KEPT);
    model.kernel_mut().outbox = outbox;
}

/// Starts to collect the data for [`sample`].
pub(super) fn start_series(model: &mut impl SwitchModel) {
    let kernel = model.kernel_mut();
    let mtu_bytes = kernel.messages.mtu_bytes();
    kernel.observers.counters.start_series(&mtu_bytes);
    if let Some(congestion) = model.congestion() {
        congestion.start_series();
    }
}

/// The observables at the end of `tick`. That is the present tick or a later one up to which
/// nothing happens.
pub(super) fn sample(model: &mut impl SwitchModel, tick: Tick) -> Sample {
    let (mut port_vls, mut sources) = (None, Vec::new());
    if let Some(congestion) = model.congestion() {
        port_vls = congestion.sample_port_vls();
        sources = congestion.sample_sources(tick);
    }
    let power = model.kernel_mut().power.as_mut();
    let power = power.and_then(|power| power.sample(tick));
    Sample {
        tick,
        flows: model.kernel_mut().observers.counters.take_flows(),
        port_vls: port_vls.unwrap_or_else(|| model.occupancy()),
        sources,
        power,
    }
}
