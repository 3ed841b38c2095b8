//! Checks a whole schedule.
//!
//! Memory: 4 bytes for each operation of one rank (12 if operations wait for each other), and the messages that lack their counterpart so far.

use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{Problem, Problems};
use flitwise_base::stop::Stop;

use super::block::Block;
use super::info::Info;
use super::layout::Node;
use super::record::{DependencyKind, Task};
use super::schedule::Schedule;
use crate::error::Error;
use crate::matching::{Matching, Unmatched};
use crate::source::Input;

/// Result of checking a schedule.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Check {
    /// Its contents, as far as they can be read.
    pub info: Info,
    /// Its errors: text that does not parse, operations that wait for each other, and messages without a
    /// counterpart.
    pub errors: Problems,
    /// Messages whose sends and receives have different sizes.
    pub warnings: Problems,
}

impl Check {
    /// True if there are no errors.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }
}

/// Checks a file.
///
/// # Errors
/// If it can't be read. What is wrong with its content is in [`Check::errors`].
pub fn check_file(path: impl AsRef<Path>) -> Result<Check, Error> {
    let input = Input::new(path.as_ref());
    check_input(&input, Stop::never()).map(|(check, _)| check)
}

/// Checks an input. The schedule is there unless it does not parse.
///
/// # Errors
/// As [`check_file`], or if the user stops the check.
pub fn check_input(input: &Input, stop: Stop<'_>) -> Result<(Check, Option<Schedule>), Error> {
    let schedule = match Schedule::read(input, stop) {
        Ok(schedule) => schedule,
        Err(e) => {
            let mut errors = Problems::default();
            let problem = e.into_problem()?;
            errors.add(|| problem);
            let info = Info::default();
            let warnings = Problems::default();
            let check = Check {
                info,
                errors,
                warnings,
            };
            return Ok((check, None));
        }
    };
    Ok((check(&schedule, stop)?, Some(schedule)))
}

/// Checks a schedule that is open, as [`check_input`].
///
/// # Errors
/// If it can't be read, or the user stops the check.
pub fn check(schedule: &Schedule, stop: Stop<'_>) -> Result<Check, Error> {
    let mut check = Check {
        info: Info::new(schedule),
        errors: Problems::default(),
        warnings: Problems::default(),
    };
    let mut matching = Matching::new(schedule.ranks());
    for rank in 0..schedule.ranks() {
        stop.check()?;
        if let Err(e) = check_rank(schedule, rank, &mut check, &mut matching) {
            let problem = e.into_problem()?;
            check.errors.add(|| problem);
            // The messages of the rank that were not read would be missed.
            return Ok(check);
        }
    }
    warn_of_sizes(schedule, &matching, &mut check.warnings);
    for unmatched in matching.finish() {
        check.errors.add(|| problem(schedule, unmatched));
    }
    Ok(check)
}

/// Warns of messages whose sends and receives have different sizes.
pub(crate) fn warn_of_sizes(schedule: &Schedule, matching: &Matching, warnings: &mut Problems) {
    for uneven in matching.uneven() {
        warnings.add(|| Problem {
            path: Arc::clone(schedule.path_of(uneven.rank())),
            place: Some(uneven.place),
            message: uneven.says(),
        });
    }
}

fn problem(schedule: &Schedule, unmatched: Unmatched) -> Problem {
    let cures = [
        "add a recv there, or correct destination or tag",
        "add a send there, or correct source or tag",
        "correct their number",
    ];
    let says = unmatched.says(|tag| tag.to_string(), cures);
    Problem {
        path: Arc::clone(schedule.path()),
        place: unmatched.place(),
        message: format!("rank {} {says}", unmatched.rank()),
    }
}

fn check_rank(
    schedule: &Schedule,
    rank: u32,
    check: &mut Check,
    matching: &mut Matching,
) -> Result<(), Error> {
    let mut block = schedule.rank(rank)?;
    check.info.largest_rank = check.info.largest_rank.max(block.len());
    let mut waits = vec![0u32; block.len() as usize];
    block.each(|block, index, node| {
        check.info.add(node);
        add_message(matching, rank, node);
        count_waits(block, index, node, &mut waits)
    })?;
    states_its_dependencies(&mut block, &waits)?;
    if let Some(cycle) = find_cycle(&mut block, waits)? {
        let problem = cycle.into_problem()?;
        check.errors.add(|| problem);
    }
    Ok(())
}

/// Counts an operation of `rank` if it is a send or a receive.
fn add_message(matching: &mut Matching, rank: u32, node: &Node) {
    match node.op.task {
        Task::Send { bytes, to, tag } => {
            matching.send_sized(rank, to, tag.into(), bytes, node.place);
        }
        Task::Recv { bytes, from, tag } => {
            matching.receive_sized(from, rank, tag.map(u64::from), bytes, node.place);
        }
        Task::Calc { .. } | Task::Collective { .. } | Task::Work { .. } => {}
    }
}

/// Counts the operations that wait for `node`, which is operation `index`.
fn count_waits(block: &mut Block, index: u32, node: &Node, waits: &mut [u32]) -> Result<(), Error> {
    block.successors(index, node, |of, _| {
        let waits = &mut waits[of as usize];
        *waits = waits.saturating_add(1);
    })
}

/// Counts the operations of a rank of a schedule that was [built](super::Builder), and finds those that wait for each other.
pub(crate) fn check_built(
    schedule: &Schedule,
    rank: u32,
    info: &mut Info,
    matching: &mut Matching,
) -> Result<Option<Problem>, Error> {
    let mut block = schedule.rank(rank)?;
    info.largest_rank = info.largest_rank.max(block.len());
    let mut waits = vec![0u32; block.len() as usize];
    block.each(|block, index, node| {
        info.add(node);
        add_message(matching, rank, node);
        count_waits(block, index, node, &mut waits)
    })?;
    let cycle = find_cycle(&mut block, waits)?;
    cycle.map(Error::into_problem).transpose()
}

/// Checks that the binary form states as many dependencies and roots as its lists have.
fn states_its_dependencies(block: &mut Block, waits: &[u32]) -> Result<(), Error> {
    let roots = waits.iter().filter(|&&n| n == 0).count();
    for index in 0..block.len() {
        let node = block.node(index)?;
        let found = waits[index as usize];
        if node.unmet != found {
            let message = format!(
                "states {} dependencies, but {found} operations list it; the file is damaged: make it again",
                node.unmet
            );
            return Err(block.wrong(index, node.place, &message));
        }
    }
    if roots != block.roots() as usize && !block.is_empty() {
        let node = block.node(0)?;
        let message = format!(
            "the rank states {} operations without dependencies, but has {roots}; the file is damaged: make it \
             again",
            block.roots()
        );
        return Err(block.wrong(0, node.place, &message));
    }
    lists_its_roots(block, waits)
}

/// Checks that the list of operations without dependencies, of the right length, has each of them once.
fn lists_its_roots(block: &mut Block, waits: &[u32]) -> Result<(), Error> {
    let mut listed = vec![false; waits.len()];
    for at in 0..block.roots() {
        let (root, place) = block.root(at)?;
        let problem = match (waits.get(root as usize), listed.get_mut(root as usize)) {
            (Some(0), Some(listed)) if !*listed => {
                *listed = true;
                continue;
            }
            (Some(0), _) => "lists it twice".to_owned(),
            (Some(waits), _) => format!("lists it, and it has {waits}"),
            (None, _) => format!("lists it, and has {} operations", waits.len()),
        };
        let message = format!(
            "the list of operations without dependencies {problem}; the file is damaged: make it again"
        );
        return Err(block.wrong(root, place, &message));
    }
    Ok(())
}

/// A message about operations that wait for each other, if there are any. `waits` has the number of operations for
/// which each waits.
fn find_cycle(block: &mut Block, mut waits: Vec<u32>) -> Result<Option<Error>, Error> {
    const STARTED: u32 = u32::MAX;
    let mut left = block.len();
    // Most operations wait for those above them only: one pass in the order of the file starts them all.
    let mut ready = Vec::new();
    for sweep in 0..block.len() {
        if waits[sweep as usize] == 0 {
            ready.push(sweep);
        }
        while let Some(index) = ready.pop() {
            left = left.saturating_sub(1);
            waits[index as usize] = STARTED;
            let node = block.node(index)?;
            block.successors(index, &node, |of, _| {
                let waits = &mut waits[of as usize];
                *waits = waits.saturating_sub(1);
                if *waits == 0 && of <= sweep {
                    ready.push(of);
                }
            })?;
        }
    }
    if left == 0 {
        return Ok(None);
    }
    // Whoever can't start waits for another that can't.
    let mut waits_for = vec![(0, DependencyKind::Done); block.len() as usize];
    let stuck = |index: u32| waits[index as usize] != STARTED;
    for index in (0..block.len()).filter(|&index| stuck(index)) {
        let node = block.node(index)?;
        block.successors(index, &node, |of, kind| {
            waits_for[of as usize] = (index, kind);
        })?;
    }
    let mut at = (0..block.len()).find(|&index| stuck(index)).unwrap_or(0);
    // After as many steps as there are operations, the walk is in a cycle.
    for _ in 0..left {
        at = waits_for[at as usize].0;
    }
    // The cycle is told from its first operation on.
    let mut first = at;
    for _ in 0..left {
        at = waits_for[at as usize].0;
        first = first.min(at);
    }
    at = first;
    describe_cycle(block, at, &waits_for, left).map(Some)
}

/// Most operations of a cycle that a message names.
const NAMED: usize = 6;

fn describe_cycle(
    block: &mut Block,
    first: u32,
    waits_for: &[(u32, DependencyKind)],
    stuck: u32,
) -> Result<Error, Error> {
    let start: Node = block.node(first)?;
    let mut steps = Vec::new();
    let mut at = first;
    loop {
        let (next, kind) = waits_for[at as usize];
        let node = block.node(next)?;
        let what = if kind == DependencyKind::Done {
            "end"
        } else {
            "start"
        };
        steps.push(format!(
            "the {what} of operation {next} ({}, {})",
            node.op.name(),
            node.place
        ));
        at = next;
        if at == first || steps.len() == NAMED {
            break;
        }
    }
    let more = if at == first { "" } else { ", and so on" };
    let message = format!(
        "a {} that can never start: it waits for {}{more}; remove one of these dependencies ({stuck} operations of \
         the rank can't start)",
        start.op.name(),
        steps.join(", which waits for ")
    );
    Ok(block.wrong(first, start.place, &message))
}
