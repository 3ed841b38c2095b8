//! Replay: turns programs, collectives and background flows into messages.
//!
//! A [`Replay`] is a [workload](flitwise_fabric::workload::Workload) of the fabric.
//! Each job has a player that takes operations from its [program], carries out
//! collectives by the plans in [collectives] and waits for the dependencies.
//! One agenda in picoseconds orders all events. [`trace`] reads programs from files of all formats, [`convert`]
//! writes them in another format, [`generate`] makes traces of common kernels, and [`background`] makes synthetic flows.
//! `docs/model/replay.md` defines the replay.
//!
//! # Examples
//! ```
//! use flitwise_fabric::engine::{Engine, RunEnd};
//! use flitwise_fabric::{ids::NicId, spec::FabricSpec, topology::Topology};
//! use flitwise_base::stop::Stop;
//! use flitwise_replay::trace::{Reading, check_file};
//! use flitwise_replay::{JobSpec, Replay, ReplaySpec};
//!
//! let trace = check_file("../../traces/hpl-16.vef.gz".as_ref(), Stop::never())?;
//! let program = trace.open(&Reading::default(), Stop::never())?;
//! let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
//! let job = JobSpec::new("HPL", program, NicId::all(16).collect());
//! let mut replay = Replay::new(ReplaySpec::new(&spec, 1, vec![job]))?;
//! assert_eq!(Engine::new(&spec)?.run(&mut replay), RunEnd::Finished);
//! assert!(replay.outcomes()[0].complete);
//! # Ok::<(), anyhow::Error>(())
//! ```

pub mod agreement;
mod arrived;
pub mod background;
mod causes;
pub mod collectives;
pub mod compute;
pub mod convert;
pub mod critical_path;
mod driver;
mod gaps;
pub mod generate;
mod ids;
pub mod job;
mod key;
mod link;
mod members;
mod messages;
pub mod mpi;
pub mod node;
mod observer;
mod order;
pub mod outcome;
mod pairs;
pub mod placement;
mod plans;
mod player;
pub mod program;
mod queue;
mod rank;
mod slots;
mod spares;
mod spec;
mod stall;
mod standing;
mod stored;
pub mod trace;

pub use compute::ComputeModel;
pub use driver::Replay;
pub use gaps::GapsSkipped;
pub use job::{IntraNode, JobSpec, Repeat, SendCompletion};
pub use node::{NicChoice, NodeGraph, NodeSpec};
pub use observer::{Doing, MatchedBy, Observer, Sent, SentFor, StreamOf};
pub use pairs::{PairCount, PairCounts};
pub use spec::ReplaySpec;
pub use standing::Progress;
