//! Jobs in memory on an ideal fabric, with times worked out by hand.

mod collectives;
mod computation;
mod gaps;
mod harness;
mod order;
mod repeat;
mod semantics;
mod several;
