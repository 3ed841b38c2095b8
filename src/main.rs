//! The `flitwise` command.

mod cli;

use clap::error::{ContextKind, ContextValue};
use cli::{end, execute, parse};
use flitwise::huge_pages::HugePages;
use flitwise::quote::cut;
use std::io::{self, ErrorKind, Write};
use std::process::{ExitCode, exit};

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

fn main() -> ExitCode {
    match execute(parse().unwrap_or_else(|e| refuse(e))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => end(&error),
    }
}

/// Says what is wrong with the command line, of which it quotes no more than other messages do, and
/// ends the process.
fn refuse(mut error: clap::Error) -> ! {
    let given: Vec<_> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, cut(text).to_string())),
            _ => None,
        })
        .collect();
    // A tip quotes the argument as well.
    if given.iter().any(|(_, text)| text.contains('…')) {
        error.remove(ContextKind::Suggested);
    }
    for (kind, text) in given {
        error.insert(kind, ContextValue::String(text));
    }
    match (error.print(), error.exit_code()) {
        // The requested text (--help, --version) is not printed; a reader that has gone away is no error.
        (Err(e), 0) if e.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: cannot write to standard output: {e}");
            exit(1)
        }
        (_, code) => exit(code),
    }
}
