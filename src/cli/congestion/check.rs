//! `--check`: predictions beside the flit level.

use super::args::CongestionArgs;
use super::candidates::Candidate;
use crate::cli::error::CliError;
use crate::cli::threads::threads;
use flitwise::config::load_fabric;
use flitwise::oblivious::{Settings, Spread};
use flitwise::results::write_table;
use flitwise::run::{Check, CheckError, Completion, Lengths, Prediction, static_check};
use flitwise::stop::Stop;
use flitwise::units::percent;
use std::fmt::Write;

/// Predicts and simulates the first runs.
pub(super) fn of(
    args: &CongestionArgs,
    candidate: &Candidate,
    settings: &Settings,
    stop: Stop<'_>,
) -> Result<Check, CliError> {
    let bad = |problem: String| CliError::BadInput(format!("--check: {problem}"));
    if !candidate.is_experiment() {
        let cure = "only an experiment says what its switches are; name the dump in one (docs/reference/experiment.md, `ibnetdiscover`)";
        return Err(bad(cure.to_owned()));
    }
    // The analysis alone does not check whether the buffers fit.
    let path = args.fabric.as_deref();
    let fabric =
        load_fabric(path, &args.sets).map_err(|e| crate::cli::error::bad_config(path, &e))?;
    let lengths = Lengths {
        message_bytes: args
            .message
            .map_or(Lengths::default().message_bytes, |bytes| bytes.0),
        ..Lengths::default()
    };
    let check = static_check(
        &fabric.fabric,
        &candidate.network,
        settings,
        lengths,
        (args.check_runs, threads(args.threads)),
        stop,
    );
    check.map_err(|e| match e {
        CheckError::Interrupted => CliError::Interrupted(e.to_string()),
        CheckError::Deadlock { .. } => CliError::Failed(e.to_string()),
        _ => bad(e.to_string()),
    })
}

fn runs_text(runs: u64) -> String {
    match runs {
        1 => "1 run".to_owned(),
        _ => format!("{runs} runs"),
    }
}

/// The rows of a comparison.
pub(super) fn write(out: &mut String, check: &Check) {
    let _ = writeln!(
        out,
        "\nsimulated: {}, messages of {} B, payload {} of a link",
        runs_text(check.runs),
        check.lengths.message_bytes,
        percent(check.payload_efficiency)
    );
    let table = [
        Prediction::HEADER.map(String::from).to_vec(),
        check.by_congestion.row("1/congestion", "-"),
        check.by_fair_share.row("max-min fair share", "-"),
    ];
    let _ = write_table(out, &table);
    if check.runs > 1 {
        let _ = writeln!(
            out,
            "\nrelative error of the mean, run by run: 1/congestion {}, max-min fair share {}",
            over_runs(&check.over_runs.by_congestion),
            over_runs(&check.over_runs.by_fair_share)
        );
    }
    let sum = |of: fn(&Completion) -> u64| -> f64 {
        let levels = check.levels.iter();
        levels.map(|level| of(&level.completion) as f64).sum()
    };
    let [simulated, predicted] = [sum(|c| c.simulated_ps), sum(|c| c.by_congestion_ps)];
    if predicted > 0.0 {
        let _ = writeln!(
            out,
            "\none message each, level by level: {:.3} us, {:.3} times what the largest congestions predict",
            simulated / 1e6,
            simulated / predicted
        );
    }
}

/// Mean with its interval, and extremes.
fn over_runs(spread: &Spread) -> String {
    let signed = |value: f64| format!("{:+.2} %", 100.0 * value);
    let half = spread.half_width.unwrap_or_default();
    format!(
        "{} ± {:.2} ({} to {})",
        signed(spread.mean),
        100.0 * half,
        signed(spread.least),
        signed(spread.most)
    )
}
