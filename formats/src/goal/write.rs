//! Writes schedules as text and in the binary form; both read back as the same schedule.

use std::io::{self, Write};

use super::layout::{ANY, BASE, ENTRY, HEAD, MAGIC, NODE, Node, RANK_HEAD, write_node};
use super::record::{DependencyKind, Op, Task};
use super::schedule::Schedule;
use crate::error::Error;

/// Why a schedule could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The schedule can't be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The output can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes a schedule as text. Operation `i` of a rank, from 0, gets the label `l<i + 1>`, and the dependencies
/// follow the operations. `out` should be buffered.
///
/// # Errors
/// If the schedule can't be read or `out` fails.
pub fn text(schedule: &Schedule, out: &mut impl Write) -> Result<(), WriteError> {
    refuse_others(schedule)?;
    writeln!(out, "num_ranks {}", schedule.ranks())?;
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank)?;
        write!(out, "\nrank {rank} {{\n")?;
        let mut failed = Ok(());
        let mut line = Vec::new();
        block.each(|_, index, node| {
            line.clear();
            write_line(&mut line, u64::from(index) + 1, &node.op);
            if failed.is_ok() {
                failed = out.write_all(&line);
            }
            Ok(())
        })?;
        block.each(|block, on, node| {
            line.clear();
            block.successors(on, node, |of, kind| {
                write_dependency(&mut line, u64::from(of) + 1, u64::from(on) + 1, kind);
                // Not all successors at once.
                if line.len() > crate::limits::BLOCK {
                    if failed.is_ok() {
                        failed = out.write_all(&line);
                    }
                    line.clear();
                }
            })?;
            if failed.is_ok() {
                failed = out.write_all(&line);
            }
            Ok(())
        })?;
        failed?;
        out.write_all(b"}\n")?;
    }
    Ok(())
}

/// Refuses a schedule that may have tasks that GOAL does not have.
fn refuse_others(schedule: &Schedule) -> Result<(), WriteError> {
    if schedule.is_goal() {
        return Ok(());
    }
    let message = "a schedule of another format: convert it first";
    Err(io::Error::new(io::ErrorKind::InvalidData, message).into())
}

fn number(out: &mut Vec<u8>, before: &[u8], number: u64) {
    out.extend_from_slice(before);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_line(out: &mut Vec<u8>, label: u64, op: &Op) {
    number(out, b"l", label);
    match op.task {
        Task::Send { bytes, to, tag } => {
            number(out, b": send ", bytes);
            number(out, b"b to ", u64::from(to));
            number(out, b" tag ", u64::from(tag));
        }
        Task::Recv { bytes, from, tag } => {
            number(out, b": recv ", bytes);
            for (word, value) in [(&b"b from "[..], from), (b" tag ", tag)] {
                match value {
                    Some(value) => number(out, word, u64::from(value)),
                    None => {
                        out.extend_from_slice(word);
                        out.extend_from_slice(b"-1");
                    }
                }
            }
        }
        Task::Calc { time } => number(out, b": calc ", time),
        // `refuse_others` has seen to it.
        Task::Work { .. } | Task::Collective { .. } => {}
    }
    if op.cpu > 0 {
        number(out, b" cpu ", u64::from(op.cpu));
    }
    if op.nic > 0 {
        number(out, b" nic ", u64::from(op.nic));
    }
    out.push(b'\n');
}

fn write_dependency(out: &mut Vec<u8>, of: u64, on: u64, kind: DependencyKind) {
    number(out, b"l", of);
    let word: &[u8] = match kind {
        DependencyKind::Done => b" requires l",
        DependencyKind::Started => b" irequires l",
    };
    number(out, word, on);
    out.push(b'\n');
}

/// Numbers of a rank that its bytes need beforehand.
struct Size {
    len: u32,
    roots: u32,
    successors: u64,
}

impl Size {
    fn bytes(&self) -> u64 {
        RANK_HEAD
            + 4 * u64::from(self.roots)
            + NODE as u64 * u64::from(self.len)
            + 4 * self.successors
    }
}

/// Writes a schedule in the binary form. `out` should be buffered.
///
/// # Errors
/// If the schedule can't be read or `out` fails; [`io::ErrorKind::InvalidData`] if a rank has 2^32 dependencies
/// or more, which that form can't express.
pub fn binary(schedule: &Schedule, out: &mut impl Write) -> Result<(), WriteError> {
    refuse_others(schedule)?;
    let (mut cpu, mut nic) = (0, 0);
    let mut sizes = Vec::with_capacity(schedule.ranks() as usize);
    for rank in 0..schedule.ranks() {
        let mut block = schedule.rank(rank)?;
        let mut size = Size {
            len: block.len(),
            roots: 0,
            successors: 0,
        };
        block.each(|_, _, node| {
            cpu = cpu.max(node.op.cpu);
            nic = nic.max(node.op.nic);
            size.roots += u32::from(node.unmet == 0);
            size.successors += u64::from(node.done) + u64::from(node.started);
            Ok(())
        })?;
        if size.successors > u64::from(ANY) {
            let message = format!("rank {rank} has too many dependencies for the binary form");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message).into());
        }
        sizes.push(size);
    }
    out.write_all(&MAGIC)?;
    out.write_all(&schedule.ranks().to_le_bytes())?;
    out.write_all(&[cpu, nic])?;
    let mut at = HEAD + ENTRY * sizes.len() as u64 - BASE;
    for size in &sizes {
        out.write_all(&at.to_le_bytes())?;
        at += size.bytes();
        out.write_all(&at.to_le_bytes())?;
    }
    for (rank, size) in (0..).zip(&sizes) {
        write_rank(schedule, rank, size, out)?;
    }
    Ok(())
}

fn write_rank(
    schedule: &Schedule,
    rank: u32,
    size: &Size,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    let mut block = schedule.rank(rank)?;
    out.write_all(&size.len.to_le_bytes())?;
    out.write_all(&size.roots.to_le_bytes())?;
    let mut failed = Ok(());
    let mut bytes = Vec::new();
    let mut flush = |bytes: &mut Vec<u8>, all: bool| {
        if all || bytes.len() > crate::limits::BLOCK {
            if failed.is_ok() {
                failed = out.write_all(bytes);
            }
            bytes.clear();
        }
    };
    block.each(|_, index, node| {
        if node.unmet == 0 {
            bytes.extend(index.to_le_bytes());
            flush(&mut bytes, false);
        }
        Ok(())
    })?;
    let mut at = 0u32;
    block.each(|_, _, node: &Node| {
        write_node(node, at, &mut bytes);
        at = at.wrapping_add(node.done).wrapping_add(node.started);
        flush(&mut bytes, false);
        Ok(())
    })?;
    block.each(|block, index, node| {
        block.successors(index, node, |of, _| {
            bytes.extend(of.to_le_bytes());
            flush(&mut bytes, false);
        })
    })?;
    flush(&mut bytes, true);
    failed?;
    Ok(())
}
