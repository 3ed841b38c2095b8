//! Background traffic: which messages flows create, when, and in which order queues hand them over.

mod backlog;
pub mod flows;
mod gaps;
mod patterns;
mod turns;
