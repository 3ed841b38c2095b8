//! The interface for code that follows the packets of a run: a [`Probe`].
//!
//! The engine reports each step of each packet to its counters and, in the same places, to a
//! probe. A probe can serve explanations, timelines or energy models. An engine without one reports nothing and
//! pays nothing: the engine is compiled apart for watched and unwatched runs.
//!
//! # Examples
//! A probe that notes how long links wait for credits:
//! ```
//! use flitwise_fabric::engine::Engine;
//! use flitwise_fabric::engine::probe::{OutputId, Probe};
//! use flitwise_fabric::spec::{FabricSpec, Tick};
//! use flitwise_fabric::topology::Topology;
//! use std::collections::BTreeMap;
//!
//! #[derive(Debug, Default)]
//! struct CreditWaits(BTreeMap<OutputId, Tick>);
//!
//! impl Probe for CreditWaits {
//!     fn credit_wait(&mut self, output: OutputId, from: Tick, until: Tick) {
//!         *self.0.entry(output).or_default() += until - from;
//!     }
//! }
//!
//! let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
//! let engine = Engine::watched(&spec, CreditWaits::default())?;
//! // engine.run(&mut workload);
//! assert!(engine.probe().0.is_empty());
//! # Ok::<(), flitwise_fabric::spec::SpecError>(())
//! ```

pub use super::ids::OutputId;
use crate::ids::NicId;
use crate::spec::Tick;
use crate::stats::LinkEnd;
use crate::topology::Topology;
use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;

impl OutputId {
    /// The out-port or NIC in words of the topology.
    #[must_use]
    pub fn end(self, topology: &Topology) -> LinkEnd {
        let radix = topology.radix();
        self.link_end((topology.switches() * radix) as usize, radix)
    }
}

/// A packet in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PacketSeen {
    /// Names the packet until it is delivered; a later packet may have the same number.
    pub number: u32,
    /// Destination NIC.
    pub dst: NicId,
    /// Service level.
    pub sl: u8,
    /// Virtual lane on the link that it goes over next.
    pub vl: u8,
    /// Its length.
    pub flits: u32,
}

/// Why a packet that queues for an output is not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Obstacle {
    /// Another packet crosses to the same output, or out of the same buffer.
    Crossbar,
    /// The next buffer on its route within the switch is full.
    Buffer,
    /// The buffer at the far end of the link is full.
    Credits,
    /// The arbiter chose another packet.
    Arbiter,
    /// Another packet is at the head of the FIFO that it is in, whichever output that one waits for
    /// (`voq` switches with [`InputQueues::Fifo`](crate::spec::voq::InputQueues::Fifo)).
    HeadOfLine,
}

/// Watches a fabric. All ticks are ticks of the model; a call may come before the tick that it
/// names, once nothing can change it any more. Calls for one packet, and for one link, come in
/// the order of their ticks.
pub trait Probe: Debug {
    /// The header of a packet leaves NIC `src` in tick `now`. `token`: its message; `None` for a CNP or
    /// an ACK.
    fn injected(&mut self, now: Tick, packet: PacketSeen, src: NicId, token: Option<u64>) {
        let _ = (now, packet, src, token);
    }

    /// A switch has routed a packet, which queues for `output` from tick `now` on.
    fn queued(&mut self, now: Tick, packet: PacketSeen, output: OutputId) {
        let _ = (now, packet, output);
    }

    /// In tick `now` no packet, or not every packet, that is at the head of a queue for `output` on
    /// one of the VLs `vls` (a bit each) can be granted. The engine looks again only when that
    /// may have changed, so an obstacle is reported less than once per tick.
    /// [`Obstacle::HeadOfLine`] is about a packet behind the head, and reported once, when it queues.
    fn blocked(&mut self, now: Tick, output: OutputId, vls: u32, obstacle: Obstacle) {
        let _ = (now, output, vls, obstacle);
    }

    /// A packet is granted the crossing to the buffer of `output` in tick `now`.
    fn granted(&mut self, now: Tick, packet: PacketSeen, output: OutputId) {
        let _ = (now, packet, output);
    }

    /// The link of `output` carries a packet from tick `start` until before tick `end`. The packet
    /// waited `waited` ticks for the link.
    fn started(
        &mut self,
        start: Tick,
        end: Tick,
        packet: PacketSeen,
        output: OutputId,
        waited: Tick,
    ) {
        let _ = (start, end, packet, output, waited);
    }

    /// From tick `from` until before tick `until`, packets were ready for the link of `output`, the
    /// link was free, and none had credits.
    fn credit_wait(&mut self, output: OutputId, from: Tick, until: Tick) {
        let _ = (output, from, until);
    }

    /// From tick `from` until before tick `until`, the link of `output` was off, on its way down or up, or
    /// in an outage. It is reported when a packet is granted or started that may have waited for this, so more
    /// than once if several have.
    fn woke(&mut self, output: OutputId, from: Tick, until: Tick) {
        let _ = (output, from, until);
    }

    /// A switch has marked a packet that is granted to `output` in tick `now`.
    fn marked(&mut self, now: Tick, packet: PacketSeen, output: OutputId) {
        let _ = (now, packet, output);
    }

    /// The tail of a packet reaches its NIC in tick `now`. `token` as in [`Probe::injected`].
    fn delivered(&mut self, now: Tick, packet: PacketSeen, token: Option<u64>) {
        let _ = (now, packet, token);
    }
}

/// The probe of an engine that nothing watches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoProbe;

impl Probe for NoProbe {}

/// Passes the reports of a fabric on to a probe. Its two forms decide which code the compiler makes of the fabric.
pub(super) trait Watcher: Debug {
    /// Whether there is a probe. Without one, the fabric prepares no report.
    const WATCHES: bool;

    /// Lets the probe see a step.
    fn tell(&mut self, report: impl FnOnce(&mut dyn Probe));
}

/// No probe.
#[derive(Debug)]
pub(super) struct Unwatched;

impl Watcher for Unwatched {
    const WATCHES: bool = false;

    #[inline(always)]
    fn tell(&mut self, _: impl FnOnce(&mut dyn Probe)) {}
}

/// The probe of the caller, which looks at it between runs.
#[derive(Debug)]
pub(super) struct Watched(pub Rc<RefCell<dyn Probe>>);

impl Watcher for Watched {
    const WATCHES: bool = true;

    fn tell(&mut self, report: impl FnOnce(&mut dyn Probe)) {
        report(&mut *self.0.borrow_mut());
    }
}
