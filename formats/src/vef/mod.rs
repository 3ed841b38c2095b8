//! VEF and VEF3: text traces of MPI messages with their dependencies.
//!
//! ```text
//! file    = header LF { comm LF } { record LF }
//! header  = "VEF"  nTasks nMsg nComm nGlobalColl nLocalColl onlySendDeps
//!         | "VEF3" nTasks nMsg nComm nGlobalColl nLocalColl onlySendDeps psPerUnit
//! comm    = "C"<k> task { task }
//! record  = ID src dst size Dep time IDdep
//!         | "G"<g> comm op task send recv Dep time IDdep
//! IDdep   = "-1" | message ID | "G"<g>
//! ```
//!
//! Per task, file order is program order. Message ids are a permutation of `0..nMsg` in
//! no particular order, and a dependency may name a message on a later line.

pub mod check;
pub mod clock;
pub mod collective;
pub mod comms;
pub mod convert;
mod exchange;
mod fast;
mod grammar;
pub mod info;
pub mod parser;
pub mod reader;
pub mod record;
mod sized;
pub mod slice;
pub mod write;

pub use check::{Awaited, Check, Checker, Observer, check_file, observe};
pub use clock::Clock;
pub use collective::{Gathering, Op, Resolved};
pub use comms::Positions;
pub use convert::{ConvertError, Target, convert};
pub use info::{Collectives, Ideal, Info};
pub use parser::{Parser, Step};
pub use reader::Reader;
pub use record::{Comm, Dep, DepId, DepKind, Header, Member, Message, Record, Version};
pub use slice::{Cut, Plan, SliceError};
pub use write::Writer;
