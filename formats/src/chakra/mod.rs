//! Chakra execution traces: a graph of computations, messages and collectives for each rank of a program on GPUs.
//!
//! The file of a rank is a sequence of protocol buffers, each behind its length: `GlobalMetadata`, then a `Node` each. As
//! JSON it has the same messages as `MessageToJson` writes them (`chakra_jsonizer`), or the array `workload_graph` of
//! ASTRA-sim. Fields and their numbers come from `et_def.proto` of MLCommons Chakra (commit 6dc63e1); the meaning of
//! attributes comes from its feeder and of ASTRA-sim's `Workload.cc`. `docs/reference/chakra.md` has them.
//!
//! [`Set`] finds the files, [`Reader`] gives the nodes of one, [`Trace`] is a [`Schedule`](crate::goal::Schedule) of all ranks.

mod channels;
mod groups;
mod json;
mod node;
mod ops;
mod rank;
mod reader;
mod set;
mod trace;
mod wire;

pub use channels::Options;
pub use groups::Group;
pub use node::{Comm, Node, NodeType};
pub use reader::Reader;
pub use set::{MadeRank, Set};
pub use trace::{Counts, Trace};
