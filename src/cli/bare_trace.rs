//! A trace given in place of an experiment: explains how to replay it.

use super::CliError;
use super::command_line::quoted;
use flitwise_formats::dumpi::Set;
use flitwise_formats::otf2::Archive;
use flitwise_formats::recording;
use flitwise_formats::vef::Reader;
use flitwise_formats::{Foreign, Source, goal, ti};
use std::path::Path;

/// NICs of the switch in an experiment that does not describe its fabric.
const USUAL_NICS: u32 = 48;

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

/// The commands that replay a trace, each on a line of its own after a newline; or the experiment alone after a space, if
/// a shell would not take it literally.
pub(super) fn replay(file: &Path, ranks: u32) -> String {
    commands(file, ranks, "\n  ")
}

/// The same as one command.
pub(super) fn replay_at_once(file: &Path, ranks: u32) -> String {
    commands(file, ranks, " && ")
}

fn commands(file: &Path, ranks: u32, between: &str) -> String {
    // A JSON text is a TOML text, too.
    let trace = serde_json::Value::from(file.display().to_string());
    let experiment = format!("job = [{{ trace = {trace} }}]");
    // Within single quotes a shell takes every other character literally.
    if experiment.contains('\'') {
        return format!(" {experiment}");
    }
    let (new, room) = (unused(file), room_for(ranks));
    format!("\n  echo '{experiment}' > {new}{between}flitwise run {new}{room}")
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

/// The override that gives every rank a NIC; none where the usual fabric has them.
fn room_for(ranks: u32) -> String {
    match tree_for(ranks) {
        Some((k, n)) if ranks > USUAL_NICS => {
            format!(" --set 'fabric.topology={{kind=\"k-ary-n-tree\",k={k},n={n}}}'")
        }
        _ => String::new(),
    }
}

/// Returns `k` and `n` of the k-ary n-tree with the fewest levels that has a NIC for each rank.
pub(super) fn tree_for(ranks: u32) -> Option<(u32, u32)> {
    let fits = |&(k, n): &(u32, u32)| k.checked_pow(n).is_some_and(|nics| nics >= ranks);
    let mut sizes = (2..=5).flat_map(|n| (2..=32).map(move |k| (k, n)));
    sizes.find(fits)
}

/// An unused file name for the experiment, in the current directory.
fn unused(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem: String = name
        .chars()
        .take_while(|&c| c != '.')
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    let stem = stem.trim_start_matches('-');
    let stem = if stem.is_empty() { "experiment" } else { stem };
    let names = (1..).map(|i| match i {
        1 => format!("{stem}.toml"),
        _ => format!("{stem}-{i}.toml"),
    });
    let mut free = names.filter(|name| !Path::new(name).exists());
    free.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_traces_get_a_tree() {
        assert_eq!(room_for(48), "");
        let tree = |k, n| format!(" --set 'fabric.topology={{kind=\"k-ary-n-tree\",k={k},n={n}}}'");
        assert_eq!(room_for(49), tree(7, 2));
        assert_eq!(room_for(1025), tree(11, 3));
    }
}
