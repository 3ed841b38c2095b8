//! From the document to the plan: presets, defaults, checks, baselines.

use super::document::Document;
use super::error::{ConfigError, SET};
use super::experiment::{Baseline, Experiment, Job, Plan, Series};
use super::raw::RawExperiment;
use super::raw_congestion::RawControlKind;
use super::raw_traffic::RawMeasure;
use super::resolve_series::RawSeries;
use super::study::{Base, Override};
use super::tagged::fabric_kind;
use super::texts::Texts;
use super::{
    ignored, resolve_about, resolve_congestion, resolve_fabric, resolve_failure, resolve_jobs,
    resolve_power, resolve_qos, resolve_request, resolve_routing, resolve_series, resolve_tables,
    resolve_traffic, resolve_vls, switch,
};
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::spec::{FabricSpec, SchemeKind, VlPolicy};
use crate::replay::Repeat;
use std::{io::Read, path::Path};
use toml::{Spanned, de::DeValue};

/// What is laid over the experiment for the baseline where `[baseline]` does not
/// say otherwise: no background, round robin, congestion control off; with `[power]` links always on.
const BASELINE_DEFAULT: &str =
    "background = []\n[qos]\nscheduler = \"rr\"\n[congestion_control]\nkind = \"none\"\n";
const ALWAYS_ON: &str = "[power]\npolicy = \"always-on\"\n";

/// Seed of an experiment that has none.
pub(super) const DEFAULT_SEED: u64 = 1;
/// Most bytes read from one file: experiments fit on a screen.
const MAX_FILE: u64 = 16 << 20;

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
/// As [`load`].
pub fn resolve_text(
    name: &str,
    text: &str,
    dir: &Path,
    sets: &[String],
) -> Result<Plan, ConfigError> {
    let base = Base::of_text(name, text, dir);
    let sets: Vec<Override> = sets.iter().map(|set| Override::typed(set)).collect();
    resolve(&base, &sets.iter().collect::<Vec<_>>(), Done::Simulated)
}

/// Resolves an experiment with these overrides applied in order. A message about an override shows the
/// place that it was taken from. Unlike [`load`], it takes an experiment that asks for a static analysis.
///
/// # Errors
/// As [`load`].
pub fn resolve_with(base: &Base, overrides: &[&Override]) -> Result<Plan, ConfigError> {
    resolve(base, overrides, Done::Either)
}

/// What is done with an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    /// It is simulated.
    Simulated,
    /// It is simulated or analysed, as it asks.
    Either,
}

fn resolve(base: &Base, overrides: &[&Override], done: Done) -> Result<Plan, ConfigError> {
    let dir = base.dir.as_path();
    let mut texts = Texts::default();
    let text = texts.add(base.name.as_str(), base.text.as_str());
    let set_texts: Vec<usize> = overrides
        .iter()
        .map(|set| {
            let origin = (set.place.clone(), set.dir.clone());
            texts.add_from(origin, SET, set.text.as_str())
        })
        .collect();
    let has_power = document(&texts, text, base, &set_texts)?
        .get("power")
        .is_some();
    let default = [BASELINE_DEFAULT, if has_power { ALWAYS_ON } else { "" }].concat();
    let default = texts.add("[baseline] default", default);
    // The file named by the baseline is one more text, so it must be known before
    // any document borrows from them.
    let file = baseline_file(&document(&texts, text, base, &set_texts)?, dir)?;
    let file = file.map(|(name, text)| texts.add(name, text));
    let implied = implied_preset(&document(&texts, text, base, &[])?);
    let said = document(&texts, text, base, &set_texts)?;
    let mut document = said.clone();
    imply(&mut document, implied)?;
    let raw = read_experiment(&document)?;
    if raw.congestion.is_some() {
        analysed(&raw, done).map_err(|e| document.locate(e))?;
    }
    let experiment = experiment(&raw, dir).map_err(|e| document.locate(e))?;
    let about = resolve_about::about(&raw).map_err(|e| document.locate(e))?;
    if experiment.congestion.is_some() {
        return Ok(Plan {
            about,
            ..Plan::of(experiment)
        });
    }
    let series = series(&raw, &experiment).map_err(|e| document.locate(e))?;
    something_to_do(&document, &experiment).map_err(|e| document.locate(e))?;
    ignored::check(&raw, &document, &experiment).map_err(|e| document.locate(e))?;
    let mut baselines = Vec::new();
    if experiment.measure.is_none() && raw.baseline.enabled.unwrap_or(true) {
        let file = file.map(|file| Document::parse(&texts, file)).transpose()?;
        let default = Document::parse(&texts, default)?;
        let mut base = said;
        lay_over(&mut base, &document, file.as_ref(), &default)?;
        imply(&mut base, implied)?;
        let alone = raw.baseline.alone.unwrap_or(true);
        baselines = self::baselines(&base, &experiment, &raw.series, alone, dir)?;
    }
    Ok(Plan {
        split: false,
        explain: false,
        experiment,
        baselines,
        about,
        series,
    })
}

/// Checks that an experiment that asks for a static analysis gets one, and asks for nothing else.
fn analysed(raw: &RawExperiment, done: Done) -> Result<(), ConfigError> {
    resolve_request::stands_alone(raw)?;
    match done {
        Done::Either => Ok(()),
        Done::Simulated => Err(ConfigError::new(
            "congestion",
            "asks for a static analysis, which simulates nothing: run `flitwise congestion` on this file, or a study of it; \
             or remove it",
        )),
    }
}

/// The keys of a document, with the directories of the study files that name its traces.
fn read_experiment(document: &Document<'_>) -> Result<RawExperiment, ConfigError> {
    let mut raw: RawExperiment = document.read()?;
    for (at, job) in raw.job.iter_mut().enumerate() {
        job.trace_dir = document
            .dir_of(&format!("job.{at}.trace"))
            .map(Path::to_owned);
    }
    Ok(raw)
}

/// The text of `base`, or the table in it that the key names, with the texts `sets` applied in their order.
fn document<'t>(
    texts: &'t Texts,
    text: usize,
    base: &Base,
    sets: &[usize],
) -> Result<Document<'t>, ConfigError> {
    let mut document = Document::parse(texts, text)?;
    if let Some(key) = &base.key {
        let missing = || ConfigError::new(key, "is no table with the keys of an experiment");
        document = document.inside(key).ok_or_else(missing)?;
    }
    if base.for_analyses {
        let keys = resolve_request::FOR_SIMULATIONS;
        keys.iter().for_each(|key| document.remove(key));
    }
    for &set in sets {
        document.set_from_text(set)?;
    }
    Ok(document)
}

/// Name and text of the file that `baseline.file` names.
fn baseline_file(
    document: &Document<'_>,
    dir: &Path,
) -> Result<Option<(String, String)>, ConfigError> {
    let Some(DeValue::String(file)) = document.get("baseline.file") else {
        return Ok(None);
    };
    let path = dir.join(file.as_ref());
    let text =
        read(&path).map_err(|e| document.locate(ConfigError::new("baseline.file", e.problem)))?;
    Ok(Some((path.display().to_string(), text)))
}

/// Checks that there is a job to replay, which ends, or something to measure.
fn something_to_do(document: &Document<'_>, experiment: &Experiment) -> Result<(), ConfigError> {
    if experiment.measure.is_some() {
        let keys = ["baseline.overrides", "baseline.file", "baseline.alone"];
        if keys.iter().all(|key| document.get(key).is_none()) {
            return Ok(());
        }
        return Err(ConfigError::new(
            "baseline",
            "compares the execution times of jobs, and there is none; add a [[job]] or remove it",
        ));
    }
    if experiment.jobs.iter().all(|job| !job.enabled) {
        let problem = match experiment.jobs.is_empty() {
            false => "nothing to replay: every job is disabled; enable at least one",
            true => {
                "nothing to do: add a [[job]] with a trace, or a [[background]] whose traffic \
                 is measured"
            }
        };
        return Err(ConfigError::new("job", problem));
    }
    someone_ends(experiment, "")
}

/// Lays the baseline's file and overrides over `base`; `default` if there are neither.
fn lay_over<'t>(
    base: &mut Document<'t>,
    document: &Document<'t>,
    file: Option<&Document<'t>>,
    default: &Document<'t>,
) -> Result<(), ConfigError> {
    if let Some(file) = file {
        base.merge("", file.root())?;
    }
    match document.get("baseline.overrides") {
        Some(DeValue::Table(overrides)) => base.merge("", overrides),
        Some(_) => Err(document.locate(ConfigError::new(
            "baseline.overrides",
            "must be a table such as { \"qos.scheduler\" = \"rr\" }",
        ))),
        None if file.is_some() => Ok(()),
        None => base.merge("", default.root()),
    }
}

fn series(raw: &RawExperiment, experiment: &Experiment) -> Result<Option<Series>, ConfigError> {
    let given = raw.series.as_ref();
    given
        .map(|raw| resolve_series::series(raw, &experiment.fabric))
        .transpose()
}

/// One baseline for all jobs, or one per job with the others switched off (they
/// keep their NICs, so that nothing but their traffic is gone).
fn baselines(
    base: &Document<'_>,
    main: &Experiment,
    series: &Option<RawSeries>,
    alone: bool,
    dir: &Path,
) -> Result<Vec<Baseline>, ConfigError> {
    let raw = read_experiment(base)?;
    let experiment = experiment(&raw, dir).map_err(|e| base.locate(e))?;
    if raw.series != *series {
        let e = ConfigError::new(
            "series",
            "holds for the experiment and its baselines alike; remove it from the baseline \
             (series.baselines = true records the baselines as well)",
        );
        return Err(base.locate(e));
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
        let e = ConfigError::new(
            "baseline.overrides",
            "leave no job to compare with; keep at least one job by its name",
        );
        return Err(base.locate(e));
    }
    if !alone || pairs.len() == 1 {
        let mut experiment = experiment;
        if alone {
            only(&mut experiment, pairs[0].1);
        }
        someone_ends(&experiment, "the baseline: ").map_err(|e| base.locate(e))?;
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
        Some((i, _)) if !enabled.any(ends) => Err(ConfigError::new(
            format!("job.{i}.repeat"),
            format!("{of}no other job would ever end; give one job a number of repetitions"),
        )),
        _ => Ok(()),
    }
}

/// The QoS preset that the file itself implies, so that an override of another key
/// does not change it: with a `[qos]` table `opa-5sl`, without one `single`.
pub(super) fn implied_preset(file: &Document<'_>) -> &'static str {
    match file.get("qos") {
        Some(_) => "opa-5sl",
        None => "single",
    }
}

/// Writes the implied preset into a document that, with all that was laid over it,
/// has neither a preset nor service levels of its own; on `voq` switches it is `ib`.
pub(super) fn imply(document: &mut Document<'_>, preset: &'static str) -> Result<(), ConfigError> {
    let table = matches!(document.get("qos"), None | Some(DeValue::Table(_)));
    if !table
        || document.get("qos.preset").is_some()
        || document.get("qos.service_levels").is_some()
    {
        return Ok(());
    }
    let preset = switch::qos_preset(fabric_kind(document.get("fabric"))).unwrap_or(preset);
    let preset = Spanned::new(0..0, DeValue::String(preset.into()));
    document.set("qos.preset", preset)
}

fn experiment(raw: &RawExperiment, dir: &Path) -> Result<Experiment, ConfigError> {
    let (fabric, routing_name, dtable) = fabric(raw, dir)?;
    let seed = raw.seed.unwrap_or(DEFAULT_SEED);
    let congestion = match &raw.congestion {
        Some(asked) => Some(Box::new(resolve_request::on(asked, &fabric, seed, dir)?)),
        None => {
            fabric.validate()?;
            None
        }
    };
    if congestion.is_none() && fabric.needs_classes() {
        resolve_qos::classes_apart(&fabric.qos, fabric.classes())?;
    }
    let jobs = resolve_jobs::jobs(raw, &fabric, dir)?;
    let background = resolve_traffic::background(&raw.background, &fabric, seed)?;
    let measure = match (jobs.is_empty() && !background.is_empty(), &raw.measure) {
        (true, given) => {
            let given = given.as_ref().unwrap_or(&RawMeasure::DEFAULT);
            Some(resolve_traffic::measure(given, &fabric, &background)?)
        }
        (false, None) => None,
        (false, Some(_)) => {
            return Err(ConfigError::new(
                "measure",
                "measures [[background]] traffic without a job; a job runs from its start to \
                 its end: remove one of the two",
            ));
        }
    };
    Ok(Experiment {
        nic_queueing: raw.fabric.nic_queueing.unwrap_or_default(),
        seed,
        fabric,
        routing: routing_name,
        dtable,
        jobs,
        background,
        background_gap_skip_ps: raw.background_gap_skip.map(|time| time.0),
        measure,
        power: resolve_power::watts(raw.power.as_ref())?,
        congestion,
    })
}

/// The fabric, not yet validated, the name of its routing, and its DTable. Files are
/// looked for in `dir`.
pub(super) fn fabric(
    raw: &RawExperiment,
    dir: &Path,
) -> Result<(FabricSpec, &'static str, Option<DTableTable>), ConfigError> {
    let defaults = switch::defaults(&raw.fabric)?;
    let graph = raw.fabric.topology.as_ref().unwrap_or(&defaults.topology);
    let (topology, imported) = graph.resolve(dir)?;
    let imported = imported.as_ref();
    let seed = raw.seed.unwrap_or(DEFAULT_SEED);
    let chosen = resolve_routing::routing(&raw.fabric, graph, seed)?;
    let (routing_name, mut routing) = (chosen.name, chosen.routing);
    routing.forwarding = resolve_tables::forwarding(&raw.fabric, imported, dir)?;
    resolve_failure::reroute(&raw.fabric, chosen.engine, &topology, seed, &mut routing)?;
    let mut parameters = resolve_fabric::parameters(&raw.fabric, &defaults, &topology)?;
    if let Some(imported) = imported {
        switch::speeds_of_dump(&raw.fabric, &mut parameters.switch, imported)?;
    }
    let header = resolve_fabric::small(parameters.header_bytes, "fabric.header")?;
    let tables = resolve_tables::sl2vl(&raw.fabric, &topology, imported, dir)?;
    let scheme = resolve_vls::scheme(&raw.qos, tables.as_ref(), &topology)?;
    let classes = match &tables {
        Some(_) => 1,
        None if routing.forwarding.is_some() => 1,
        None if scheme.is_some_and(|scheme| matches!(scheme.kind, SchemeKind::H2lq(_))) => 2,
        None => routing.paths.classes(topology.vl_classes()),
    };
    let switch = &mut parameters.switch;
    let (mut qos, dtable) = resolve_qos::qos(
        &raw.qos,
        &defaults,
        switch,
        classes,
        header,
        (tables.as_ref(), scheme),
    )?;
    if let Some(tables) = tables {
        qos.vl_policy = VlPolicy::SlToVl(tables);
    }
    resolve_routing::bias(&raw.fabric, parameters.credit_bytes, &mut routing.paths)?;
    let mut fabric = parameters.spec(topology, routing, qos)?;
    let control = &raw.congestion_control;
    let d = &defaults.congestion;
    let mut parameters = resolve_congestion::congestion(control, d, &fabric, seed, dir)?;
    if control.kind == Some(RawControlKind::Ib) {
        resolve_congestion::exceptions(control, &mut parameters, &fabric.topology)?;
        fabric.congestion_control = Some(Box::new(parameters));
    }
    resolve_power::states(raw.power.as_ref(), &mut fabric)?;
    Ok((fabric, routing_name, dtable))
}

/// Reads a text file.
///
/// # Errors
/// If it cannot be read or is no UTF-8.
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let name = path.display();
    let failed = |e: std::io::Error| ConfigError::new("", format!("cannot read `{name}`: {e}"));
    let mut bytes = Vec::new();
    // Not by the size the system tells: devices and pipes have none.
    let mut file = std::fs::File::open(path)
        .map_err(failed)?
        .take(MAX_FILE + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ConfigError::new(
            "",
            format!("`{name}` is larger than {MAX_FILE} bytes; an experiment fits on a screen"),
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count();
        ConfigError::new(
            "",
            format!("{name}:{line}: not a text in UTF-8; an experiment is a TOML file (docs/experiment.md)"),
        )
    })
}
