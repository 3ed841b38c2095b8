//! Time-independent (TI) traces of SimGrid: what every rank did, without times.
//!
//! ```text
//! trace = list of files, one name on a line, line k (from 0) for rank k   and a file for each rank
//!       | one file with the lines of all ranks, in any order of ranks
//!       | a directory with the files of one trace, or a tar archive of them
//! file  = { [ rank action { argument } ] LF }
//! ```
//!
//! Words are separated by blanks; the case of an action does not matter; lines that begin with `#` and empty ones say
//! nothing, and the last one may lack its line feed. The rank is a number, or one after `p` or `rank-`.
//!
//! | action | arguments |
//! |---|---|
//! | `init`, `finalize`, `comm_split`, `comm_dup`, `location` | any, ignored |
//! | `comm_size` | size |
//! | `compute` | flops |
//! | `sleep` | seconds |
//! | `send`, `isend`, `ssend`, `issend`, `bsend`, `ibsend` | destination, tag, count, \[type\]; destination -333 means `MPI_PROC_NULL` |
//! | `recv`, `irecv` | source, tag, count, \[type\]; source and tag below 0 mean any; a source below 0 may mean `MPI_PROC_NULL` |
//! | `sendRecv` | count sent, destination, count received, source, \[type sent, \[type received\]\] |
//! | `wait`, `test` | source, destination, tag |
//! | `waitall`, `waitany` | \[number of requests\] |
//! | `testany`, `testall`, `testsome`, `barrier` | |
//! | `bcast` | count, \[root, \[type\]\] |
//! | `reduce` | count, flops, \[root, \[type\]\] |
//! | `allreduce`, `scan`, `exscan` | count, flops, \[type\] |
//! | `alltoall`, `allgather` | count sent, count received, \[type sent, \[type received\]\] |
//! | `gather`, `scatter` | count sent, count received, \[root, \[type sent, \[type received\]\]\] |
//! | `gatherv` | count sent, a count received for each rank, \[root, \[types\]\] |
//! | `scatterv` | a count sent for each rank, count received, \[root, \[types\]\] |
//! | `allgatherv` | count sent, a count received for each rank, \[types\] |
//! | `reducescatter` | a count received for each rank, flops, \[type\] |
//! | `alltoallv` | size of a buffer, a count sent for each rank, size of a buffer, a count received for each rank, \[types\] |
//!
//! Each collective exists with an `i` before its name, which only starts it. Counts are **elements** of their
//! [`Datatype`], of bytes where none is given; they may have a fraction or an exponent (`1e6`), and are rounded. Flops
//! and seconds are numbers of that kind, at least 0. A recorder leaves a count of 0 received out of `gather`, `alltoall`
//! and their kin but writes all that follows; so four arguments of a `gather` or `scatter` are count, root and both
//! types, and three of an `alltoall` or `allgather` whose first is 0 are count and both types. On ranks that are not the
//! root, `gatherv` and `scatterv` may lack the list (in traces of at least four ranks).
//!
//! The arguments were taken from files that SimGrid 3.32 recorded, from the examples in its repository, and from what its
//! replay accepts (simgrid/simgrid, commit 12a63c78cd).
//!
//! # What a trace means
//!
//! For whoever replays it:
//!
//! - **Time.** There are no times. `compute` is the time of the recording run times the speed that was given to it
//!   (`smpi/host-speed`); dividing by the same speed gives seconds back. Consecutive `compute`s are normal: they add up.
//! - **Ranks** are ranks of `MPI_COMM_WORLD`, in messages of other communicators too. **Communicators** are not in the
//!   trace: all collectives are of all ranks. A program whose collectives are of fewer ranks has a trace that cannot be
//!   told from one whose collectives are of all, unless the ranks call different ones, which the [check](mod@check)
//!   refuses. It warns of `comm_split`, and of a `comm_size` that is not the number of ranks.
//! - **`MPI_PROC_NULL`** is written as `MPI_ANY_SOURCE` is: -333. A send to it is to `MPI_PROC_NULL`. Of receives the
//!   [check](mod@check) tells them apart by the number of messages that are sent.
//! - **Matching** is by source and tag, with any source ([`None`]) and any tag. `sendRecv` has no tag in the trace: its
//!   messages have tag 0.
//! - **Requests** have no number. `wait` and `test` name the message; the oldest request of that message is meant. A
//!   `waitall` takes all requests of the rank; recorders write a `wait` for each of them behind it, for requests that
//!   are done. [`Requests`] tells which is meant. A `waitany` does not say which one completed: a replay waits for the first
//!   of all that are pending. `test` and its kin do not say what they saw: a replay continues, and the request stays pending.
//! - **Protocol.** `ssend` and `issend` complete when they are received; of the others the threshold of whoever replays
//!   decides. `bsend` and `ibsend` complete at once.
//! - **Sizes.** A [`Datatype`] that the program made has no size in the trace ([`Datatype::UNKNOWN`]): its elements count
//!   as no bytes.
//! - **Collectives** that have flops compute them on each member, besides what the network does.

mod action;
mod archive;
mod args;
pub mod check;
mod collective;
mod datatype;
mod demux;
mod folder;
pub(crate) mod grammar;
pub mod info;
mod lanes;
mod list;
mod parser;
mod proc_null;
mod reader;
mod requests;
mod set;
mod sizes;
mod trace;
pub mod write;

pub use action::{Action, Alltoallv, Collective, Elements, Mode, Request};
pub use check::{Check, check, check_file, check_input};
pub use datatype::Datatype;
pub use folder::is_folder;
pub use info::Info;
pub use parser::{Parser, Step};
pub use reader::Actions;
pub use requests::Requests;
pub use set::Set;
pub use trace::{Form, Trace, probe};
pub use write::WriteError;
