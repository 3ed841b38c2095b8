//! Facts that `recording.toml` and the names of files give about a recording.

use serde::Deserialize;
use std::path::Path;

/// The description in the directory of a recording.
pub const RECORDING_FILE: &str = "recording.toml";

/// Whether a recording may have a file of this name.
pub fn is_recording_file(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_stream = || {
        let name = name.strip_suffix(".calls")?;
        let (rank, thread) = name.split_once('.')?;
        Some(is_number(rank) && is_number(thread))
    };
    matches!(name, RECORDING_FILE | "recording.toml.part") || is_stream() == Some(true)
}

/// The description of a recording, as far as the recorder itself needs it.
#[derive(Debug, Deserialize)]
pub struct Stored {
    /// Names the recording: every one has another.
    pub run: String,
    /// The command that recorded rank 0.
    pub session: String,
    /// The number of ranks.
    pub ranks: u32,
    /// Whether the program called `MPI_Finalize`.
    pub finalised: bool,
}

impl Stored {
    /// Reads the description in a directory; `None` if there is none.
    pub fn read(dir: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(dir.join(RECORDING_FILE)).ok()?;
        toml::from_str(&text).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_recordings_are_known_by_name() {
        for name in [
            "recording.toml",
            "recording.toml.part",
            "0.0.calls",
            "12.3.calls",
        ] {
            assert!(is_recording_file(name), "{name}");
        }
        for name in [
            "recording.tom",
            "0.calls",
            ".0.calls",
            "0..calls",
            "a.0.calls",
            "0.0.calls.gz",
            "0.0.0.calls",
        ] {
            assert!(!is_recording_file(name), "{name}");
        }
    }
}
