//! `--out DIR`: a directory of results that appears whole or not at all (`docs/evidence/reliability.md`).
//!
//! [`Target`] checks the contents of DIR before the run. [`Part`] is the hidden directory beside it into which the run
//! writes; at the end it takes the place of DIR.

mod apart;
mod exchange;
mod input;
mod owner;
mod part;
mod target;

pub(super) use apart::apart;
pub(super) use exchange::take_place;
pub(super) use input::not_an_input;
pub(super) use owner::{ANALYSIS, Owner, RUN, crowded};
pub(super) use part::{Lock, Part, lock, remove_empty, remove_part};
pub(super) use target::{Target, difference};

use super::error::CliError;
use std::fmt::Display;
use std::path::Path;

/// An error about the option: bad input.
pub(super) fn refuse(problem: impl Display) -> CliError {
    CliError::BadInput(format!("--out: {problem}"))
}

/// The problem of a directory that cannot be used, with its cure.
pub(super) fn unusable(dir: &Path, why: impl Display) -> String {
    let shown = dir.display();
    if dir.is_file() {
        return format!("cannot write `{shown}`: it is a file; name a directory");
    }
    let why = why.to_string();
    let words = why
        .split_once(" (os error")
        .map_or(&*why, |(words, _)| words);
    format!("cannot write `{shown}`: {words}; name a directory that can be written")
}

/// The error of a file that `option` names and that could not be written.
pub(super) fn unwritten(option: &str, e: &flitwise_formats::Error) -> CliError {
    if e.is_full_disk() {
        CliError::Failed(format!("cannot write {e}"))
    } else {
        // The error of a missing directory has its cure.
        let cure = match e.missing_file() {
            Some(_) => "",
            None => "; name a file that can be written",
        };
        CliError::BadInput(format!("{option}: cannot write {e}{cure}"))
    }
}

/// An error of the system before the run: bad input.
pub(super) fn cannot_write(dir: &Path, why: impl Display) -> CliError {
    refuse(unusable(dir, why))
}
