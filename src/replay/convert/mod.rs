//! Traces from one format into another: VEF, GOAL schedules and TI traces, and whatever else becomes a
//! [program](crate::program) of MPI calls.
//!
//! All operations of a trace are in memory, with their dependencies (`graph`). What the target does not have is put in other words,
//! and counted: `docs/reference/traces.md` lists it. Where a target has one order of operations, or names messages in place of
//! receives that accept any, it is as on a network on which messages take no time (`ideal`).

mod expand;
mod from_goal;
mod from_program;
mod graph;
mod ideal;
mod slice;
mod to_dumpi;
mod to_goal;
mod to_ti;
mod to_vef;
mod written;

use crate::mpi::Protocol;
use crate::program::RegionId;
use crate::trace::{Reading, TraceFile};
use anyhow::{Context, anyhow};
use flitwise_base::stop::Stop;
use flitwise_formats::goal;
use from_program::Marks;
pub use graph::Edge;
use graph::{COLLECTIVES, Graph, Key, Losses, Node, Task};
use hashbrown::{HashMap, HashSet};
use ideal::{Calcs, Course};
pub use slice::{Part, SliceError, Sliced, is_never_entered, slice, takes_no_time};
use std::io::Write;
use std::path::Path;
pub use to_dumpi::to_dumpi;
pub use written::{Edges, Written};
use written::{check_size, endless, told};

/// The format that a trace is converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// VEF3.
    Vef3,
    /// A GOAL schedule, text.
    Goal,
    /// A GOAL schedule, binary.
    GoalBinary,
    /// A TI trace, in one file.
    Ti,
}

/// Writes the trace `file`, which messages call `name`, in another form. A TI trace is read, and written, for ranks of
/// the speed in `reading`.
///
/// # Errors
/// If the trace can't be read, has too many operations, or does not end on an ideal network; or if `out` fails.
///
/// # Examples
/// ```
/// use flitwise_base::stop::Stop;
/// use flitwise_replay::convert::{Form, convert};
/// use flitwise_replay::trace::{Reading, check_file};
///
/// let dir = tempfile::tempdir()?;
/// let path = dir.path().join("pair.goal");
/// std::fs::write(&path, "num_ranks 2\nrank 0 {\nsend 64b to 1\n}\nrank 1 {\nrecv 64b from 0\n}\n")?;
/// let file = check_file(&path, Stop::never())?;
/// let mut vef = Vec::new();
/// let written = convert(&*file, &path, &Reading::default(), Form::Vef3, &mut vef)?;
/// assert_eq!((written.messages, written.bytes), (1, 64));
/// assert!(vef.starts_with(b"VEF3 2 "));
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn convert(
    file: &dyn TraceFile,
    name: &Path,
    reading: &Reading,
    form: Form,
    out: &mut impl Write,
) -> anyhow::Result<Written> {
    let asked = Asked {
        file,
        name,
        reading,
        form,
        region: None,
    };
    asked.convert(out)
}

/// Writes the trace as VEF3 in which the first entry of each rank into `region`, and its last exit, are [markers](Edges).
///
/// # Errors
/// As [`convert`].
pub fn convert_region(
    file: &dyn TraceFile,
    name: &Path,
    reading: &Reading,
    region: RegionId,
    out: &mut impl Write,
) -> anyhow::Result<Written> {
    let asked = Asked {
        file,
        name,
        reading,
        form: Form::Vef3,
        region: Some(region),
    };
    asked.convert(out)
}

/// The arguments of a conversion.
struct Asked<'a> {
    file: &'a dyn TraceFile,
    name: &'a Path,
    reading: &'a Reading,
    form: Form,
    region: Option<RegionId>,
}

impl Asked<'_> {
    fn convert(&self, out: &mut impl Write) -> anyhow::Result<Written> {
        let (file, name, reading) = (self.file, self.name, self.reading);
        check_size(file).with_context(|| name.display().to_string())?;
        let mut losses = Losses::default();
        let graph = match file.schedule(reading)? {
            Some(scheduled) => from_goal::graph(&scheduled, &mut losses)?,
            None => {
                let mut program = file.open(reading, Stop::never())?;
                let marks = self.region.map_or(Marks::None, Marks::Of);
                let graph = from_program::graph(&mut *program, name, marks, &mut losses)?.0;
                Graph {
                    may_idle: self.form == Form::Vef3,
                    ..graph
                }
            }
        };
        let mut written =
            put(self, graph, losses, out).with_context(|| name.display().to_string())?;
        told(file, reading, &mut written);
        Ok(written)
    }
}

/// Writes the operations of a trace.
fn put(
    asked: &Asked<'_>,
    graph: Graph,
    mut losses: Losses,
    out: &mut impl Write,
) -> anyhow::Result<Written> {
    let form = asked.form;
    let unended = graph.unended.clone();
    let mut kept = match form {
        Form::Vef3 => {
            losses.add(long_sends(&graph), NO_RENDEZVOUS);
            to_vef::kept(&graph, &mut losses)
        }
        Form::Goal | Form::GoalBinary => HashSet::new(),
        Form::Ti => to_ti::kept(&graph),
    };
    let (mut graph, course) = carry_out(asked, graph, &mut kept, &mut losses)?;
    if form != Form::Vef3 {
        name_tags(&mut graph, &course, &mut losses);
    }
    lost_with(form, &graph, &course, &mut losses);
    let mut written = counts(&graph, kept.len() as u64);
    match form {
        Form::Vef3 => {
            let counts = to_vef::write(&graph, &course, out)?;
            written.markers = counts.markers;
            written.ps_per_unit = Some(counts.ps_per_unit);
            written.edges = Edges {
                markers: counts.edges,
                unended,
            };
            written.records = counts.messages + counts.markers + counts.members;
        }
        Form::Goal | Form::GoalBinary => {
            let schedule = to_goal::schedule(asked.name, &graph, &course, &mut losses)?;
            match form {
                Form::Goal => goal::write::text(&schedule, out)?,
                _ => goal::write::binary(&schedule, out)?,
            }
            written.records = graph.ranks.iter().map(|nodes| nodes.len() as u64).sum();
        }
        Form::Ti => {
            let speed = asked.reading.host_speed;
            written.records = to_ti::write(&graph, &course, speed, &mut losses, out)?;
        }
    }
    out.flush()?;
    written.losses = losses.lines();
    Ok(written)
}

/// Carries out the operations on an ideal network. Of the collectives in `kept` only those remain ones that the target can have.
fn carry_out(
    asked: &Asked<'_>,
    mut graph: Graph,
    kept: &mut HashSet<Key>,
    losses: &mut Losses,
) -> anyhow::Result<(Graph, Course)> {
    let eager_bytes = match asked.form {
        Form::Ti => Protocol::default().eager_threshold_bytes,
        Form::Vef3 | Form::Goal | Form::GoalBinary => u64::MAX,
    };
    loop {
        graph = expand::expand(graph, kept, losses)?.0;
        let course = ideal::run(&graph, Calcs::Last, eager_bytes)
            .map_err(|stalled| anyhow!(endless(asked.file, asked.name, &stalled)))?;
        // A rank of a TI trace does nothing else while it is in a collective.
        if asked.form != Form::Ti || course.crossed.is_empty() {
            return Ok((graph, course));
        }
        kept.retain(|key| !course.crossed.contains(key));
    }
}

/// In formats without communicators, receives of any tag would take messages of collectives: they name their tags.
fn name_tags(graph: &mut Graph, course: &Course, losses: &mut Losses) {
    let of_collective =
        |node: &Node| matches!(&node.task, Task::Send { comm, .. } if *comm == COLLECTIVES);
    if !graph.ranks.iter().flatten().any(of_collective) {
        return;
    }
    let mut named = Vec::new();
    for (rank, taken) in course.taken.iter().enumerate() {
        for (&receive, &(sender, send)) in taken {
            if let Task::Send { tag, .. } = graph.ranks[sender as usize][send as usize].task {
                named.push((rank, receive, tag));
            }
        }
    }
    for (rank, receive, found) in named {
        if let Task::Recv {
            tag: tag @ None, ..
        } = &mut graph.ranks[rank][receive as usize].task
        {
            *tag = Some(found);
            let what = "receives of any tag name the tag of the message that comes first on an ideal network";
            losses.add(1, what);
        }
    }
}

fn counts(graph: &Graph, collectives: u64) -> Written {
    let mut written = Written {
        ranks: graph.ranks.len() as u32,
        collectives,
        ..Written::default()
    };
    for node in graph.ranks.iter().flatten() {
        match node.task {
            Task::Send { bytes, .. } => {
                written.messages += 1;
                written.bytes = written.bytes.saturating_add(bytes);
            }
            Task::Collective(_) => written.members += 1,
            Task::Calc { .. } | Task::Recv { .. } => {}
        }
    }
    written
}

const NO_RENDEZVOUS: &str =
    "sends above the eager threshold of 64,000 bytes no longer wait for their receives";

/// Sends that wait for their receives by the default protocol.
fn long_sends(graph: &Graph) -> u64 {
    let threshold = Protocol::default().eager_threshold_bytes;
    let is_long = |node: &&Node| matches!(node.task, Task::Send { bytes, .. } if bytes > threshold);
    if graph.has_rendezvous {
        graph.ranks.iter().flatten().filter(is_long).count() as u64
    } else {
        0
    }
}

/// Adds the losses of formats in which the operations of a rank have one order.
fn lost_with(form: Form, graph: &Graph, course: &Course, losses: &mut Losses) {
    match form {
        Form::Goal | Form::GoalBinary => return,
        Form::Vef3 | Form::Ti => losses.add(
            course.extra_order(graph),
            "independent operations of a rank are put into the order of an ideal network",
        ),
    }
    losses.add(
        course.behind_others(graph),
        "operations wait for a computation beside them",
    );
    let any = |task: &Task| match task {
        Task::Recv { from, tag, .. } => from.is_none() || tag.is_none(),
        Task::Calc { .. } | Task::Send { .. } | Task::Collective(_) => false,
    };
    if form == Form::Vef3 {
        let receives = graph.ranks.iter().flatten().filter(|node| any(&node.task));
        losses.add(
            receives.count() as u64,
            "receives of any source or tag name the message that comes first on an ideal network",
        );
        let receives = graph.ranks.iter().flatten();
        let receives = receives.filter(|node| matches!(node.task, Task::Recv { .. }));
        let taken = course.taken.iter().map(HashMap::len).sum::<usize>();
        losses.add(
            receives.count().saturating_sub(taken) as u64,
            "receives get no message and are left out",
        );
    }
}
