//! Copies a trace into another version or unit of time, and checks it on the way.

use std::io::{self, Write};

use super::check::{Check, Checker};
use super::reader::Reader;
use super::record::{Dep, Header, Record, Version};
use super::write::Writer;
use crate::error::Error;

/// The target of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Version of the format.
    pub version: Version,
    /// Picoseconds per unit of time, more than 0; [`Version::Vef`] has only 1000.
    pub ps_per_unit: u64,
}

/// Why a conversion failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The input can't be read.
    #[error(transparent)]
    Read(#[from] Error),
    /// The output can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The input is broken; the check has the errors.
    #[error("the trace is broken")]
    Broken(Box<Check>),
    /// The target can't express this line.
    #[error("{what}")]
    Inexpressible {
        /// Line number, from 1; 0 if no line is to blame.
        line: u64,
        /// The problem, and the cure.
        what: String,
    },
}

/// The header of `input` in the form of `target`.
///
/// # Errors
/// If the target is version [`Version::Vef`] with another unit than nanoseconds.
pub fn target_header(input: &Header, target: Target) -> Result<Header, ConvertError> {
    if target.version == Version::Vef && target.ps_per_unit != 1000 || target.ps_per_unit == 0 {
        return Err(ConvertError::Inexpressible {
            line: 0,
            what: format!(
                "VEF counts nanoseconds, not units of {} ps: choose the unit 1ns or the format \
                 vef3",
                target.ps_per_unit
            ),
        });
    }
    Ok(Header {
        version: target.version,
        ps_per_unit: target.ps_per_unit,
        ..input.clone()
    })
}

/// Copies all records of `input` to `out`, line by line, without a change of meaning.
///
/// # Errors
/// If the input is broken, which may be known only after its last line, if the target
/// can't express it exactly, or if the output can't be written.
pub fn convert<W: Write>(
    input: &mut Reader,
    target: Target,
    out: W,
) -> Result<(Check, W), ConvertError> {
    let header = input.header().clone();
    let mut writer = Writer::new(out, &target_header(&header, target)?, input.comms())?;
    let mut checker = Checker::new(input, ());
    let check = loop {
        match input.next_record() {
            Ok(Some((line, record))) => {
                if !checker.record(line, &record) {
                    break checker.stop().0;
                }
                // A broken record has an error message already.
                if checker.so_far().is_clean() {
                    writer.record(&converted(line, record, &header, target)?)?;
                }
            }
            Ok(None) => break checker.finish(input.ignored_traffic()).0,
            Err(e) => break checker.unreadable(e.into_problem()?).0,
        }
    };
    if !check.is_clean() {
        return Err(ConvertError::Broken(Box::new(check)));
    }
    Ok((check, writer.finish()?))
}

fn converted(
    line: u64,
    mut record: Record,
    from: &Header,
    to: Target,
) -> Result<Record, ConvertError> {
    let carries = match &record {
        Record::Message(m) => !m.is_marker(),
        Record::Member(_) => false,
    };
    if to.version == Version::Vef
        && let Record::Message(m) = &record
        && carries
        && (m.src, m.size) == (m.dst, 0)
    {
        return Err(ConvertError::Inexpressible {
            line,
            what: "VEF takes an empty message of a task to itself for a marker: choose the \
                   format vef3"
                .into(),
        });
    }
    let (dep, time) = match &mut record {
        Record::Message(m) => (&mut m.dep, &mut m.time),
        Record::Member(m) => (&mut m.dep, &mut m.time),
    };
    if from.version != to.version {
        let traffic = carries && to.version == Version::Vef3;
        *dep = Dep(dep.0 & 3 | if traffic { 4 } else { 0 });
    }
    if from.ps_per_unit != to.ps_per_unit {
        let ps = u128::from(*time) * u128::from(from.ps_per_unit);
        let unit = u128::from(to.ps_per_unit);
        match (ps % unit, u64::try_from(ps / unit)) {
            (0, Ok(units)) => *time = units,
            _ => {
                return Err(ConvertError::Inexpressible {
                    line,
                    what: format!(
                        "the time of {ps} ps is no whole number of units of {unit} ps: choose a \
                         smaller unit"
                    ),
                });
            }
        }
    }
    Ok(record)
}
