//! The `flitwise` command.

mod cli;

use clap::Parser;
use cli::{Cli, execute, tell};
use std::process::ExitCode;

fn main() -> ExitCode {
    match execute(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("error: {error}"));
            ExitCode::from(error.exit_code())
        }
    }
}
