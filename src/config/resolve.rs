//! Makes the experiment from the keys: resolves each section in turn, and then the settings that combine several
//! sections.

use crate::config::congestion_control::keys::RawControlKind;
use crate::config::document::{ConfigError, Document, error, refused};
use crate::config::experiment::Experiment;
use crate::config::fabric::routing::{self, Chosen};
use crate::config::fabric::{failure, source_routes, tables};
use crate::config::import::Imported;
use crate::config::job::Job;
use crate::config::keys::{DEFAULT_SEED, RawExperiment, SATURATED_LIMIT};
use crate::config::measure::RawMeasure;
use crate::config::node::Node;
use crate::config::qos::implied::implied_preset;
use crate::config::qos::remarks::remarks;
use crate::config::qos::scheduler::Scheduling;
use crate::config::qos::vls;
use crate::config::series;
use crate::config::{
    analysis, background, congestion_control, event, fabric, job, measure, node, power, qos,
    schedule,
};
use crate::fabric::qos::dtable_table::DTableTable;
use crate::fabric::spec::{FabricSpec, SchemeKind, VlPolicy};
use crate::fabric::topology::Topology;
use crate::replay::collectives::Choices;
use std::path::Path;

/// Applies the `--set` texts `sets` in order. Returns the document, and the QoS preset that it implies without them.
pub(crate) fn with_sets<'t>(
    mut document: Document<'t>,
    sets: &[usize],
) -> Result<(Document<'t>, &'static str), ConfigError> {
    let implied = implied_preset(&document);
    for &set in sets {
        document.set_from_text(set)?;
    }
    Ok((document, implied))
}

pub(crate) fn experiment_of(raw: &RawExperiment, dir: &Path) -> Result<Experiment, ConfigError> {
    let (fabric, routing_name, dtable) = fabric_of(raw, dir)?;
    let seed = raw.seed.unwrap_or(DEFAULT_SEED);
    let congestion = match &raw.congestion {
        Some(asked) => Some(Box::new(analysis::on(asked, &fabric, seed, dir)?)),
        None => {
            fabric.validate()?;
            None
        }
    };
    if congestion.is_none() && fabric.needs_classes() {
        qos::classes_apart(&fabric.qos, fabric.classes())?;
    }
    let node = node::node(raw.node.as_ref())?;
    let fabric = node::in_planes(fabric, &node)?;
    let (jobs, left_out) = jobs_of(raw, &fabric, &node, seed, dir)?;
    let fabric = job::network::with_switches(fabric, &node, &jobs)?;
    let background = background::background(&raw.background, &fabric, seed)?;
    let usual = RawMeasure::default();
    let measure = match (jobs.is_empty() && !background.is_empty(), &raw.measure) {
        (true, given) => {
            let given = given.as_ref().unwrap_or(&usual);
            Some(measure::measure(given, &fabric, &background)?)
        }
        (false, None) => None,
        (false, Some(_)) => {
            return refused(
                "measure",
                "measures [[background]] traffic without a job; a job runs from its start to \
                 its end: remove one of the two",
            );
        }
    };
    let mut remarks = remarks(&raw.qos, &fabric, &jobs, &background);
    remarks.extend(left_out);
    if congestion.is_some() {
        remarks.extend(analysis::uncounted(&fabric, !raw.event.is_empty()));
    }
    Ok(Experiment {
        remarks,
        nic_queueing: raw.fabric.nic_queueing.unwrap_or_default(),
        seed,
        fabric,
        node: node.spec,
        routing: routing_name,
        dtable,
        jobs,
        background,
        background_gap_skip_ps: raw.background_gap_skip.map(|time| time.0),
        saturated_limit: raw.saturated_limit.unwrap_or(SATURATED_LIMIT),
        measure,
        power: power::watts(raw.power.as_ref())?,
        congestion,
    })
}

/// The jobs, and a remark on those that `[schedule]` leaves out.
fn jobs_of(
    raw: &RawExperiment,
    fabric: &FabricSpec,
    node: &Node,
    seed: u64,
    dir: &Path,
) -> Result<(Vec<Job>, Option<String>), ConfigError> {
    let around = job::Around {
        vfabrics: &raw.vfabric,
        fabric,
        node,
        dir,
    };
    let entries = job::jobs(&raw.job, &raw.collectives, &around)?;
    let nics = fabric.topology.nics();
    match &raw.schedule {
        None => Ok((entries, None)),
        Some(schedule) => schedule::jobs(schedule, &raw.job, &entries, nics, seed, dir),
    }
}

/// The fabric, not yet validated, the name of its routing, and its DTable. Files are
/// looked for in `dir`.
pub(crate) fn fabric_of(
    raw: &RawExperiment,
    dir: &Path,
) -> Result<(FabricSpec, &'static str, Option<DTableTable>), ConfigError> {
    let defaults = fabric::defaults(&raw.fabric)?;
    let graph = raw.fabric.topology.as_ref().unwrap_or(&defaults.topology);
    let (topology, imported) = graph.resolve(dir)?;
    let imported = imported.as_ref();
    let seed = raw.seed.unwrap_or(DEFAULT_SEED);
    let chosen = routing_of(raw, &topology, imported, seed, dir)?;
    let (routing_name, mut routing) = (chosen.name, chosen.routing);
    let mut parameters = fabric::parameters(&raw.fabric, &defaults, &topology, seed)?;
    if let Some(imported) = imported {
        fabric::speeds_of_file(&raw.fabric, &mut parameters.switch, imported)?;
        fabric::latencies_of_file(&raw.fabric, &mut parameters, imported);
    }
    let header = error::small(parameters.header_bytes, "fabric.header")?;
    let tables = tables::sl2vl(raw.fabric.sl2vl.as_ref(), &topology, imported, dir)?;
    let scheme = vls::scheme(&raw.qos, tables.as_ref(), &topology)?;
    let classes = match &tables {
        Some(_) => 1,
        None if routing.forwarding.is_some() => 1,
        None if scheme.is_some_and(|scheme| matches!(scheme.kind, SchemeKind::H2lq(_))) => 2,
        None => routing.paths.classes(topology.vl_classes()),
    };
    let of_preset = qos::presets::defaults(&raw.qos, classes)?;
    let vls = (tables.as_ref(), scheme);
    let mut qos = qos::with_vls(&raw.qos, &of_preset, &defaults.parameters, classes, vls)?;
    let scheduling = Scheduling {
        raw: &raw.qos,
        defaults: &of_preset,
        usual: defaults.scheduler,
        service_levels: &qos.service_levels,
        header,
    };
    let dtable = fabric::schedule(&mut parameters.switch, &scheduling)?;
    if let Some(tables) = tables {
        qos.vl_policy = VlPolicy::SlToVl(tables);
    }
    routing::bias(&raw.fabric, parameters.credit_bytes, &mut routing.paths)?;
    let mut fabric = parameters.spec(topology, routing, qos)?;
    let control = &raw.congestion_control;
    let mut parameters = congestion_control::congestion(control, &fabric, seed, dir)?;
    if control.kind == Some(RawControlKind::Ib) {
        congestion_control::exceptions(control, &mut parameters, &fabric.topology)?;
        fabric.congestion_control = Some(Box::new(parameters));
    }
    power::states(raw.power.as_ref(), &mut fabric)?;
    let reroute_after = raw.fabric.reroute_after;
    event::outages(&raw.event, reroute_after, chosen.engine, &mut fabric)?;
    let rate = raw.fabric.bit_error_rate;
    fabric.bit_errors = rate.and_then(|rate| rate.errors(seed));
    Ok((fabric, routing_name, dtable))
}

/// The routing with its tables, and the routes of single pairs.
fn routing_of(
    raw: &RawExperiment,
    topology: &Topology,
    imported: Option<&Imported>,
    seed: u64,
    dir: &Path,
) -> Result<Chosen, ConfigError> {
    let mut chosen = routing::routing(&raw.fabric, topology, seed)?;
    let routing = &mut chosen.routing;
    routing.forwarding = tables::forwarding(raw.fabric.forwarding.as_ref(), imported, dir)?;
    if routing.forwarding.is_none() && raw.fabric.routing.is_none() {
        routing.forwarding = imported
            .and_then(|imported| imported.routes.clone())
            .transpose()?;
    }
    let failed = raw.fabric.failure.as_deref().unwrap_or_default();
    let failures = failure::parse(failed, raw.fabric.failure_seed)?;
    let has_tables = routing.forwarding.is_some();
    let seed = raw.fabric.failure_seed.unwrap_or(seed);
    failure::reroute(
        &failures,
        chosen.engine,
        has_tables,
        topology,
        seed,
        routing,
    )?;
    if let Some(file) = &raw.fabric.source_routes {
        routing.source_routes = source_routes::read(&dir.join(file), topology)?;
    }
    Ok(chosen)
}

/// Refuses the first key of `raw` that nothing uses. `document` is what `raw` was read from,
/// `experiment` what it means.
pub(crate) fn unused(
    raw: &RawExperiment,
    document: &Document<'_>,
    experiment: &Experiment,
) -> Result<(), ConfigError> {
    let fabric = &raw.fabric;
    fabric::unused(fabric, &experiment.fabric.topology)?;
    let usual = |of_preset| fabric::usual_scheduler(fabric, of_preset);
    qos::unused(&raw.qos, fabric.sl2vl.is_some(), usual)?;
    congestion_control::unused(&raw.congestion_control, document, &experiment.fabric.qos)?;
    power::unused(raw.power.as_ref())?;
    event::unused(&raw.event, fabric.reroute_after)?;
    for (i, entry) in raw.background.iter().enumerate() {
        background::unused(entry, &format!("background.{i}"))?;
    }
    measure::unused(raw.measure.as_ref(), experiment.measure.as_ref())?;
    series::unused(raw.series.as_ref(), experiment.measure.is_some())?;
    gap_skip(raw, experiment)?;
    saturated_limit(raw, experiment)?;
    collectives(raw)
}

/// Refuses settings that cannot be combined with skipped gaps.
fn gap_skip(raw: &RawExperiment, experiment: &Experiment) -> Result<(), ConfigError> {
    const KEY: &str = "background_gap_skip";
    let problem = match experiment.background_gap_skip_ps {
        None => return Ok(()),
        Some(0) => "is the time simulated before each message of a job; it must be longer than 0",
        Some(_) if experiment.measure.is_some() => {
            "skips gaps between the messages of jobs, and there is no job; remove it"
        }
        Some(_) if raw.series.is_some() => {
            "leaves out simulated time, of which [series] would have no samples; remove one of the two"
        }
        Some(_) if experiment.fabric.congestion_control.is_some() => {
            "does not know what the timers of congestion control do in a gap; remove it, or take \
             congestion_control.kind = \"none\""
        }
        Some(_) if !raw.event.is_empty() => {
            "leaves out simulated time, and an [[event]] has a time in the fabric; remove one of the two"
        }
        Some(_) if experiment.power.is_some() => {
            "leaves out simulated time, whose energy [power] would not count; remove one of the two"
        }
        Some(_) => return Ok(()),
    };
    refused(KEY, problem)
}

/// Refuses a limit without an effect.
fn saturated_limit(raw: &RawExperiment, experiment: &Experiment) -> Result<(), ConfigError> {
    let problem = match raw.saturated_limit {
        None => return Ok(()),
        Some(0) => {
            "is 0; give a factor of at least 1, or `flitwise run --stop-when-saturated` to end a run at once"
        }
        Some(_) if experiment.measure.is_some() => {
            "limits the time of jobs, and there is none: [measure] bounds the time of each load; remove it"
        }
        Some(_) => return Ok(()),
    };
    refused("saturated_limit", problem)
}

/// Refuses algorithms that no job uses because all jobs choose others.
fn collectives(raw: &RawExperiment) -> Result<(), ConfigError> {
    let general = &raw.collectives;
    let used = |own: &Choices| own.or(general) != *own;
    if *general == Choices::default() || raw.job.iter().any(|job| used(&job.collectives)) {
        return Ok(());
    }
    refused(
        "collectives",
        "every job chooses its own algorithms for these operations, which win; remove it",
    )
}
