//! The resolved experiment as JSON: settings as interpreted, quantities as integers with the unit in
//! the key, fractions as exact texts.
//!
//! The types derive their JSON and its schema, so a field that is new is in both; the functions here destructure or match
//! exhaustively, so a field or variant that they forget does not compile. What joins several types
//! is put together here: the parts of an experiment, and the names of its service levels.

use crate::config::analysis::analysis_json;
use crate::config::background::Background;
use crate::config::document::kinds_of;
use crate::config::experiment::Experiment;
use crate::config::job::Job;
use crate::config::keys::SATURATED_LIMIT;
use crate::config::measure::Measure;
use crate::config::node::NodeForm;
use crate::config::power::PowerForm;
use crate::fabric::spec::hierarchical::Scheduler;
use crate::fabric::spec::voq::VlArb;
use crate::fabric::spec::{
    BitErrors, CongestionControl, Degradation, FabricSpec, LinkLatency, Outage, Qos,
    QueueingScheme, Routing, ServiceLevel, SlToVl, Stages, Switch, Units,
};
use crate::fabric::topology::{RoutingName, Topology};
use crate::replay::NodeSpec;
use crate::replay::background::NicQueueing;
use flitwise_base::schema::by_sl;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};
use twox_hash::XxHash3_128;

/// An experiment as interpreted.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct ExperimentForm<'a> {
    /// As `seed`.
    seed: u64,
    #[serde(flatten)]
    network: Network<'a>,
    #[serde(flatten)]
    load: Load<'a>,
}

/// The keys of the network.
#[derive(Serialize, JsonSchema)]
struct Network<'a> {
    /// `[fabric]`.
    fabric: FabricForm<'a>,
    /// In what order jobs and background flows that share a queue of a NIC are served.
    nic_queueing: NicQueueing,
    /// `[qos]`.
    qos: QosForm<'a>,
    /// `[congestion_control]`.
    #[schemars(with = "CongestionForm")]
    congestion_control: Value,
    /// `[power]`; absent without it.
    // This and some keys of the load are written only where they are on, because the experiment without them has
    // another result.
    #[serde(skip_serializing_if = "Option::is_none")]
    power: Option<PowerForm<'a>>,
}

/// The keys of what loads the network, and of what is measured.
#[derive(Serialize, JsonSchema)]
struct Load<'a> {
    /// The jobs, `[[job]]`.
    #[schemars(with = "Vec<Job>")]
    jobs: Vec<Value>,
    /// The background flows, `[[background]]`.
    #[schemars(with = "Vec<Background>")]
    background: Vec<Value>,
    /// `[node]`; absent where every NIC is a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeForm<'a>>,
    /// As in the file; absent without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    background_gap_skip_ps: Option<u64>,
    /// `[measure]`, null with a job.
    measure: Option<&'a Measure>,
    /// `[congestion]`; absent in a simulation.
    // The documents of a static analysis have no schema of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    congestion: Option<Value>,
    /// As in the file; absent with the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    saturated_limit: Option<u32>,
}

/// The complete configuration. Equal experiments give equal values.
#[must_use]
pub fn experiment_json(e: &Experiment) -> Value {
    json!(ExperimentForm {
        seed: e.seed,
        network: network_of(e),
        load: load_of(e),
    })
}

fn network_of(e: &Experiment) -> Network<'_> {
    let (fabric, levels) = (&e.fabric, &e.fabric.qos);
    let power = e.power.as_ref();
    Network {
        fabric: FabricForm::of(fabric, e.routing),
        nic_queueing: e.nic_queueing,
        qos: QosForm::of(fabric),
        congestion_control: congestion(fabric.congestion_control.as_deref(), levels),
        power: power.map(|power| PowerForm::of(power, fabric)),
    }
}

fn load_of(e: &Experiment) -> Load<'_> {
    let Experiment {
        seed: _,
        fabric,
        node,
        nic_queueing: _,
        routing: _,
        // Its entries belong to the fabric's scheduler.
        dtable: _,
        jobs,
        background,
        background_gap_skip_ps,
        saturated_limit,
        measure,
        power: _,
        congestion: request,
        remarks: _,
    } = e;
    let levels = &fabric.qos;
    let job = |job: &Job| with_name(json!(job), job.sl, levels);
    let flow = |flow: &Background| with_name(json!(flow), flow.sl, levels);
    Load {
        jobs: jobs.iter().map(job).collect(),
        background: background.iter().map(flow).collect(),
        node: (*node != NodeSpec::default()).then(|| NodeForm::of(node)),
        background_gap_skip_ps: *background_gap_skip_ps,
        measure: measure.as_ref(),
        congestion: request.as_deref().map(analysis_json),
        saturated_limit: Some(*saturated_limit).filter(|limit| *limit != SATURATED_LIMIT),
    }
}

/// XXH3, 128 bits, of the compact form of [`experiment_json`] and of the version of this
/// program, as 32 hex digits. It tells configurations apart, but does not protect against forgery.
#[must_use]
pub fn experiment_hash(e: &Experiment) -> String {
    experiment_hash_with(e, &[])
}

/// Like [`experiment_hash`], with the digests of the jobs' traces, in the order of the jobs, as
/// well.
#[must_use]
pub(crate) fn experiment_hash_with(e: &Experiment, traces: &[u128]) -> String {
    Hasher::default().hash(e, traces)
}

/// Hashes experiments one after the other. Where one has the network of the one before it, as the tasks of a plan do,
/// the text of the network is not made again.
#[derive(Debug, Default)]
pub(crate) struct Hasher<'a> {
    /// The experiment whose network was put into a text last, and that text.
    last: Option<(&'a Experiment, String)>,
}

impl<'a> Hasher<'a> {
    /// The [hash](experiment_hash) of an experiment whose jobs have traces with these digests.
    pub fn hash(&mut self, e: &'a Experiment, traces: &[u128]) -> String {
        let same = |of: &Experiment| {
            (&of.fabric, of.routing, &of.nic_queueing, &of.power)
                == (&e.fabric, e.routing, &e.nic_queueing, &e.power)
        };
        let text = match self.last.take() {
            Some((of, text)) if same(of) => text,
            _ => inside(&network_of(e)),
        };
        let (seed, load) = (e.seed, inside(&load_of(e)));
        let mut all = format!("{{\"seed\":{seed},{text},{load}}}");
        self.last = Some((e, text));
        all += concat!(" ", env!("CARGO_PKG_VERSION"));
        for digest in traces {
            all += &format!(" {digest:032x}");
        }
        format!("{:032x}", XxHash3_128::oneshot(all.as_bytes()))
    }
}

/// The compact form of an object, without its braces.
fn inside(keys: &impl Serialize) -> String {
    let text = json!(keys).to_string();
    text[1..text.len() - 1].to_owned()
}

/// `[fabric]`.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct FabricForm<'a> {
    /// The graph.
    topology: &'a Topology,
    /// Name of the routing.
    #[schemars(extend("enum" = routings()))]
    routing: &'static str,
    #[serde(flatten)]
    rules: &'a Routing,
    #[serde(flatten)]
    units: &'a Units,
    #[serde(flatten)]
    link_latency: &'a LinkLatency,
    /// The switches and their NICs.
    switch: SwitchForm<'a>,
    /// Times in which links are down; absent without events.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    outages: &'a [Outage],
    /// Times in which links send at a lower rate; absent without such events.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    degraded: &'a [Degradation],
    #[serde(flatten)]
    bit_errors: Option<&'a BitErrors>,
}

/// The switches and their NICs.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct SwitchForm<'a> {
    #[serde(flatten)]
    switch: &'a Switch,
    #[serde(flatten)]
    stages: &'a Stages,
}

/// The names of routings. One switch has none.
fn routings() -> Vec<&'static str> {
    let named = kinds_of::<RoutingName>();
    let named = named.iter().map(|kind| kind.name);
    std::iter::once("direct").chain(named).collect()
}

impl<'a> FabricForm<'a> {
    fn of(fabric: &'a FabricSpec, routing: &'static str) -> Self {
        let FabricSpec {
            topology,
            routing: rules,
            units,
            link_latency,
            switch,
            outages,
            degraded,
            bit_errors,
            // They have parts of their own.
            qos: _,
            congestion_control: _,
            link_power: _,
        } = fabric;
        Self {
            topology,
            routing,
            rules,
            units,
            link_latency,
            switch: SwitchForm {
                switch,
                stages: switch.kind().stages(),
            },
            outages,
            degraded,
            bit_errors: bit_errors.as_ref(),
        }
    }
}

/// The part about the fabric, without service levels and congestion control; `routing` is the name
/// of the algorithm.
#[must_use]
pub fn fabric_json(f: &FabricSpec, routing: &'static str) -> Value {
    json!(FabricForm::of(f, routing))
}

/// `[qos]`, with the scheduler or the arbiters of the switches.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct QosForm<'a> {
    /// Virtual lanes.
    vls: u8,
    /// The service levels, in their order.
    service_levels: &'a [ServiceLevel],
    /// VL of each service channel, null where unused.
    sc2vl: &'a [Option<u8>],
    /// SL-to-VL tables, each a text with the VLs of SL 0, 1, …; null unless they decide the VL.
    sl2vl: Option<&'a SlToVl>,
    /// The scheduler.
    scheduler: SchedulerForm<'a>,
    /// The queueing scheme; absent where service channels or tables decide the VL.
    #[serde(skip_serializing_if = "Option::is_none")]
    vl_policy: Option<&'a QueueingScheme>,
}

/// The scheduler, or the arbiters, that decide which packet a link carries next.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(deny_unknown_fields)]
enum SchedulerForm<'a> {
    /// The scheduler of hierarchical switches; `rr` is `sbt` with equal weights.
    Hierarchical(&'a Scheduler),
    /// The arbiters of `voq` switches.
    Arbiters {
        /// `ib-vlarb`.
        #[schemars(extend("const" = IB_VLARB))]
        kind: &'static str,
        /// The arbiters of switches.
        vlarb: &'a VlArb,
        /// As `experiment.qos.scheduler.vlarb`, of NICs.
        hca_vlarb: &'a VlArb,
    },
}

const IB_VLARB: &str = "ib-vlarb";

impl<'a> QosForm<'a> {
    fn of(fabric: &'a FabricSpec) -> Self {
        let Qos {
            vls,
            service_levels,
            sc2vl,
            vl_policy,
        } = &fabric.qos;
        Self {
            vls: *vls,
            service_levels,
            sc2vl,
            sl2vl: vl_policy.tables(),
            scheduler: match &fabric.switch {
                Switch::Hierarchical(switch) => SchedulerForm::Hierarchical(&switch.scheduler),
                Switch::Voq(switch) => SchedulerForm::Arbiters {
                    kind: IB_VLARB,
                    vlarb: &switch.vlarb,
                    hca_vlarb: &switch.hca.vlarb,
                },
            },
            vl_policy: vl_policy.queueing(),
        }
    }
}

/// `[congestion_control]`.
#[derive(JsonSchema)]
#[schemars(untagged, deny_unknown_fields, transform = levels_by_name)]
#[expect(dead_code, reason = "a type that describes is never constructed")]
enum CongestionForm {
    /// Off.
    None {
        /// `none`.
        #[schemars(extend("const" = "none"))]
        kind: String,
    },
    /// InfiniBand's.
    Ib {
        /// `ib`.
        #[schemars(extend("const" = "ib"))]
        kind: String,
        #[schemars(flatten)]
        control: CongestionControl,
    },
}

/// Turns the list `service_levels`, wherever it is, into an object whose keys are names of service levels.
fn levels_by_name(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    let levels = properties.and_then(|all| all.get_mut("service_levels"));
    if let Some(Ok(levels)) = levels.map(<&mut Schema>::try_from) {
        let level = levels.remove("items").unwrap_or_default();
        levels.insert("type".to_owned(), "object".into());
        levels.insert("additionalProperties".to_owned(), level);
        by_sl(levels);
    }
    transform_subschemas(&mut levels_by_name, schema);
}

/// `[congestion_control]`, with the service levels by name.
fn congestion(control: Option<&CongestionControl>, qos: &Qos) -> Value {
    let Some(control) = control else {
        return json!({ "kind": "none" });
    };
    let mut value = json!(control);
    if let Some(Value::Array(levels)) = value.get_mut("service_levels").map(Value::take) {
        let names = qos.service_levels.iter().map(|level| level.name.clone());
        value["service_levels"] = names.zip(levels).collect::<Map<_, _>>().into();
    }
    value
}

/// A job or flow with the name of its service level in place of the number.
fn with_name(mut value: Value, sl: u8, qos: &Qos) -> Value {
    value["sl"] = qos.service_levels[usize::from(sl)].name.clone().into();
    value
}
