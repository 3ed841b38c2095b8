//! Writes VEF lines; what is written parses to the same values.

use std::io::{self, Write};

use super::record::{Comm, DepId, Header, Record, Version};

/// Writes the first line.
///
/// # Errors
/// Those of `out`.
pub fn header(out: &mut impl Write, h: &Header) -> io::Result<()> {
    let magic = match h.version {
        Version::Vef => "VEF",
        Version::Vef3 => "VEF3",
    };
    write!(
        out,
        "{magic} {} {} {} {} {} {}",
        h.tasks,
        h.messages,
        h.comms,
        h.collectives,
        h.members,
        u8::from(h.only_send_deps)
    )?;
    match h.version {
        Version::Vef => writeln!(out),
        Version::Vef3 => writeln!(out, " {}", h.ps_per_unit),
    }
}

/// Writes the line of communicator `index`.
///
/// # Errors
/// Those of `out`.
pub fn comm(out: &mut impl Write, index: u32, comm: &Comm) -> io::Result<()> {
    write!(out, "C{index}")?;
    for task in &*comm.members {
        write!(out, " {task}")?;
    }
    writeln!(out)
}

/// Writes a record.
///
/// # Errors
/// Those of `out`.
pub fn record(out: &mut impl Write, record: &Record) -> io::Result<()> {
    let (dep, after) = record.dep();
    match record {
        Record::Message(m) => write!(out, "{} {} {} {}", m.id, m.src, m.dst, m.size)?,
        Record::Member(m) => write!(
            out,
            "G{} C{} {} {} {} {}",
            m.id, m.comm, m.op, m.task, m.send, m.recv
        )?,
    }
    write!(out, " {} {} ", dep.0, record.time())?;
    match after {
        DepId::None => writeln!(out, "-1"),
        DepId::Message(id) => writeln!(out, "{id}"),
        DepId::Collective(id) => writeln!(out, "G{id}"),
    }
}
