//! Outputs of one command that would replace one another.

use super::super::error::CliError;
use std::path::{Path, PathBuf};

/// Refuses outputs, each with its option, of which two have one name, or of which one lies in the directory `out` of
/// `--out`, which a result replaces as a whole.
pub(in crate::cli) fn apart(
    out: Option<&Path>,
    outputs: &[(&str, Option<&Path>)],
) -> Result<(), CliError> {
    let dir = out.map(place);
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (option, path) in outputs {
        let Some(path) = path else {
            continue;
        };
        let (here, shown) = (place(path), path.display());
        if let (Some(out), Some(dir)) = (out, &dir)
            && here.starts_with(dir)
        {
            return Err(CliError::BadInput(format!(
                "{option}: `{shown}` lies in `{}`, which the result of --out replaces as a whole; name a place outside it",
                out.display()
            )));
        }
        if let Some((other, _)) = seen.iter().find(|(_, there)| *there == here) {
            return Err(CliError::BadInput(format!(
                "{option}: `{shown}` is also the output of {other}; name another file"
            )));
        }
        seen.push((option, here));
    }
    Ok(())
}

/// The one name of a file or directory, which may not exist yet.
fn place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (
        absolute.parent().map(Path::canonicalize),
        absolute.file_name(),
    ) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => absolute,
    }
}
