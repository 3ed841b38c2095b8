//! `--out DIR`: a directory of results that appears whole or not at all (`docs/reliability.md`).
//!
//! [`Target`] checks the contents of DIR before the run. [`Part`] is the hidden directory beside it into which the run
//! writes; at the end it takes the place of DIR.

mod exchange;
mod part;
mod target;

pub(super) use part::{Part, remove_empty, remove_part};
pub(super) use target::Target;

use super::CliError;
use std::fmt::Display;
use std::path::Path;

/// An error about the option: bad input.
fn refuse(problem: impl Display) -> CliError {
    CliError::BadInput(format!("--out: {problem}"))
}

/// An error of the system before the run: bad input.
fn cannot_write(dir: &Path, why: impl Display) -> CliError {
    refuse(format_args!(
        "cannot write `{}`: {why}; name a directory that can be written",
        dir.display()
    ))
}
