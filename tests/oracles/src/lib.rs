//! The oracles: the fabric of `docs/model/fabric.md` ([`hierarchical`]) and the fabric of
//! `docs/model/infiniband.md` ([`voq`]) in their most obvious form, tick by tick and flit by flit.
//! The tests compare the engine with them.
//!
//! Every flit is an entry in the queue of the buffer, link or crossbar that it is in; a tick is eight
//! functions called in order (`Fabric::tick` in `hierarchical/fabric.rs` and `voq/fabric.rs`). It is
//! slow, and it is the place to look when a page leaves a doubt.
//!
//! A comparison proves nothing about what both sides share, so this crate depends on the plain data of the fabric alone:
//! `flitwise-fabric` without its feature `engine`. There are no routes, VL classes, sizes of packets, rates or settings of
//! ports, so all of these are worked out here. `cargo check -p flitwise-oracles` compiles it so; when the whole workspace is
//! compiled, cargo unites the features of all crates, so `.ci/run` has that command, too.
//!
//! Both sides also share `flitwise-base`: exact fractions, and the random streams by which the pages define random draws.

mod bit_errors;
mod congestion;
mod credit_returns;
mod delay_line;
mod detours;
mod families;
pub mod hierarchical;
mod messages;
mod outages;
mod power;
mod queueing;
mod report;
mod routing;
mod run;
mod sizes;
mod turns;
mod vls;
pub mod voq;
pub mod wiring;

pub use congestion::FlowKey;
pub use power::StateTicks;
pub use report::{CctCounts, CctiChange, CongestionCounts, FlowSample, RunEnd, Sample};
pub use turns::Turns;
pub use wiring::End;
