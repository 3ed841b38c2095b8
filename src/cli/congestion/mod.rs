//! `flitwise congestion`: the effect of a fabric's routes on traffic, without a simulation (`docs/reference/congestion.md`).

mod analysed;
mod args;
mod candidates;
mod check;
mod document;
mod files;
mod options;
mod repeated;
mod study;
mod text;

use super::console::{json_text, print, tell};
use super::error::{CliError, unwritable};
use super::out::{Part, Target};
use super::progress::working;
use super::repeat::{Compared, compare_analyses};
use super::run::scratch;
use super::threads::threads;
use super::{signal, warnings};
use analysed::Analysed;
pub use args::CongestionArgs;
use candidates::Candidate;
use flitwise::config::noting;
use flitwise::oblivious::{Analysis, Network, Request, Settings, Spreads, check_format};
use flitwise::stop::Stop;
use options::{Options, companions};
use repeated::{Repeated, Source};
use std::rc::Rc;
use tempfile::TempDir;

/// Runs of the first batch if `--until-ci` asks for an interval.
const FIRST_BATCH: u64 = 32;

pub(super) fn run(args: &CongestionArgs) -> Result<(), CliError> {
    if args.is_study() {
        return study::run(args);
    }
    match Repeated::of(args)? {
        Some((repeated, args)) => analyses(&args, Some(&repeated)),
        None => analyses(args, None),
    }
}

fn analyses(args: &CongestionArgs, repeated: Option<&Repeated>) -> Result<(), CliError> {
    let stop = signal::stop_on_signal();
    check_format(args.format).map_err(|e| CliError::BadInput(e.to_string()))?;
    let target = args.out.as_deref().map(Target::of_analysis).transpose()?;
    let (done, files) = noting(|| analyse_all(args, target, Stop::new(stop)));
    let Analyses {
        part,
        requests,
        results,
    } = done?;
    let scratch = match (repeated, &part) {
        (Some(_), None) => Some(scratch()?),
        _ => None,
    };
    let dir = part.as_ref().map(Part::path);
    let dir = dir.or(scratch.as_ref().map(TempDir::path));
    let failed = |e: anyhow::Error| match &part {
        Some(part) => part.failed(format_args!("{e:#}")),
        None => CliError::Failed(format!("{e:#}")),
    };
    let source = Source::of(args, repeated, &results, &files)?;
    warnings::tell_of_traces(source.traces());
    let written = dir.map_or(Ok(()), |dir| files::write(dir, args, &source, &results));
    let written = written.map_err(failed);
    let compared = match (repeated, dir, &written) {
        (Some(repeated), Some(dir), Ok(())) => {
            repeated.tell_of_changes(&source);
            Some(compare_analyses(repeated.dir(), dir))
        }
        _ => None,
    };
    // A part of an analysis is printed only: no file would say that it is one.
    let whole = part.filter(|_| signal::first().is_none());
    let written = written.and_then(|()| whole.map_or(Ok(()), |part| part.commit().map(drop)));
    if args.json {
        print(&json_text(&document::of(&results).map_err(unwritable)?)?)
    } else {
        print(&text::of(args, &results))
    }?;
    // Printed first, so that a long analysis is not lost.
    written?;
    compared.map_or(Ok(()), Compared::tell)?;
    match signal::first() {
        Some(_) => Err(CliError::Interrupted(format!(
            "stopped after {} of {} runs{}",
            results
                .iter()
                .map(|r| r.analysis.runs.len())
                .min()
                .unwrap_or(0),
            requests.first().map_or(0, |request| request.runs),
            if args.cables > 0 {
                "; loads of cables need all of them"
            } else {
                ""
            }
        ))),
        None => Ok(()),
    }
}

/// The analyses of all candidates under all patterns.
struct Analyses {
    /// The directory for the files, created before the work: a long analysis must not fail at its end.
    part: Option<Part>,
    requests: Vec<Request>,
    results: Vec<Analysed>,
}

fn analyse_all(
    args: &CongestionArgs,
    target: Option<Target>,
    stop: Stop<'_>,
) -> Result<Analyses, CliError> {
    let candidates = signal::abortable(|| candidates::load(args))?;
    let several = candidates.len() > 1;
    let file = candidates.first().and_then(Candidate::request);
    let requests = args.options.requests(file.unwrap_or_default())?;
    let part = target.map(Target::begin).transpose()?;
    let mut results = Vec::new();
    for candidate in candidates.into_iter().map(Rc::new) {
        for (label, request) in companions(&requests, &candidate.label, several) {
            results.push(analyse(args, &candidate, label, &request, stop)?);
        }
    }
    Ok(Analyses {
        part,
        requests,
        results,
    })
}

fn analyse(
    args: &CongestionArgs,
    candidate: &Rc<Candidate>,
    label: String,
    request: &Request,
    stop: Stop<'_>,
) -> Result<Analysed, CliError> {
    candidate.refuse_lost(request.skip_lost)?;
    let network = &candidate.network;
    let counted = args.cables > 0 || args.writes_files();
    let (settings, trace) =
        args.options
            .settings(args, candidate, request.clone(), counted, stop)?;
    let fits = settings.check(&network.graph);
    fits.map_err(|problem| match settings.mapping.ranks {
        0 | 1 => CliError::BadInput(format!("--ranks, --nodes, --hosts: {problem}")),
        _ => candidate.bad(problem),
    })?;
    if let Some(shortfall) = settings.pattern.shortfall(settings.mapping.ranks) {
        tell(format_args!("note: {shortfall}"));
    }
    let (analysis, spreads) = runs(args, network, &settings, request.runs, stop)?;
    let listed = if args.writes_files() {
        args.cables.max(files::CABLES_WITH_FLOWS)
    } else {
        args.cables
    };
    let hottest = signal::abortable(|| analysis.hottest(network, &settings, listed));
    // A signal ended the runs: their results come without a search that takes as long again.
    let worst = if stop.is_set() {
        None
    } else {
        signal::abortable(|| network.worst_of(request))
    };
    let check = if args.check {
        Some(check::of(args, candidate, &settings, stop)?)
    } else {
        None
    };
    Ok(Analysed {
        label,
        trace,
        candidate: candidate.clone(),
        settings,
        analysis,
        hottest,
        spreads,
        worst,
        check,
    })
}

/// Analyses as many runs as are asked for, or as the interval needs.
fn runs(
    args: &CongestionArgs,
    network: &Network,
    settings: &Settings,
    asked: u64,
    stop: Stop<'_>,
) -> Result<(Analysis, Spreads), CliError> {
    let mut analysis = Analysis::default();
    let mut runs = match args.until_ci {
        Some(_) => asked.max(FIRST_BATCH),
        None => asked,
    };
    let threads = threads(args.threads);
    loop {
        working::extend(&mut analysis, network, settings, runs, threads, stop);
        let Some(spreads) = analysis.spreads() else {
            return Err(CliError::Interrupted(
                "stopped before the first run ended".into(),
            ));
        };
        let width = spreads.bandwidth.relative_half_width();
        let wide = (args.until_ci).is_some_and(|wanted| width.is_some_and(|width| width > wanted));
        if !wide || stop.is_set() {
            return Ok((analysis, spreads));
        }
        if runs >= Request::MOST_RUNS {
            tell(format_args!(
                "note: the interval is still wider than asked for after {runs} runs, the most there can be"
            ));
            return Ok((analysis, spreads));
        }
        runs = (runs * 2).min(Request::MOST_RUNS);
    }
}
