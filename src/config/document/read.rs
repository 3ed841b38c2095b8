//! Reads text files.

use crate::config::document::error::{ConfigError, refused};
use crate::config::inputs;
use flitwise_base::near::similar_file;
use flitwise_base::quote::quoted;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Most bytes read from one file: experiments fit on a screen.
const MAX_FILE: u64 = 16 << 20;

/// Reads a text file.
///
/// # Errors
/// If it cannot be read or is no UTF-8.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    read_at_most(path, MAX_FILE, "an experiment fits on a screen")
}

/// Reads a text file of at most `most` bytes; `why` there can be no more.
///
/// # Errors
/// Like [`read`].
pub fn read_at_most(path: &Path, most: u64, why: &str) -> Result<String, ConfigError> {
    let name = path.display();
    let failed = |e: std::io::Error| {
        let why = match e.kind() {
            ErrorKind::NotFound => {
                format!("no such file{}", missing_file(path, &[path.to_owned()]))
            }
            _ => e.to_string(),
        };
        ConfigError::new("", format!("cannot read `{name}`: {why}"))
    };
    let mut bytes = Vec::new();
    // Not by the size the system tells: devices and pipes have none.
    let mut file = std::fs::File::open(path).map_err(failed)?.take(most + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return refused("", format!("`{name}` is larger than {most} bytes; {why}"));
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

/// Returns the cure for a missing file that was written as `name` and looked for in `places`, as the end of a message: a
/// similar name, the file that is standard input, or the files inside the program in place of files of the repository.
#[must_use]
pub fn missing_file(name: &Path, places: &[PathBuf]) -> String {
    if let Some(near) = places.iter().find_map(|path| similar_file(path)) {
        let meant = name.with_file_name(near).display().to_string();
        return format!("; did you mean {}?", quoted(&meant));
    }
    if name == Path::new("-") {
        "; standard input is `/dev/stdin` here".to_owned()
    } else if name.starts_with("configs") {
        "; `configs/` is in the repository: `flitwise init --list` lists the experiments inside the program".to_owned()
    } else if name.starts_with("traces") {
        "; `traces/` is in the repository: `flitwise list traces` lists the traces inside the program, which \
         `flitwise init` writes"
            .to_owned()
    } else {
        String::new()
    }
}

/// Returns the problem of a trace or a network that cannot be read, with the cure for a missing file.
#[must_use]
pub fn unread(e: &flitwise_formats::Error) -> String {
    let missing = |path: &Path| {
        let (shown, cure) = (path.display(), missing_file(path, &[path.to_owned()]));
        format!("{shown}: no such file{cure}")
    };
    e.missing_file().map_or_else(|| e.to_string(), missing)
}
