//! Generates traces of kernels: the communication of common parallel programs, without the
//! programs. `docs/reference/trace-tools.md` describes each kernel.
//!
//! A kernel is a function that tells the `Builder` what happens, in an order that a recorder
//! could have written. It runs twice. The first line of a trace says how many lines follow, so
//! the first run counts the lines of a single iteration (all iterations have equally many). The
//! second run writes all iterations. Memory is bounded by one iteration, with a window by as many
//! iterations as it has messages, not by the trace.

mod allreduce;
mod alltoall;
mod builder;
mod grid;
mod halo;
mod hpl;
mod incast;
mod master_worker;
mod pairs;
mod random_access;
mod ring;
mod spec;

pub use builder::Counts;
pub use grid::Grid;
pub use spec::{Form, GenerateError, Kernel, Spec};

use std::io::Write;

use flitwise_formats::limits::MAX_TASKS;
use flitwise_formats::vef::{Comm, Header, Record, Version, Writer};

use self::builder::Builder;
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::units::Ratio;

impl Spec {
    /// Writes the trace as VEF3 in nanoseconds; the same specification gives the same bytes.
    ///
    /// # Errors
    /// If the specification makes no sense, exceeds what the format can hold, or if the
    /// output can't be written.
    ///
    /// # Examples
    /// ```
    /// use flitwise_replay::generate::{Kernel, Spec};
    /// use flitwise_base::units::Ratio;
    ///
    /// let spec = Spec {
    ///     kernel: Kernel::Ring,
    ///     ranks: 4,
    ///     size: 1024,
    ///     iterations: 10,
    ///     compute_ns: 500,
    ///     imbalance: Ratio::whole(0),
    ///     seed: 1,
    /// };
    /// let (counts, trace) = spec.write(Vec::new())?;
    /// assert_eq!((counts.messages, counts.bytes), (40, 40 * 1024));
    /// assert!(trace.starts_with(b"VEF3 4 "));
    /// # Ok::<(), flitwise_replay::generate::GenerateError>(())
    /// ```
    pub fn write<W: Write>(&self, out: W) -> Result<(Counts, W), GenerateError> {
        self.validate()?;
        let gaps = self.gaps()?;
        let comms = self.comms();
        let lines = self.lines(&comms, &gaps)?;
        let header = Header {
            version: Version::Vef3,
            tasks: self.ranks,
            messages: lines.messages,
            comms: comms.len() as u32,
            collectives: lines.collectives,
            members: lines.members,
            only_send_deps: false,
            ps_per_unit: 1000,
        };
        let mut writer = Writer::new(out, &header, &comms)?;
        let mut write = |record: &Record| writer.record(record);
        let counts = Builder::new(self, &gaps, &comms, &mut write).run()?;
        Ok((counts, writer.finish()?))
    }

    /// Numbers of lines to come; `messages` counts markers as well.
    fn lines(&self, comms: &[Comm], gaps: &[u64]) -> Result<Counts, GenerateError> {
        let one = Self {
            iterations: 1,
            ..self.clone()
        };
        let mut count = |_: &Record| Ok(());
        let one = Builder::new(&one, gaps, comms, &mut count).run()?;
        let all = |n: u64| n.checked_mul(self.iterations);
        // Every rank ends once, with a marker.
        let ends = u64::from(self.ranks);
        let points = all(one.messages + one.markers - ends).and_then(|n| n.checked_add(ends));
        match (points, all(one.collectives), all(one.members)) {
            (Some(messages), Some(collectives), Some(members)) => Ok(Counts {
                messages,
                collectives,
                members,
                ..Counts::default()
            }),
            _ => Err(GenerateError::Spec(
                "the trace has 2^64 lines or more: choose fewer iterations".into(),
            )),
        }
    }

    fn validate(&self) -> Result<(), GenerateError> {
        let refuse = |why: String| Err(GenerateError::Spec(why));
        if !(2..=MAX_TASKS).contains(&self.ranks) {
            return refuse(format!(
                "{} ranks are out of range: choose 2 to {MAX_TASKS}",
                self.ranks
            ));
        }
        if self.iterations == 0 {
            return refuse("0 iterations leave nothing to do: choose at least 1".into());
        }
        if self.imbalance > Ratio::whole(1) {
            return refuse(format!(
                "the imbalance {} is out of range: choose 0 to 1",
                self.imbalance
            ));
        }
        match &self.kernel {
            Kernel::Halo { grid, .. } | Kernel::Fft { grid, .. } | Kernel::Hpl { grid }
                if grid.ranks() != Some(self.ranks) =>
            {
                return refuse(format!(
                    "a grid of {grid} has not {} ranks: choose one whose product is the \
                     number of ranks",
                    self.ranks
                ));
            }
            Kernel::RandomAccess { messages: 0 } => {
                return refuse("0 messages per iteration leave nothing to do".into());
            }
            _ => {}
        }
        self.validate_benchmark().map_err(GenerateError::Spec)
    }

    fn validate_benchmark(&self) -> Result<(), String> {
        let ranks = self.ranks;
        match self.kernel {
            Kernel::RandomRing { window: 0, .. }
            | Kernel::Incast { window: 0 }
            | Kernel::GetBcast { window: 0 }
            | Kernel::Bandwidth { window: 0 } => {
                Err("a window of 0 messages lets none through: choose at least 1".into())
            }
            Kernel::RandomRing { rings, .. } if !(1..=self.iterations).contains(&rings) => {
                Err(format!(
                    "{rings} rings for {} iterations: choose 1 to as many as there are iterations",
                    self.iterations
                ))
            }
            Kernel::Allreduce { groups } if groups == 0 || !ranks.is_multiple_of(groups) => {
                Err(format!(
                    "{ranks} ranks cannot be divided into {groups} equal groups: choose a divisor \
                     of the number of ranks"
                ))
            }
            Kernel::Allreduce { groups } if groups == ranks => {
                Err("groups of one rank exchange nothing: choose fewer groups".into())
            }
            Kernel::Hierarchical { node, .. }
                if node < 2 || !ranks.is_multiple_of(node) || ranks == node =>
            {
                Err(format!(
                    "{ranks} ranks cannot be divided into nodes of {node}: choose at least 2 nodes of at least 2 ranks"
                ))
            }
            Kernel::PingPong | Kernel::Bandwidth { .. } if !ranks.is_multiple_of(2) => Err(
                format!("{ranks} ranks leave one without a partner: choose an even number"),
            ),
            _ => Ok(()),
        }
    }

    /// Computation of every rank per iteration, in nanoseconds.
    fn gaps(&self) -> Result<Vec<u64>, GenerateError> {
        const ONE: u64 = 1 << 32;
        let imbalance =
            u128::from(self.imbalance.num()) * u128::from(ONE) / u128::from(self.imbalance.den());
        let gap = |rank: u32| {
            let mut stream = Stream::new(self.seed, Purpose::Imbalance, [rank.into(), 0]);
            // Uniform over −1 to 1, in units of 1 / ONE; all products stay below 2^100.
            let even = i128::from(stream.below(2 * ONE + 1)) - i128::from(ONE);
            let factor = even * imbalance as i128 / i128::from(ONE);
            let compute = i128::from(self.compute_ns);
            u64::try_from(compute + compute * factor / i128::from(ONE))
                .map_err(|_| GenerateError::Spec("the computation exceeds 2^64 nanoseconds".into()))
        };
        (0..self.ranks).map(gap).collect()
    }

    /// The communicators: the world, and the groups with collectives of their own.
    fn comms(&self) -> Vec<Comm> {
        let groups = match &self.kernel {
            Kernel::Fft {
                grid,
                form: Form::Collective,
            } => {
                let dimensions = [1, 0].into_iter().filter(|&d| grid.extent(d) > 1);
                dimensions.flat_map(|d| grid.lines(d)).collect()
            }
            Kernel::Allreduce { groups } => allreduce::groups(self.ranks, *groups),
            Kernel::Hierarchical { node, by_rank } => {
                allreduce::hierarchy(self.ranks, *node, *by_rank)
            }
            _ => Vec::new(),
        };
        let world = (0..self.ranks).collect();
        let members = std::iter::once(world).chain(groups.into_iter().map(Into::into));
        members.map(|members| Comm { members }).collect()
    }
}

impl Builder<'_> {
    /// Writes the whole trace.
    fn run(mut self) -> Result<Counts, GenerateError> {
        let b = &mut self;
        match &b.spec.kernel {
            Kernel::Ring => ring::run(b)?,
            Kernel::Halo { grid, open } => halo::run(b, grid, *open)?,
            Kernel::AllToAll(form) => alltoall::run(b, *form)?,
            Kernel::Fft { grid, form } => alltoall::fft(b, grid, *form)?,
            Kernel::MasterWorker => master_worker::run(b)?,
            Kernel::Hpl { grid } => hpl::run(b, grid)?,
            Kernel::RandomAccess { messages } => random_access::run(b, *messages)?,
            Kernel::RandomRing {
                rings,
                window,
                sync,
            } => ring::random(b, *rings, *window, *sync)?,
            Kernel::Allreduce { groups } => allreduce::run(b, *groups)?,
            Kernel::Hierarchical { node, by_rank } => allreduce::hierarchical(b, *node, *by_rank)?,
            Kernel::Incast { window } => incast::run(b, *window)?,
            Kernel::PutIncast => incast::put(b)?,
            Kernel::GetBcast { window } => incast::get(b, *window)?,
            Kernel::PingPong => pairs::ping_pong(b)?,
            Kernel::Bandwidth { window } => pairs::bandwidth(b, *window)?,
        }
        self.finish()
    }
}
