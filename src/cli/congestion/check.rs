//! `--check`: predictions beside the flit level.

use super::CongestionArgs;
use super::candidates::Candidate;
use crate::cli::{CliError, threads};
use flitwise::config::load_fabric;
use flitwise::oblivious::{Settings, Spread};
use flitwise::results::write_table;
use flitwise::run::{Check, CheckError, Lengths, Prediction, static_check};
use std::fmt::Write;

/// Predicts and simulates the first runs.
pub(super) fn of(
    args: &CongestionArgs,
    candidate: &Candidate,
    settings: &Settings,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Check, CliError> {
    let bad = |problem: String| CliError::BadInput(format!("--check: {problem}"));
    if !candidate.is_experiment() {
        let cure = "only an experiment says what its switches are; name the dump in one (docs/experiment.md, `ibnetdiscover`)";
        return Err(bad(cure.to_owned()));
    }
    // The analysis alone does not ask whether the buffers fit.
    let path = args.fabric.as_deref();
    let fabric = load_fabric(path, &args.sets).map_err(|e| crate::cli::bad_config(path, &e))?;
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
        &|| stopped(),
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
        "\nsimulated: {}, messages of {} B, payload {:.1} % of a link",
        runs_text(check.runs),
        check.lengths.message_bytes,
        100.0 * check.payload_efficiency
    );
    let header = [
        "prediction",
        "predicted",
        "simulated",
        "mean error",
        "mean absolute",
        "median",
        "largest",
        "correlation",
    ];
    let row = |name: &str, p: &Prediction| {
        let percent = |value: f64| format!("{:.2} %", 100.0 * value);
        vec![
            name.to_owned(),
            percent(p.predicted),
            percent(p.simulated),
            percent(p.errors.mean),
            percent(p.errors.mean_absolute),
            percent(p.errors.median_absolute),
            percent(p.errors.largest_absolute),
            p.correlation.map_or("-".into(), |c| format!("{c:.3}")),
        ]
    };
    let table = [
        header.map(String::from).to_vec(),
        row("1/congestion", &check.by_congestion),
        row("max-min fair share", &check.by_fair_share),
    ];
    let _ = write_table(out, &table);
    if check.runs > 1 {
        let of = |spread: &Spread| {
            let percent = |value: f64| format!("{:+.2} %", 100.0 * value);
            let half = spread
                .half_width
                .map_or(String::new(), |half| format!(" ± {:.2}", 100.0 * half));
            format!(
                "{}{half} ({} to {})",
                percent(spread.mean),
                percent(spread.least),
                percent(spread.most)
            )
        };
        let _ = writeln!(
            out,
            "\nerror of the mean, run by run: 1/congestion {}, max-min fair share {}",
            of(&check.over_runs.by_congestion),
            of(&check.over_runs.by_fair_share)
        );
    }
    let simulated: f64 = check
        .levels
        .iter()
        .map(|level| level.completion.simulated_ps as f64)
        .sum();
    let predicted: f64 = check
        .levels
        .iter()
        .map(|level| level.completion.by_congestion_ps as f64)
        .sum();
    if predicted > 0.0 {
        let _ = writeln!(
            out,
            "\none message each, level by level: {:.3} us, {:.3} times what the largest congestions predict",
            simulated / 1e6,
            simulated / predicted
        );
    }
}
