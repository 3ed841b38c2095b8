//! Files as such: sources, sinks, and recognised formats; and the files that describe fabrics.

mod dot;
mod foreign;
mod infiniband;
mod sinks;
mod sources;
mod temporary;
