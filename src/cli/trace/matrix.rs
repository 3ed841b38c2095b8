//! The communication matrix of a trace: the traffic from each rank to each other rank.

use crate::cli::error::CliError;
use clap::ValueEnum;
use flitwise::results::write_table;
use flitwise::units::{human_bytes, human_count};
use flitwise_formats::traffic::{Pair, Traffic};

/// Most ranks of a matrix in the summary.
pub(super) const SMALL: u32 = 8;
/// Most ranks of a matrix that is printed on request.
const LARGE: u32 = 64;

/// How the whole matrix is printed.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Form {
    /// A line per pair of ranks that exchange messages: src,dst,messages,bytes.
    Csv,
    /// Two tables, bytes and messages, of at most 64 ranks.
    Text,
}

/// The matrix and nothing else.
pub(super) fn whole(ranks: u32, traffic: &Traffic, form: Form) -> Result<String, CliError> {
    match form {
        Form::Csv => {
            csv(&traffic.pairs, traffic.other_pairs).map_err(|e| CliError::Failed(format!("{e:#}")))
        }
        Form::Text if ranks <= LARGE => {
            let mut out = String::new();
            // Writing to a String does not fail.
            let _ = write_tables(&mut out, ranks, &traffic.pairs);
            Ok(out.trim_start_matches('\n').to_owned())
        }
        Form::Text => Err(CliError::BadInput(format!(
            "a table of {ranks} ranks can't be read: at most {LARGE} are shown; use --matrix csv"
        ))),
    }
}

/// Pairs by source and destination. The last line, without ranks, has the traffic of the pairs
/// that are not counted separately.
fn csv(pairs: &[Pair], others: (u64, u64)) -> anyhow::Result<String> {
    let mut pairs = pairs.to_vec();
    pairs.sort_unstable_by_key(|p| (p.src, p.dst));
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(["src", "dst", "messages", "bytes"])?;
    for p in &pairs {
        out.serialize((p.src, p.dst, p.messages, p.bytes))?;
    }
    if let (messages @ 1.., bytes) = others {
        out.serialize(("", "", messages, bytes))?;
    }
    Ok(String::from_utf8(out.into_inner()?)?)
}

/// Bytes, then messages: a row per source, a column per destination.
pub(super) fn write_tables(out: &mut String, ranks: u32, pairs: &[Pair]) -> std::fmt::Result {
    let n = ranks.min(LARGE) as usize;
    for (title, cell) in [("bytes from \\ to", 0), ("messages from \\ to", 1)] {
        let mut table = vec![vec!["-".to_owned(); n + 1]; n + 1];
        for rank in 0..n {
            table[0][rank + 1] = rank.to_string();
            table[rank + 1][0] = rank.to_string();
        }
        title.clone_into(&mut table[0][0]);
        for p in pairs {
            let row = table.get_mut(p.src as usize + 1);
            if let Some(at) = row.and_then(|row| row.get_mut(p.dst as usize + 1)) {
                *at = match cell {
                    0 => human_bytes(p.bytes),
                    _ => human_count(p.messages),
                };
            }
        }
        write_table(out, &table)?;
    }
    Ok(())
}
