//! The region of the program that `flitwise trace slice --mark` keeps.

use crate::cli::console::tell;
use crate::cli::error::CliError;
use flitwise::convert::{Edge, Edges, is_never_entered, takes_no_time};
use flitwise::replay::program::RegionId;
use flitwise::replay::trace::{TraceFile, known_regions};
use flitwise::units::human_time;
use flitwise_base::quote::quoted;
use flitwise_formats::source::{Input, shown};
use flitwise_formats::vef::slice::starts;
use flitwise_formats::vef::{Cut, SliceError};
use std::path::Path;

/// The region of this name, if one is asked for.
pub(super) fn of(
    path: &Path,
    file: &dyn TraceFile,
    name: Option<&str>,
) -> Result<Option<RegionId>, CliError> {
    let Some(name) = name else { return Ok(None) };
    let names = file.regions();
    if let Some(at) = (0..).zip(names).find(|(_, known)| ***known == *name) {
        return Ok(Some(RegionId::new(at.0)));
    }
    if let Some(why) = file.unfollowed(name) {
        return Err(CliError::BadInput(format!(
            "{}: region {} is not followed: {why}",
            shown(path).display(),
            quoted(name)
        )));
    }
    let Some(known) = known_regions(names, name) else {
        return Err(none(path));
    };
    Err(CliError::BadInput(format!(
        "{}: there is no region {}; the trace has {known}",
        shown(path).display(),
        quoted(name)
    )))
}

/// The error about a trace without regions.
#[cold]
pub(super) fn none(path: &Path) -> CliError {
    CliError::BadInput(format!(
        "{}: has no region to cut out: recordings have those that the program marks by MPI_Pcontrol, OTF2 archives its functions; \
         cut a window by --from and --to",
        shown(path).display()
    ))
}

/// Sets the window of `cut` from the first entry into region `name` of its ranks to their last exit. What a rank computes up to
/// an exit remains: the marker of the exit does.
pub(super) fn window(
    name: &str,
    (input, edges): (&Input, &Edges),
    cut: &mut Cut,
) -> Result<(), SliceError> {
    let ranks = cut.ranks.clone();
    let kept = |rank: u32| {
        let ranks = ranks.as_ref();
        ranks.is_none_or(|ranks| ranks.contains(&rank))
    };
    let of = |edge: Edge| {
        let all = edges.markers.iter();
        all.filter(move |(rank, one, _)| *one == edge && kept(*rank))
            .map(|(_, _, id)| *id)
    };
    let all = starts(input, of(Edge::Entry).chain(of(Edge::Exit)))?;
    let first = of(Edge::Entry).filter_map(|id| all.get(&id)).min();
    let Some(&from_ps) = first else {
        return Err(SliceError::Refused(is_never_entered(name)));
    };
    cut.from_ps = from_ps;
    cut.closing = of(Edge::Exit).collect();
    cut.to_ps = if edges.unended.iter().any(|rank| kept(*rank)) {
        None
    } else {
        of(Edge::Exit).filter_map(|id| all.get(&id)).max().copied()
    };
    if cut.to_ps == Some(from_ps) {
        return Err(SliceError::Refused(takes_no_time(name)));
    }
    tell_window(name, (from_ps, cut.to_ps));
    Ok(())
}

/// Says where on the ideal clock region `name` is.
pub(super) fn tell_window(name: &str, (from_ps, to_ps): (u64, Option<u64>)) {
    let to = to_ps.map_or_else(|| "the end".to_owned(), human_time);
    tell(format_args!(
        "region {} is from {} to {to} of the ideal clock",
        quoted(name),
        human_time(from_ps)
    ));
}
