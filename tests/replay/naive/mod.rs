//! The naive replay: `docs/model/replay.md` in its most obvious form, on a fabric without contention.
//!
//! It goes from one time at which something happens to the next. At each it first notes what
//! has arrived or left, then the first rank that can do something acts, until none can
//! (`World::run` in `world.rs`). Everything is kept in lists and maps that are scanned from their
//! beginning. It shares nothing with the replay but the types of programs and the plans of
//! collectives, so that the two can be held against each other, and it is the place to look when the
//! page leaves a doubt. It is slow, and does not mind.

mod case;
mod compare;
mod describe;
pub mod fabric;
mod in_network;
mod matching;
mod members;
mod message;
mod node;
pub mod ops;
mod outcome;
pub mod random;
mod steps;
mod streams;
mod world;

pub use case::Case;
pub use compare::{compare, engine};
pub use fabric::{InMemory, NICS, play, replay as start};
pub use outcome::{End, Features, Outcome, Sent};
pub use world::replay;
