//! What to say of a directory that was given in place of a trace.

use std::path::Path;

use super::Source;
use crate::foreign::Foreign;

/// Most names of a directory that are looked at.
const MAX_NAMES: usize = 4096;
/// Most of its files that are opened.
const MAX_OPENED: usize = 64;
/// Most traces that a message names.
const NAMED: usize = 3;

/// That the directory at `path` is no trace, and which traces are in it, as the rest of a message
/// that names it.
#[must_use]
pub fn directory(path: &Path) -> String {
    const WHAT: &str = "is a directory, not a trace file";
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let files = entries.take(MAX_NAMES).map(|entry| entry.path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort_unstable();
    let (mut traces, mut foreign) = (Vec::new(), None);
    for file in files.iter().take(MAX_OPENED) {
        let Ok(mut source) = Source::open(file) else {
            continue;
        };
        let Ok(head) = source.head() else {
            continue;
        };
        let format = Foreign::of(head);
        let is_whole = matches!(
            format,
            Some(Foreign::Goal | Foreign::GoalBinary | Foreign::Ti)
        );
        if head.starts_with(b"VEF") || is_whole {
            traces.push(format!("`{}`", file.display()));
        } else if let Some(format) = format.filter(|format| format.is_trace()) {
            foreign.get_or_insert(format);
        }
    }
    let more = if traces.len() > NAMED { ", …" } else { "" };
    traces.truncate(NAMED);
    match (traces.is_empty(), foreign) {
        (false, _) => format!(
            "{WHAT}; name one of those in it: {}{more}",
            traces.join(", ")
        ),
        (true, Some(Foreign::Dumpi)) => {
            format!("{WHAT}; the files of a DUMPI trace in it must be called `PREFIX-NNNN.bin`")
        }
        (true, Some(format)) => format!("{WHAT}; in it is {format}"),
        (true, None) => format!(
            "{WHAT}, and no file in it looks like one; name a file, or the directory of the files of a DUMPI trace"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::directory;

    #[test]
    fn traces_in_a_directory_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let said = || directory(dir.path());
        std::fs::write(dir.path().join("notes.txt"), "no trace").unwrap();
        assert!(
            said().contains("no file in it looks like one"),
            "{}",
            said()
        );
        std::fs::write(dir.path().join("a-0000.bin"), b"\xff\xaa\xddDUMPI\0").unwrap();
        assert!(
            said().ends_with("must be called `PREFIX-NNNN.bin`"),
            "{}",
            said()
        );
        for name in ["d.vef", "b.vef", "c", "e.vef"] {
            let text = match name {
                "c" => "num_ranks 2\n",
                _ => "VEF3 2 2 1 0 0 0 1000\n",
            };
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        let path = |name: &str| dir.path().join(name).display().to_string();
        let [b, c, d] = ["b.vef", "c", "d.vef"].map(path);
        let named = format!("name one of those in it: `{b}`, `{c}`, `{d}`, …");
        assert!(said().ends_with(&named), "{}", said());
    }
}
