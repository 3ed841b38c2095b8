//! `flitwise schema`: what the JSON that this program writes looks like, for other programs.

use super::{CliError, print};
use clap::{Args, ValueEnum};

/// Arguments of `flitwise schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Which document.
    document: Document,
}

/// A document with a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Document {
    /// result.json of a run.
    Result,
    /// study.json of a study.
    Study,
}

pub(super) fn run(args: &SchemaArgs) -> Result<(), CliError> {
    print(match args.document {
        Document::Result => include_str!("../../docs/schema/result.schema.json"),
        Document::Study => include_str!("../../docs/schema/study.schema.json"),
    })
}
