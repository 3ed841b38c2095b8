//! Flitwise computes how long an MPI application takes on a fabric, and how much slower that is than it
//! could be. It replays recorded applications through a flit-exact model of an Omni-Path-style or an
//! InfiniBand-style fabric. The `flitwise` program is a command line over this library.
//!
//! # A run
//! An experiment file becomes a [`Plan`](config::Plan), which [`run_plan`](run::run_plan) runs with all
//! that it is compared with. `docs/reference/experiment.md` describes every key. To read a text in place of a file there is
//! [`resolve_text`](config::resolve_text).
//!
//! ```
//! use flitwise::config::load;
//! use flitwise::results::{execution_time_ps, slowdown};
//! use flitwise::run::{Control, run_plan};
//! use flitwise::units::human_time;
//! use std::{error::Error, path::Path};
//!
//! fn main() -> Result<(), Box<dyn Error>> {
//!     let more_traffic = ["background.0.rate=0.2".to_owned()]; // as with --set
//!     let plan = load(Path::new("configs/hpl-16-tree.toml"), &more_traffic)?;
//!     let result = run_plan(&plan, &Control::default(), 2)?; // on 2 threads
//!     let time = execution_time_ps(&plan.experiment, &result.main);
//!     let slowdown = slowdown(&plan, &result).ok_or("no baseline")?;
//!     println!("{}, slowdown {slowdown:.3}", human_time(time));
//! #   assert!(slowdown > 1.0 && slowdown < 2.0, "{slowdown}");
//!     Ok(())
//! }
//! ```
//!
//! # A workload of your own
//! The fabric asks a [`Workload`](fabric::workload::Workload) for messages and reports what
//! happened to them. [`Replay`](replay::Replay) is one, of applications and synthetic traffic. This
//! is another:
//!
//! ```
//! use flitwise::fabric::engine::{Engine, RunEnd};
//! use flitwise::fabric::ids::NicId;
//! use flitwise::fabric::spec::{FabricSpec, SpecError, Tick};
//! use flitwise::fabric::topology::Topology;
//! use flitwise::fabric::workload::{Message, Workload};
//!
//! /// Two NICs that answer each other with 1 KiB, in service level 0.
//! struct PingPong {
//!     from: NicId,
//!     to: NicId,
//!     due: Option<Tick>,
//!     left: u32,
//! }
//!
//! impl Workload for PingPong {
//!     fn next_tick(&mut self) -> Option<Tick> {
//!         self.due
//!     }
//!     fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
//!         self.due = None;
//!         out.push(Message::new(self.from, self.to, 0, 1024, now));
//!     }
//!     fn delivered(&mut self, now: Tick, _token: u64) {
//!         std::mem::swap(&mut self.from, &mut self.to);
//!         self.left -= 1;
//!         self.due = (self.left > 0).then_some(now);
//!     }
//!     fn finished(&self) -> bool {
//!         self.left == 0
//!     }
//! }
//!
//! fn main() -> Result<(), SpecError> {
//!     let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
//!     let mut engine = Engine::new(&spec)?;
//!     let (from, to) = (NicId::new(0), NicId::new(15));
//!     let mut pings = PingPong { from, to, due: Some(0), left: 100 };
//!     assert_eq!(engine.run(&mut pings), RunEnd::Finished);
//!     let latency = &engine.stats().service_levels[0].end_to_end;
//!     let ns = spec.units.tick.ns(latency.sum()) / latency.count() as f64;
//!     println!("{} messages, {ns:.0} ns each", latency.count());
//! #   assert_eq!(latency.count(), 100);
//! #   assert!((300.0..500.0).contains(&ns), "{ns}");
//!     Ok(())
//! }
//! ```
//!
//! # Modules
//! Data flows one way: [`formats`] → [`replay`] → [`fabric`] → [`results`]. They meet in [`run`].
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | turns experiment files into plain data; errors name file, line, key, cause and cure |
//! | [`run`] | runs a plan: experiment, baselines and loads, side by side, with progress, records and time series |
//! | [`figure`] | figures as data, drawn as SVG, PDF and PNG (the crate `flitwise-figure`) |
//! | [`wiring`] | links drawn on their topology |
//! | `report` | pages and figures from the directories of runs, studies and analyses (feature `report`) |
//! | `record` | the library that records the MPI calls of a program (feature `cli`) |
//! | [`results`] | evaluates a run: times, slowdowns, latencies, links; writes `result.json`, tables and figures |
//! | [`fabric::topology`] | switches, NICs and links: trees, tori, dragonflies, any graph |
//! | [`fabric::parameters`] | presets, and fabrics in bytes, rates and times |
//! | [`fabric::spec`] | a fabric in ticks, flits and credits, with its service levels, routing and congestion control |
//! | [`fabric::engine`] | simulates a fabric; a [`Probe`](fabric::engine::probe::Probe) sees each step of each packet |
//! | [`fabric::analysis`] | routes, loads of links, bisection and possible deadlocks, without a simulation |
//! | [`oblivious`] | static congestion of routes: what patterns of traffic share, without a simulation |
//! | [`replay`] | jobs and synthetic flows as messages; collectives as their algorithms |
//! | [`generate`] | writes traces of common kernels |
//! | [`formats`] | reads, checks and writes trace files (the crate `flitwise-formats`) |
//! | [`units`], [`random`] | quantities with units and exact fractions; random streams |
//!
//! # Features
//! All are on by default; `default-features = false` leaves the library alone.
//!
//! | feature | what it adds |
//! |---|---|
//! | `cli` | the `flitwise` program |
//! | `report` | pages and figures from the directories of runs and studies; `cli` needs it |
//! | `plots` | curves and time series as figures (SVG), figures of reports as PDF and PNG |
//! | `parquet` | time series as Parquet files |
//! | `perfetto` | timelines as Perfetto traces |
//!
//! # What may grow
//! Errors, results and experiments are `#[non_exhaustive]`: a later version may add fields and
//! variants. A [`FabricSpec`](fabric::spec::FabricSpec) and its parts are not: whoever writes all parameters of a fabric down
//! should hear of a new one. Its presets, such as
//! [`opa_gen1`](fabric::spec::FabricSpec::opa_gen1), and
//! [`Parameters`](fabric::parameters::Parameters) fill in what you leave out.
//!
//! Results are a function of experiment and seed, whatever the machine and the number of threads.

pub mod config;
pub mod explain;
#[cfg(feature = "cli")]
pub mod record;
#[cfg(feature = "report")]
pub mod report;
pub mod results;
pub mod run;
pub mod study;

pub use flitwise_base::{huge_pages, quote, random, stop, units};
pub use flitwise_fabric as fabric;
pub use flitwise_figure::{self as figure, wiring};
pub use flitwise_formats as formats;
pub use flitwise_oblivious as oblivious;
pub use flitwise_replay as replay;
pub use flitwise_replay::{convert, generate};
