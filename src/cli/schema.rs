//! `flitwise schema`: what the JSON that this program writes looks like, for other programs.

use super::{CliError, json_text, print};
use clap::{Args, ValueEnum};
use flitwise::results::result_schema;
use flitwise::study::study_schema;

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
    print(&json_text(&match args.document {
        Document::Result => result_schema(),
        Document::Study => study_schema(),
    })?)
}
