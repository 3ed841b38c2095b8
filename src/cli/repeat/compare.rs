//! The first difference of two files.

use flitwise::results::RESULT_FILE;
use flitwise::results::document::Engine;
use flitwise_base::quote::cut;
use flitwise_formats::source::{open_regular, read_regular_text};
use std::io::{self, BufRead, BufReader};
use std::path::Path;

/// Most bytes of a line that are kept for a message.
const MOST: usize = 1 << 12;

/// Says behind the name of a file how `now` differs from `before`; `None` if it does not. The times and events of
/// `engine` in a `result.json` do not count.
pub(super) fn first_difference(before: &Path, now: &Path) -> Option<String> {
    let is_missing = |e: &io::Error| e.kind() == io::ErrorKind::NotFound;
    match (open_regular(before), open_regular(now)) {
        (Err(e), Err(_)) if is_missing(&e) => None,
        (Err(e), Ok(_)) if is_missing(&e) => Some(", which is not there".to_owned()),
        (Err(e), _) => Some(format!(", which cannot be read: {e}")),
        (Ok(_), Err(_)) => Some(", which was not written again".to_owned()),
        (Ok(_), Ok(_)) if before.ends_with(RESULT_FILE) => {
            let both = [before, now].map(read_regular_text);
            let [Ok(before), Ok(now)] =
                both.map(|text| text.map(|text| without_what_varies(&text)))
            else {
                return Some(", which cannot be read".to_owned());
            };
            lines(before.as_bytes(), now.as_bytes())
        }
        (Ok(before), Ok(now)) => lines(BufReader::new(before), BufReader::new(now)),
    }
}

/// The first line in which two texts differ. Bytes that are no text have lines as well.
fn lines(mut before: impl BufRead, mut now: impl BufRead) -> Option<String> {
    let (mut there, mut here) = (Vec::new(), Vec::new());
    for line in 1u64.. {
        there.clear();
        here.clear();
        let read = [
            before.read_until(b'\n', &mut there),
            now.read_until(b'\n', &mut here),
        ];
        if read.iter().any(Result::is_err) {
            return Some(", which cannot be read".to_owned());
        }
        if there != here {
            return Some(match (there.is_empty(), here.is_empty()) {
                (false, false) => format!(
                    ", first in line {line}: `{}` there, `{}` here",
                    shown(&there),
                    shown(&here)
                ),
                (ends_there, _) => format!(
                    ": {} ends before line {line}",
                    if ends_there { "it" } else { "the new one" }
                ),
            });
        }
        if there.is_empty() {
            return None;
        }
    }
    None
}

/// A line for a message.
fn shown(line: &[u8]) -> String {
    let line = String::from_utf8_lossy(&line[..line.len().min(MOST)]);
    cut(line.trim()).to_string()
}

/// `result.json` without the values that differ from run to run.
fn without_what_varies(text: &str) -> String {
    let mut in_engine = false;
    let mut kept = String::with_capacity(text.len());
    for line in text.lines() {
        match line {
            "  \"engine\": {" => in_engine = true,
            "  }," | "  }" => in_engine = false,
            _ => {}
        }
        let key = line.trim_start().split('"').nth(1).unwrap_or_default();
        if in_engine && Engine::KEYS_THAT_VARY.contains(&key) {
            continue;
        }
        // A study leaves these values out, and what is then last has no comma.
        kept += if in_engine {
            line.trim_end_matches(',')
        } else {
            line
        };
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_and_events_of_the_engine_may_differ() {
        let text = |seed: u32, wall: &str| {
            format!(
                "{{\n  \"seed\": {seed},\n  \"engine\": {{\n    \"threads\": 1{wall}\n  }},\n  \"wall_s\": 1\n}}\n"
            )
        };
        let with_wall = text(1, ",\n    \"wall_s\": 1.5");
        assert_eq!(
            without_what_varies(&with_wall),
            without_what_varies(&text(1, ""))
        );
        assert_ne!(
            without_what_varies(&text(1, "")),
            without_what_varies(&text(2, ""))
        );
    }
}
