//! The oracles: the fabric of `docs/model.md` ([`hierarchical`]) and the fabric of
//! `docs/model-infiniband.md` ([`voq`]) in their most obvious form, tick by tick and flit by flit.
//! The tests compare the engine with them.
//!
//! Every flit is an entry in the queue of the buffer, link or crossbar that it is in; a tick is eight
//! functions called in order (`Fabric::tick` in `hierarchical/fabric.rs` and `voq/fabric.rs`). It is
//! slow, and it is the place to look when a page leaves a doubt.
//!
//! A comparison proves nothing about what both sides share, so this crate takes from Flitwise only
//! what both must be given:
//!
//! - `fabric::spec`, the plain data of a fabric, with `fabric::ids` and `units::Ratio`, which it is
//!   written in;
//! - `fabric::topology`, for the family and its parameters. The ports of an explicit graph are listed
//!   nowhere else, so they are read from there;
//! - `fabric::workload`, the seam to whatever creates the messages;
//! - `random`, because the pages define random draws by its streams.
//!
//! All that follows from these is worked out here: which ports are connected ([`wiring`]), routes and
//! VLs, flits and credits of packets, which VLs a service level may use, rates of links and of the
//! crossbar, and the settings of each port. `tests/tidy/seams.rs` checks the list.

mod congestion;
mod credit_returns;
mod delay_line;
mod detours;
mod families;
pub mod hierarchical;
mod messages;
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
