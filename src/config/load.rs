//! From the document to the plan: presets, defaults, checks, baselines.

use crate::config::about::About;
use crate::config::baseline::{BASELINE_DEFAULT, baseline_file, lay_over};
use crate::config::document::error::{is_argument, sets_topology};
use crate::config::document::{ConfigError, Document, SET, Texts, read, refused};
use crate::config::experiment::{Baseline, Experiment, Plan};
use crate::config::fabric::tables::RawForwarding;
use crate::config::inputs::noting;
use crate::config::job::Job;
use crate::config::keys::{RawExperiment, read_experiment};
use crate::config::origin::{Origin, Written};
use crate::config::qos::implied::{explain_preset, imply};
use crate::config::resolve::{experiment_of, with_sets};
use crate::config::study::base::{Base, Override};
use crate::config::{fabric, keys, origin, resolve, series};
use crate::replay::Repeat;
use flitwise_base::quote::cut;
use std::path::Path;
use toml::de::DeValue;

/// Reads an experiment file and applies `--set a.b=c` texts in order. Traces are
/// only looked for, not read.
///
/// # Errors
/// The first problem found, with its place and a cure.
///
/// # Examples
/// ```
/// use std::path::Path;
///
/// let file = Path::new("configs/hpl-16-tree.toml");
/// let plan = flitwise::config::load(file, &["seed=7".to_owned()])?;
/// assert_eq!(plan.experiment.seed, 7);
/// assert_eq!(plan.experiment.fabric.topology.nics(), 64);
/// assert_eq!(plan.baselines.len(), 1);
///
/// let error = flitwise::config::load(file, &["sede=7".to_owned()]).unwrap_err();
/// assert!(error.to_string().contains("seed"));
/// # Ok::<(), flitwise::config::ConfigError>(())
/// ```
pub fn load(path: &Path, sets: &[String]) -> Result<Plan, ConfigError> {
    let dir = path.parent().unwrap_or(Path::new(""));
    resolve_text(&path.display().to_string(), &read(path)?, dir, sets)
}

/// Like [`load`], from a text called `name` in messages; `dir` is where traces
/// and baseline files are looked for first.
///
/// # Errors
/// Like [`load`].
pub fn resolve_text(
    name: &str,
    text: &str,
    dir: &Path,
    sets: &[String],
) -> Result<Plan, ConfigError> {
    let base = Base::of_text(name, text, dir);
    let sets: Vec<Override> = sets.iter().map(|set| Override::typed(set)).collect();
    let mut texts = Texts::default();
    let base = &ParsedBase::of(&base, &mut texts);
    resolve(base, &sets.iter().collect::<Vec<_>>(), Done::Simulated)
}

/// Resolves an experiment with these overrides applied in order. A message about an override shows the
/// place that it was taken from. Unlike [`load`], it takes an experiment that asks for a static analysis, and leaves out
/// time series.
///
/// # Errors
/// Like [`load`].
pub fn resolve_with(base: &Base, overrides: &[&Override]) -> Result<Plan, ConfigError> {
    resolve_parsed(&ParsedBase::of(base, &mut Texts::default()), overrides)
}

/// Like [`resolve_with`], for many overrides of one experiment.
pub(crate) fn resolve_parsed(
    base: &ParsedBase<'_>,
    overrides: &[&Override],
) -> Result<Plan, ConfigError> {
    resolve(base, overrides, Done::Studied)
}

/// An experiment whose text is parsed once for any number of overrides.
pub(crate) struct ParsedBase<'t> {
    base: &'t Base,
    texts: &'t Texts,
    /// The document, or the error of the text.
    document: Result<Document<'t>, ConfigError>,
}

impl<'t> ParsedBase<'t> {
    /// Parses the text of `base`, which is added to the empty `texts`.
    pub fn of(base: &'t Base, texts: &'t mut Texts) -> Self {
        let text = texts.add(base.name.as_str(), base.text.clone());
        let texts: &Texts = texts;
        Self {
            base,
            texts,
            document: parsed(texts, text, base),
        }
    }
}

/// The uses of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It is simulated.
    Simulated,
    /// It is a point of a study: simulated or analysed, as the experiment asks, without time series.
    Studied,
}

fn resolve(
    base: &ParsedBase<'_>,
    overrides: &[&Override],
    done: Done,
) -> Result<Plan, ConfigError> {
    let (plan, files) = noting(|| resolve_reading(base, overrides, done));
    Ok(Plan { files, ..plan? })
}

fn resolve_reading(
    parsed: &ParsedBase<'_>,
    overrides: &[&Override],
    done: Done,
) -> Result<Plan, ConfigError> {
    let ParsedBase { base, .. } = *parsed;
    if base.for_analyses {
        fit_analyses(overrides)?;
    }
    let mut texts = parsed.texts.clone();
    let sets: Vec<usize> = overrides
        .iter()
        .map(|set| {
            let places = [set.key_place.clone(), set.place.clone()];
            texts.add_from(places, set.dir.clone(), SET, set.text.as_str())
        })
        .collect();
    let default = texts.add("[baseline] default", BASELINE_DEFAULT);
    let document = parsed.document.clone()?;
    let (said, implied) = with_sets(document.seen_in(&texts), &sets)?;
    let dir = &origin::directory(&said, &base.dir)?;
    // The file that the baseline names is one more text.
    let mut texts_of_baseline = texts.clone();
    let file = baseline_file(&said, dir)?;
    let file = file.map(|(name, text)| texts_of_baseline.add(name, text));
    let mut document = said.clone();
    imply(&mut document, implied)?;
    let raw = read_experiment(&document)?;
    let planned = planned(&raw, &document, done, dir);
    let mut plan = planned.map_err(|e| {
        let e = document.locate(explain_preset(&said, &document, e));
        explain_override(overrides, e)
    })?;
    let mut kept = said.clone();
    if done == Done::Studied {
        kept.remove("series");
    }
    plan.written = Written::of(&kept, "", implied, dir);
    let main = &plan.experiment;
    let has_baseline = raw.baseline.enabled.unwrap_or(true);
    if has_baseline && main.congestion.is_none() && main.measure.is_none() {
        let texts = &texts_of_baseline;
        let file = file.map(|file| Document::parse(texts, file)).transpose()?;
        let mut default = Document::parse(texts, default)?;
        if said.get("power").is_none() {
            default.remove("power");
        }
        let mut base = said.seen_in(texts);
        lay_over(&mut base, &document, file.as_ref(), &default)?;
        imply(&mut base, implied)?;
        let baselines = baselines(&base, main, &raw, dir);
        plan.baselines = baselines.map_err(|e| base.locate(e))?;
    }
    Ok(plan)
}

/// Refuses overrides that a static analysis does not use.
fn fit_analyses(overrides: &[&Override]) -> Result<(), ConfigError> {
    let is_unused = |set: &&&Override| {
        let section = set.key().split('.').next().unwrap_or_default();
        keys::FOR_SIMULATIONS.contains(&section)
    };
    let Some(set) = overrides.iter().find(is_unused) else {
        return Ok(());
    };
    let problem = "is for simulations, and a static analysis uses only [fabric] and [congestion]; leave it out";
    let mut error = ConfigError::new(set.key(), problem);
    error.location = set.key_place.clone().or_else(|| set.place.clone());
    Err(error)
}

/// Names the override behind an error that the file shows: of the topology, if that has too few NICs for a key, or of a part
/// of the table that is wrong as a whole.
fn explain_override(overrides: &[&Override], mut error: ConfigError) -> ConfigError {
    if (error.location.as_ref()).is_some_and(|at| is_argument(&at.source)) {
        return error;
    }
    let mut overrides = overrides.iter().rev();
    let inside = format!("{}.", error.key);
    let (set, does) = if error.is_for_topology() {
        let set = overrides.find(|set| sets_topology(&set.text));
        (set, "sets the topology")
    } else {
        let set = overrides.find(|set| set.place.is_none() && set.text.starts_with(&inside));
        (set, "changes it")
    };
    if let Some(set) = set {
        error.problem += &format!("; {SET} {} {does}", cut(&set.text));
    }
    error
}

/// The plan of `raw`, which was read from `document`, as yet without baselines.
fn planned(
    raw: &RawExperiment,
    document: &Document<'_>,
    done: Done,
    dir: &Path,
) -> Result<Plan, ConfigError> {
    if raw.congestion.is_some() {
        analysed(raw, done)?;
    }
    let mut experiment = experiment_of(raw, dir)?;
    let about = About {
        name: raw.name.clone(),
        description: raw.description.clone(),
        tags: raw.tags.clone().unwrap_or_default(),
    };
    about.check()?;
    let mut series = None;
    if experiment.congestion.is_none() {
        let given = raw.series.as_ref();
        series = given
            .map(|given| series::series(given, &experiment.fabric))
            .transpose()?;
        something_to_do(document, &experiment)?;
        resolve::unused(raw, document, &experiment)?;
    }
    if done == Done::Studied && series.take().is_some() {
        experiment.remarks.push(
            "a study records no time series, so [series] does nothing: run one of its points alone with --out"
                .to_owned(),
        );
    }
    let preset = document.get("fabric.preset").and_then(DeValue::as_str);
    let speeds = fabric::link_speeds(&raw.fabric, preset, &experiment.fabric, dir)?;
    experiment.remarks.extend(speeds.unused.clone());
    Ok(Plan {
        about,
        series,
        origin: raw.origin.clone(),
        speeds,
        tables_from: raw.fabric.forwarding.as_ref().map(RawForwarding::source),
        ..Plan::of(experiment)
    })
}

/// Checks that an experiment that asks for a static analysis gets one, and asks for nothing else.
fn analysed(raw: &RawExperiment, done: Done) -> Result<(), ConfigError> {
    keys::stands_alone(raw)?;
    match done {
        Done::Studied => Ok(()),
        Done::Simulated => refused(
            "congestion",
            "asks for a static analysis, which simulates nothing: run `flitwise congestion` on this file, or a study of it; \
             or remove it",
        ),
    }
}

/// Returns the experiment of `base`, with the texts `sets` of `--set` applied, as the table `path` of a file.
pub(crate) fn written(base: &Base, path: &str, sets: &[String]) -> Result<Written, ConfigError> {
    let mut texts = Texts::default();
    let text = texts.add(base.name.as_str(), base.text.clone());
    let sets = texts.add_sets(sets);
    let (document, implied) = with_sets(parsed(&texts, text, base)?, &sets)?;
    let dir = origin::directory(&document, &base.dir)?;
    Ok(Written::of(&document, path, implied, &dir))
}

/// Returns the `[origin]` of the file of a static analysis.
///
/// # Errors
/// If there is none, or it is damaged.
pub fn analysis_origin(path: &Path) -> Result<Origin, ConfigError> {
    let mut texts = Texts::default();
    let text = texts.add(path.display().to_string(), read(path)?);
    let document = Document::parse(&texts, text)?;
    let raw: RawExperiment = document.read()?;
    let missing = || ConfigError::new("origin", "is missing; this is no file of an analysis");
    raw.origin.ok_or_else(missing)
}

/// The text of `base`, or the table in it that the key names.
fn parsed<'t>(texts: &'t Texts, text: usize, base: &Base) -> Result<Document<'t>, ConfigError> {
    let mut document = Document::parse(texts, text)?;
    if let Some(key) = &base.key {
        let missing = || ConfigError::new(key, "is no table with the keys of an experiment");
        document = document.inside(key).ok_or_else(missing)?;
    }
    if base.for_analyses {
        let keys = keys::FOR_SIMULATIONS;
        keys.iter().for_each(|key| document.remove(key));
    }
    Ok(document)
}

/// Checks that there is a job to replay, which ends, or something to measure.
fn something_to_do(document: &Document<'_>, experiment: &Experiment) -> Result<(), ConfigError> {
    if experiment.measure.is_some() {
        let keys = ["baseline.overrides", "baseline.file", "baseline.alone"];
        if keys.iter().all(|key| document.get(key).is_none()) {
            return Ok(());
        }
        return refused(
            "baseline",
            "compares the execution times of jobs, and there is none; add a [[job]] or remove it",
        );
    }
    if experiment.jobs.iter().all(|job| !job.enabled) {
        let problem = if experiment.jobs.is_empty() {
            "nothing to do: add a [[job]] with a trace, or a [[background]] whose traffic \
                 is measured"
        } else {
            "nothing to replay: every job is disabled; enable at least one"
        };
        return refused("job", problem);
    }
    someone_ends(experiment, "")
}

/// One baseline for all jobs, or one per job with the others switched off (they
/// keep their NICs, so that nothing but their traffic is gone).
fn baselines(
    base: &Document<'_>,
    main: &Experiment,
    main_raw: &RawExperiment,
    dir: &Path,
) -> Result<Vec<Baseline>, ConfigError> {
    let alone = main_raw.baseline.alone.unwrap_or(true);
    let raw = read_experiment(base)?;
    let experiment = experiment_of(&raw, dir)?;
    if raw.series != main_raw.series {
        return refused(
            "series",
            "holds for the experiment and its baselines alike; remove it from the baseline \
             (series.baselines = true records the baselines as well)",
        );
    }
    let pairs: Vec<(usize, usize)> = main
        .jobs
        .iter()
        .enumerate()
        .filter(|(_, job)| job.enabled)
        .filter_map(|(i, job)| {
            let other = experiment
                .jobs
                .iter()
                .position(|j| j.enabled && j.name == job.name)?;
            Some((i, other))
        })
        .collect();
    if pairs.is_empty() {
        return refused(
            "baseline.overrides",
            "leave the baseline without a job; keep at least one job by its name",
        );
    }
    if !alone || pairs.len() == 1 {
        let mut experiment = experiment;
        if alone {
            only(&mut experiment, pairs[0].1);
        }
        someone_ends(&experiment, "the baseline: ")?;
        return Ok(vec![Baseline {
            experiment,
            jobs: pairs,
        }]);
    }
    let of_job = |pair: (usize, usize)| {
        let mut experiment = experiment.clone();
        only(&mut experiment, pair.1);
        Baseline {
            experiment,
            jobs: vec![pair],
        }
    };
    Ok(pairs.into_iter().map(of_job).collect())
}

fn only(experiment: &mut Experiment, keep: usize) {
    for (i, job) in experiment.jobs.iter_mut().enumerate() {
        job.enabled = i == keep;
    }
    // Alone, there are no others that end.
    let kept = &mut experiment.jobs[keep];
    if kept.repeat == Repeat::UntilOthersEnd {
        kept.repeat = Repeat::Times(1);
    }
}

/// Checks that not all enabled jobs wait for one another to end.
fn someone_ends(experiment: &Experiment, of: &str) -> Result<(), ConfigError> {
    let mut enabled = (experiment.jobs.iter().enumerate()).filter(|(_, job)| job.enabled);
    let mut endless = enabled.clone();
    let ends = |(_, job): (usize, &Job)| job.repeat != Repeat::UntilOthersEnd;
    match endless.next() {
        Some((i, _)) if !enabled.any(ends) => refused(
            format!("job.{i}.repeat"),
            format!("{of}no other job would ever end; give one job a number of repetitions"),
        ),
        _ => Ok(()),
    }
}
