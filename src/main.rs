//! The `flitwise` command.

mod cli;

use clap::Parser;
use cli::{Cli, execute};
use std::process::ExitCode;

fn main() -> ExitCode {
    match execute(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.end(),
    }
}
