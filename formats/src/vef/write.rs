//! Writes VEF; the text parses to the same values.

use std::io::{self, Write};

use super::record::{Comm, DepId, Header, Record, Version};

/// Writes a trace line by line and checks the counts of its header.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    line: Line,
    /// Point-to-point lines and collective lines: announced, and written.
    counts: [[u64; 2]; 2],
}

impl<W: Write> Writer<W> {
    /// Writes the first line and the communicators. `out` should be buffered.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(mut out: W, head: &Header, comms: &[Comm]) -> io::Result<Self> {
        header(&mut out, head)?;
        for (k, members) in (0..).zip(comms) {
            comm(&mut out, k, members)?;
        }
        Ok(Self {
            out,
            line: Line::default(),
            counts: [[head.messages, 0], [head.members, 0]],
        })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// If the output fails.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        let kind = usize::from(matches!(record, Record::Member(_)));
        self.counts[kind][1] += 1;
        self.out.write_all(self.line.fill(record))
    }

    /// Ends the trace and returns the output.
    ///
    /// # Errors
    /// If the output fails, and [`io::ErrorKind::InvalidData`] if the header announces
    /// another number of records.
    pub fn finish(mut self) -> io::Result<W> {
        for ([said, written], what) in self
            .counts
            .into_iter()
            .zip(["messages", "collective lines"])
        {
            if said != written {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the header announces {said} {what}, but {written} were written"),
                ));
            }
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes the first line.
///
/// # Errors
/// If `out` fails.
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
/// If `out` fails.
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
/// If `out` fails.
pub fn record(out: &mut impl Write, record: &Record) -> io::Result<()> {
    out.write_all(Line::default().fill(record))
}

/// The text of one record.
#[derive(Debug, Default)]
struct Line(Vec<u8>);

impl Line {
    fn number(&mut self, n: impl itoa::Integer, end: u8) {
        let mut digits = itoa::Buffer::new();
        self.0.extend_from_slice(digits.format(n).as_bytes());
        self.0.push(end);
    }

    fn fill(&mut self, record: &Record) -> &[u8] {
        self.0.clear();
        match record {
            Record::Message(m) => {
                self.number(m.id, b' ');
                self.number(m.src, b' ');
                self.number(m.dst, b' ');
                self.number(m.size, b' ');
            }
            Record::Member(m) => {
                self.0.push(b'G');
                self.number(m.id, b' ');
                self.0.push(b'C');
                self.number(m.comm, b' ');
                self.number(m.op, b' ');
                self.number(m.task, b' ');
                self.number(m.send, b' ');
                self.number(m.recv, b' ');
            }
        }
        let (dep, after) = record.dep();
        self.number(dep.0, b' ');
        self.number(record.time(), b' ');
        match after {
            DepId::None => self.0.extend_from_slice(b"-1\n"),
            DepId::Message(id) => self.number(id, b'\n'),
            DepId::Collective(g) => {
                self.0.push(b'G');
                self.number(g, b'\n');
            }
        }
        &self.0
    }
}
