//! An output that is one of the inputs.

use super::super::error::CliError;
use flitwise_formats::source::shown;
use std::path::Path;

/// Refuses to write the file `output`, which `option` names, if it is one of `inputs` under this or another name: what is
/// written would replace what was read.
pub(in crate::cli) fn not_an_input<'a>(
    option: &str,
    output: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<(), CliError> {
    let Some(there) = output.canonicalize().ok().filter(|path| path.is_file()) else {
        return Ok(());
    };
    let is_there = |input: &&Path| input.canonicalize().is_ok_and(|input| input == there);
    match inputs.into_iter().find(is_there) {
        Some(input) => Err(CliError::BadInput(format!(
            "{option}: `{}` is the input `{}`; name another file",
            output.display(),
            shown(input).display()
        ))),
        None => Ok(()),
    }
}
