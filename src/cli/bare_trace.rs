//! A trace given in place of an experiment: explains how to replay it.

use super::command_line::quoted;
use super::error::CliError;
use flitwise_formats::dumpi::Set;
use flitwise_formats::otf2::Archive;
use flitwise_formats::recording;
use flitwise_formats::vef::Reader;
use flitwise_formats::{Foreign, Source, goal, ti};
use std::path::Path;

/// Explains how to replay the file, which `command` does not take, if it is a trace, or names its format if that cannot
/// be replayed; `None` if it is neither, or no file that can be read again.
pub(super) fn instead(command: &str, file: &Path) -> Option<CliError> {
    let name = file.display();
    if let Err(format) = ranks(file)? {
        return Some(CliError::BadInput(format!(
            "`{name}` is no experiment but {format}"
        )));
    }
    Some(CliError::BadInput(format!(
        "`{name}` is a trace, and `{command}` takes an experiment (docs/reference/experiment.md); `flitwise init my-trace \
         --trace {}` writes one",
        quoted(&name.to_string())
    )))
}

/// Explains how to make a result of a trace that is given in place of one; `None` if `path` is no trace.
pub(super) fn for_result(path: &Path) -> Option<CliError> {
    ranks(path)?.ok()?;
    Some(CliError::BadInput(format!(
        "`{}` is a trace, and pages and figures show results; `{} --out results` makes one",
        path.display(),
        replay(path)
    )))
}

/// The command that replays a trace.
pub(super) fn replay(file: &Path) -> String {
    let trace = quoted(&file.display().to_string());
    let mut names = (1..).map(|i| match i {
        1 => ".".to_owned(),
        _ => format!("replay-{i}"),
    });
    let is_free = |dir: &String| !Path::new(dir).join("my-trace.toml").exists();
    let dir = names.find(is_free).unwrap_or_default();
    let (out, place) = match &*dir {
        "." => (String::new(), String::new()),
        dir => (format!(" --out {dir}"), format!("{dir}/")),
    };
    format!("flitwise init my-trace --trace {trace}{out} && flitwise run {place}my-trace.toml")
}

/// Returns the number of ranks of a trace, 0 if it is broken; or the format of another file; `None` if it is no trace, or
/// no file that can be read again.
pub(super) fn ranks(file: &Path) -> Option<Result<u32, Foreign>> {
    if Set::is_directory(file) {
        Some(Ok(Set::open(file).map_or(0, |set| set.ranks())))
    } else if recording::Set::is_directory(file) {
        Some(Ok(ranks_of_recording(file)))
    } else if ti::is_folder(file) {
        Some(Ok(ti::Trace::open(file).map_or(0, |trace| trace.ranks())))
    } else if Archive::is_directory(file) {
        Some(Ok(ranks_of_archive(file)))
    } else if file.metadata().is_ok_and(|meta| meta.is_file()) {
        ranks_of(file)
    } else {
        None
    }
}

/// The same for a single file.
fn ranks_of(file: &Path) -> Option<Result<u32, Foreign>> {
    let mut source = Source::open(file).ok()?;
    let head = source.head().ok()?;
    if head.starts_with(b"VEF") {
        return Some(Ok(
            Reader::open(file).map_or(0, |reader| reader.header().tasks)
        ));
    }
    if goal::probe(head).is_some() {
        return Some(Ok(goal::Schedule::open(file).map_or(0, |s| s.ranks())));
    }
    if ti::probe(file, head).is_some() {
        return Some(Ok(ti::Trace::open(file).map_or(0, |trace| trace.ranks())));
    }
    if recording::Set::probe(file, head) {
        return Some(Ok(ranks_of_recording(file)));
    }
    if Set::probe(head) {
        return Some(Ok(Set::open(file).map_or(0, |set| set.ranks())));
    }
    if Archive::probe(head) {
        return Some(Ok(ranks_of_archive(file)));
    }
    Foreign::of(head)
        .filter(|format| format.is_trace())
        .map(Err)
}

fn ranks_of_archive(file: &Path) -> u32 {
    Archive::open(file).map_or(0, |archive| archive.ranks())
}

fn ranks_of_recording(file: &Path) -> u32 {
    recording::Set::open(file).map_or(0, |set| set.ranks())
}

/// Returns `k` and `n` of the k-ary n-tree with the fewest levels that has a NIC for each rank.
pub(super) fn tree_for(ranks: u32) -> Option<(u32, u32)> {
    let fits = |&(k, n): &(u32, u32)| k.checked_pow(n).is_some_and(|nics| nics >= ranks);
    let mut sizes = (2..=5).flat_map(|n| (2..=32).map(move |k| (k, n)));
    sizes.find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_a_nic_for_each_rank() {
        assert_eq!(tree_for(49), Some((7, 2)));
        assert_eq!(tree_for(1025), Some((11, 3)));
    }
}
