//! Writes traces; they read back as the same actions.

use std::io::{self, Write};

use super::action::{Action, Collective, Elements, Request};
use super::datatype::Datatype;
use super::trace::Trace;
use crate::error::Error;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The trace can't be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The output can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// How SimGrid writes any source, and any tag.
const ANY_SOURCE: &str = "-555";
/// `MPI_PROC_NULL` as a destination.
const PROC_NULL: &str = "-333";
const ANY_TAG: &str = "-444";

/// Writes the lines of one rank. `out` should be buffered.
///
/// # Errors
/// If the trace can't be read or `out` fails.
pub fn rank(trace: &Trace, rank: u32, out: &mut impl Write) -> Result<(), WriteError> {
    let mut actions = trace.rank(rank)?;
    while let Some((_, action)) = actions.next_action()? {
        line(out, rank, &action)?;
    }
    Ok(())
}

/// Writes a trace into one file, rank by rank. `out` should be buffered.
///
/// # Errors
/// If the trace can't be read or `out` fails.
pub fn one_file(trace: &Trace, out: &mut impl Write) -> Result<(), WriteError> {
    (0..trace.ranks()).try_for_each(|k| rank(trace, k, out))
}

/// Writes a line. Lists must have an entry for each rank of the trace; a list that only the root knows may be empty, in
/// traces of at least 4 ranks.
///
/// # Errors
/// If `out` fails.
pub fn line(out: &mut impl Write, rank: u32, action: &Action) -> io::Result<()> {
    let mut text = Line(format!("{rank}"));
    if let Action::Collective { call, immediate } = action {
        text.word(if *immediate { "i" } else { "" });
        text.0.push_str(call.name());
        text.collective(call);
    } else {
        text.word(match action {
            Action::SendRecv { .. } => "sendRecv",
            _ => action.name(),
        });
        text.arguments(action);
    }
    text.0.push('\n');
    out.write_all(text.0.as_bytes())
}

struct Line(String);

impl Line {
    fn word(&mut self, word: &str) {
        self.0.push(' ');
        self.0.push_str(word);
    }

    fn number(&mut self, number: impl itoa::Integer) {
        self.word(itoa::Buffer::new().format(number));
    }

    fn or(&mut self, number: Option<u32>, any: &str) {
        match number {
            Some(number) => self.number(number),
            None => self.word(any),
        }
    }

    fn amount(&mut self, amount: f64) {
        if amount.fract() == 0.0 && amount < 1e15 {
            self.number(amount as u64)
        } else {
            self.word(&format!("{amount:e}"))
        }
    }

    fn elements(&mut self, elements: &Elements) {
        self.number(elements.count);
        self.number(elements.datatype.id());
    }

    fn counts(&mut self, counts: &[u64]) {
        counts.iter().for_each(|&count| self.number(count));
    }

    fn types(&mut self, types: [Datatype; 2]) {
        types
            .into_iter()
            .for_each(|datatype| self.number(datatype.id()));
    }

    fn request(&mut self, request: &Request) {
        self.or(request.src, ANY_SOURCE);
        self.or(request.dst, ANY_SOURCE);
        self.or(request.tag, ANY_TAG);
    }

    fn arguments(&mut self, action: &Action) {
        match action {
            Action::CommSize(size) => self.number(*size),
            Action::Compute { flops } => self.amount(*flops),
            Action::Sleep { seconds } => self.amount(*seconds),
            Action::Send {
                to, tag, elements, ..
            } => {
                self.or(*to, PROC_NULL);
                self.number(*tag);
                self.elements(elements);
            }
            Action::Recv {
                from,
                tag,
                elements,
                ..
            } => {
                self.or(*from, ANY_SOURCE);
                self.or(*tag, ANY_TAG);
                self.elements(elements);
            }
            Action::SendRecv {
                to,
                send,
                from,
                recv,
            } => {
                self.number(send.count);
                self.or(*to, PROC_NULL);
                self.number(recv.count);
                self.or(*from, ANY_SOURCE);
                self.types([send.datatype, recv.datatype]);
            }
            Action::Wait(request) | Action::Test(request) => self.request(request),
            Action::WaitAll { count } | Action::WaitAny { count } => {
                if let Some(count) = count {
                    self.number(*count);
                }
            }
            _ => {}
        }
    }

    fn vector(&mut self, elements: &Elements, flops: f64, root: Option<u32>) {
        self.number(elements.count);
        self.amount(flops);
        if let Some(root) = root {
            self.number(root);
        }
        self.number(elements.datatype.id());
    }

    fn pair(&mut self, send: &Elements, recv: &Elements, root: Option<u32>) {
        self.number(send.count);
        self.number(recv.count);
        if let Some(root) = root {
            self.number(root);
        }
        self.types([send.datatype, recv.datatype]);
    }

    fn collective(&mut self, call: &Collective) {
        let root = call.root();
        match call {
            Collective::Barrier => {}
            Collective::Bcast { elements, root } => {
                self.number(elements.count);
                self.number(*root);
                self.number(elements.datatype.id());
            }
            Collective::Reduce {
                elements, flops, ..
            }
            | Collective::Allreduce { elements, flops }
            | Collective::Scan { elements, flops }
            | Collective::Exscan { elements, flops } => self.vector(elements, *flops, root),
            Collective::Alltoall { send, recv }
            | Collective::Allgather { send, recv }
            | Collective::Gather { send, recv, .. }
            | Collective::Scatter { send, recv, .. } => self.pair(send, recv, root),
            Collective::Alltoallv(a) => {
                self.number(a.send_buffer);
                self.counts(&a.send);
                self.number(a.recv_buffer);
                self.counts(&a.recv);
                self.types([a.send_type, a.recv_type]);
            }
            Collective::Gatherv { .. } | Collective::Scatterv { .. } => self.rooted_lists(call),
            Collective::Allgatherv {
                send,
                recv,
                recv_type,
            } => {
                self.number(send.count);
                self.counts(recv);
                self.types([send.datatype, *recv_type]);
            }
            Collective::ReduceScatter {
                recv,
                datatype,
                flops,
            } => {
                self.counts(recv);
                self.amount(*flops);
                self.number(datatype.id());
            }
        }
    }

    fn rooted_lists(&mut self, call: &Collective) {
        match call {
            Collective::Gatherv {
                send,
                recv,
                recv_type,
                root,
            } => {
                self.number(send.count);
                self.counts(recv);
                self.number(*root);
                self.types([send.datatype, *recv_type]);
            }
            Collective::Scatterv {
                send,
                send_type,
                recv,
                root,
            } => {
                self.counts(send);
                self.number(recv.count);
                self.number(*root);
                self.types([*send_type, recv.datatype]);
            }
            _ => {}
        }
    }
}
