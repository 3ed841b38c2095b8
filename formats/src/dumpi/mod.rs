//! DUMPI: binary recordings of MPI calls, a file for each rank, by the library of sst-dumpi.
//!
//! ```text
//! file    = magic  cpu_bias:i32 wall_bias:i32  { call }  293:u16  { record }  index
//! call    = id:u16 mask:u8 [ thread:u16 ] [ cpu times ] [ wall times ] [ counters ] arguments
//! times   = start:u16 start_ns:u32 stop:u16 stop_ns:u32          seconds from the bias
//! record  = header | footer | key values | labels | sizes of datatypes
//! index   = magic  the offsets of these records
//! ```
//!
//! Numbers are big-endian. The arguments of all functions are in [`call`], what versions write differently in
//! [`Layout`]. Source: the layout as documented and written by sst-dumpi (commit a4c8bf5), checked on recordings of the
//! versions 1.0.0, 1.1.0 and 13.0.0, which are alike; what differs before 0.6.9 is known from the documentation only.
//!
//! [`Set`] finds the files of a trace, [`Reader`] reads the files of a rank, any number of times, [`Parser`] bytes from
//! anywhere. [`Writer`] and [`Archive`] write traces. [`check()`] judges a trace and sums it up, [`Types`] knows the sizes of datatypes.
//!
//! # Facts for replays of calls
//! - **Order.** The calls of a rank are in the order in which they returned. With several threads
//!   ([`Record::thread`]) they overlap; each thread alone is in order.
//! - **Times** are nanoseconds of clocks of the rank's own ([`Span`]): between ranks they are not comparable. What
//!   a rank computed is the time from the end of a call to the start of the next one, on the wall clock, or on the
//!   processor's if the ranks shared processors when they were recorded. A clock may go back: if it does so
//!   between two calls, that is 0; if within a call, what is before and after it is as the clock says. The start of
//!   `MPI_Init` is the anchor.
//! - **Handles are per rank**, in the order of their first use there: communicators, groups, datatypes, operations,
//!   requests and windows. Only handles of predefined objects mean the same everywhere. Communicators of two ranks are
//!   matched by their history: the n-th constructor that all members of a communicator call, with colours and keys.
//! - **Handles come again.** What was freed gives its number to the next one. [`Types`] follows this for datatypes.
//! - **Requests are no names.** Several operations in flight may have one number, since an MPI library may return one shared
//!   request for sends that are complete at once: number → queue of operations. A wait for a number behind which nothing is left, or for
//!   [`Request::NULL`], is over at once.
//! - **`MPI_PROC_NULL`** is the number that the MPI library gives to it: of a destination any number below 0. Of a source it is −2
//!   (Open MPI), or −1 (MPICH), which is [`ANY_SOURCE`](handle::ANY_SOURCE) as well: its status tells them
//!   apart, with 0 bytes and a source below 0.
//! - **What a receive got** is in its status, if it has one, with the true source and tag of a receive from any. Of a receive that
//!   does not block it is in the call that completed it.
//! - **Tests and probes** that found nothing (`flag` 0, a negative `index`) are polls: the time is waiting, not work. The
//!   recorder may leave them out, and counts them in [`Trailer::ignored`].
//! - **Calls that are missing.** The recorder knows the functions of MPI-2. Functions of MPI-3, such as `MPI_Ibarrier`,
//!   neighbourhood collectives and `MPI_Comm_split_type`, leave no trace but their handles; [`check()`] warns of them.
//! - **Displacements and extents** are cut to 32 bits, and displacements of structures are wrong on machines of 64 bits:
//!   the payload of a datatype is right, where it lies is not known.
//!
//! # Examples
//! ```
//! use flitwise_formats::dumpi::{Set, check};
//!
//! // The file of the only rank: its clocks count from 0, and it calls MPI_Barrier on MPI_COMM_WORLD from 2 s to 3 s.
//! let mut file = b"\xff\xaa\xddDUMPI\0\0\0\0\0\0\0\0".to_vec();
//! file.extend([0, 52, 0x08, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 2]);
//! file.extend(293_u16.to_be_bytes());
//! // Version 1.1.0, at the start of Unix time, on a machine without a name. The index says where that is.
//! let header = file.len() as u64;
//! file.extend([1, 1, 0]);
//! file.extend([0; 8 + 2 * 2 + 2 * 4]);
//! file.extend(b"\xff\xaa\xddDUMPI");
//! file.extend([header, 8, 0, 0].map(u64::to_be_bytes).concat());
//!
//! let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("barrier-0000.bin"), file)?;
//! let set = Set::open(dir.path())?;
//! // There was no MPI_Init and no MPI_Finalize.
//! let check = check(&set)?;
//! assert!(check.is_clean());
//! assert_eq!((set.ranks(), check.ranks[0].collectives), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
pub mod call;
pub mod check;
pub mod handle;
mod layout;
mod metafile;
mod parser;
mod problem;
mod reader;
mod record;
mod set;
mod sizes;
mod trailer;
mod wire;
mod write;

pub use call::{Call, Collective, Function, Message};
pub use check::{Check, Odd, check, check_seen};
pub use handle::{Comm, Datatype, Group, IoRequest, Op, Request, Win};
pub use layout::{Layout, Version};
pub use metafile::Metafile;
pub use parser::{Parser, Step};
pub use problem::Problem;
pub use reader::Reader;
pub use record::{Record, Span};
pub use set::Set;
pub use sizes::Types;
pub use trailer::Trailer;
pub use wire::{Array, Elements, List, Status, Statuses, Text};
pub use write::{Archive, Writer};
