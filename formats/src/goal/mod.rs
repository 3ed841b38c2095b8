//! GOAL schedules, as text and in the binary form that LogGOPSim reads.
//!
//! ```text
//! file  = "num_ranks" INT { rank }
//! rank  = "rank" INT "{" { [ statement ] LF } "}"
//! statement
//!       = [ label ":" ] op | label "requires" label | label "irequires" label
//! op    = "send" INT "b" "to"   INT       [ "tag" INT ]    [ "cpu" INT ] [ "nic" INT ]
//!       | "recv" INT "b" "from" INT | -1  [ "tag" INT | -1 ] [ "cpu" INT ] [ "nic" INT ]
//!       | "calc" INT                      [ "cpu" INT ]
//! label = letter { letter | digit | "_" }
//! ```
//!
//! Comments are `// …` and `/* … */`. Ranks come in order from 0, each once. A label belongs to its rank, and a
//! dependency names labels above it. Tag, CPU and NIC are 0 where they are not given.
//!
//! The binary form, little-endian without gaps, begins with the 64-bit number 0x107f. Offsets count from behind it:
//!
//! | where | what |
//! |---|---|
//! | 0 | 32 bits: ranks; 8 bits: largest CPU; 8 bits: largest NIC; for each rank two times 64 bits: its start and its end |
//! | start of a rank | 32 bits: operations; 32 bits: those without dependencies; the numbers of these, 32 bits each |
//! | then, for each operation | 32 bits: its dependencies; 8 bits: 1 send, 2 recv, 3 calc; 32 bits: other rank; 64 bits: bytes or time; 32 bits: tag; 8 bits: CPU; 8 bits: NIC; four times 32 bits: how many wait for its end, where their list begins, the same for its start |
//! | then | the lists: numbers of operations, 32 bits each |
//!
//! Other rank or tag 2^32 − 1 means any. The layout was taken from files that `txt2bin` of LogGOPSim
//! (spcl/LogGOPSim, commit 76451de) made, and from its scanner; what [`write::binary`] makes of the text of such a
//! file is equal to it byte by byte.
//!
//! # What a schedule means
//!
//! For whoever replays it:
//!
//! - **Order.** Only dependencies order the operations of a rank. Whatever has none may start at time 0; the order in
//!   the file is no order. An operation starts when it has no unmet dependency ([`Node::unmet`]) and its CPU is free.
//! - **`a requires b`** ([`DependencyKind::Done`]): `a` may start when `b` is done. A send is done when its CPU and NIC are free
//!   of it (eager) or the receiver has taken it (rendezvous); a recv when its message is there; a calc after its time.
//!   **`a irequires b`** ([`DependencyKind::Started`]): `a` may start when `b` has started, that is, has been posted.
//! - **CPUs and NICs.** A CPU of a rank does one thing at a time: calcs and the overheads of sends and recvs. A recv
//!   that waits for its message does not keep its CPU busy. Operations of different CPUs (the streams of a GPU) go on
//!   side by side. Messages of a NIC go out one after another.
//! - **Matching.** A recv accepts a message of its source and its tag, or of any. Sizes play no part in it. Recvs that
//!   are independent must be posted in the order of the file, and messages that fit several taken in the order in
//!   which they were sent: otherwise rings of independent recvs with one tag never end. Tags take 32 bits.
//! - **Protocol.** The file does not tell eager from rendezvous: that is the threshold of whoever replays.
//! - **Collectives** are sends and recvs already; nothing marks them.
//! - **Time.** The file has no unit; LogGOPSim and its generators take nanoseconds.

mod block;
pub mod check;
pub mod info;
mod labels;
mod layout;
mod operation;
mod parser;
mod record;
mod schedule;
mod words;
pub mod write;

pub use block::Block;
pub use check::{Check, check, check_file, check_input};
pub(crate) use check::{check_built, warn_of_sizes};
pub use info::Info;
pub use layout::Node;
pub use parser::{Parser, Part, Step};
pub use record::{Dependency, DependencyKind, Op, Task};
pub use schedule::{Builder, Form, Schedule, probe};
pub use write::WriteError;
