//! HPC fabrics of switches, NICs and links, simulated exactly to the flit.
//!
//! A [`FabricSpec`](spec::FabricSpec) is a fabric as plain data: its [topology], units, service levels, routing,
//! congestion control and [kind of switch](switch). The [`Engine`](engine::Engine) simulates it. A
//! [`Workload`](workload::Workload) creates the messages and is told when they arrive; a [`Probe`](engine::probe::Probe)
//! watches every step of every packet. [`analysis`] finds routes, loads, bisection and possible deadlocks without a
//! simulation. `docs/model/fabric.md` and `docs/model/infiniband.md` define the two models.
//!
//! Without the feature `engine`, which is on by default, the crate has the plain data alone. The oracles of the tests use
//! it in this form, so they cannot call code on which the engine relies.
//!
//! # Examples
//! ```
//! use flitwise_fabric::engine::{Engine, RunEnd};
//! use flitwise_fabric::ids::NicId;
//! use flitwise_fabric::spec::{FabricSpec, SpecError, Tick};
//! use flitwise_fabric::topology::Topology;
//! use flitwise_fabric::workload::{Message, Workload};
//!
//! /// Sends one message of 4 KiB from NIC 0 to NIC 15.
//! struct OneMessage { due: Option<Tick>, arrived: Option<Tick> }
//!
//! impl Workload for OneMessage {
//!     fn next_tick(&mut self) -> Option<Tick> {
//!         self.due
//!     }
//!     fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
//!         self.due = None;
//!         out.push(Message::new(NicId::new(0), NicId::new(15), 0, 4096, now));
//!     }
//!     fn delivered(&mut self, now: Tick, _token: u64) {
//!         self.arrived = Some(now);
//!     }
//!     fn finished(&self) -> bool {
//!         self.arrived.is_some()
//!     }
//! }
//!
//! let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
//! let mut message = OneMessage { due: Some(0), arrived: None };
//! assert_eq!(Engine::new(&spec)?.run(&mut message), RunEnd::Finished);
//! assert!(message.arrived.is_some_and(|tick| tick > 512)); // 512 flits of 8 B
//! # Ok::<(), SpecError>(())
//! ```
#![cfg_attr(
    not(feature = "engine"),
    allow(
        dead_code,
        reason = "the plain data alone leaves its derived values unused"
    )
)]

#[cfg(feature = "engine")]
pub mod analysis;
#[cfg(feature = "engine")]
pub mod engine;
mod error;
#[cfg(feature = "engine")]
pub mod held_up;
pub mod ids;
pub mod parameters;
#[cfg(feature = "engine")]
mod prefetch;
#[cfg(feature = "engine")]
pub mod qos;
#[cfg(feature = "engine")]
mod routing;
#[cfg(feature = "engine")]
pub mod series;
mod sizes;
pub mod spec;
pub mod stats;
pub mod switch;
pub mod topology;
#[cfg(feature = "engine")]
pub mod unloaded;
pub mod workload;
