//! Reads text files.

use crate::config::document::error::{ConfigError, refused};
use crate::config::inputs;
use std::io::Read;
use std::path::Path;

/// Most bytes read from one file: experiments fit on a screen.
const MAX_FILE: u64 = 16 << 20;

/// Reads a text file.
///
/// # Errors
/// If it cannot be read or is no UTF-8.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let name = path.display();
    let failed = |e: std::io::Error| ConfigError::new("", format!("cannot read `{name}`: {e}"));
    let mut bytes = Vec::new();
    // Not by the size the system tells: devices and pipes have none.
    let mut file = std::fs::File::open(path)
        .map_err(failed)?
        .take(MAX_FILE + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return refused(
            "",
            format!("`{name}` is larger than {MAX_FILE} bytes; an experiment fits on a screen"),
        );
    }
    inputs::note(path, &bytes);
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count();
        ConfigError::new(
            "",
            format!("{name}:{line}: not a text in UTF-8; an experiment is a TOML file (docs/reference/experiment.md)"),
        )
    })
}
