//! The resolved experiment as JSON: settings as interpreted, quantities as integers with the unit in
//! the key, fractions as exact texts.
//!
//! The types derive their JSON, so a field that is new is there; the functions here destructure or match
//! exhaustively, so a field or variant that they forget does not compile. What joins several types
//! is put together here: the parts of an experiment, and the names of its service levels.

use crate::config::analysis::analysis_json;
use crate::config::background::Background;
use crate::config::experiment::Experiment;
use crate::config::fabric::{scheduler_json, switch_json};
use crate::config::job::Job;
use crate::config::keys::SATURATED_LIMIT;
use crate::config::node::NodeForm;
use crate::config::power::power_json;
use crate::fabric::spec::{CongestionControl, FabricSpec, Qos};
use crate::replay::NodeSpec;
use serde_json::{Map, Value, json};
use twox_hash::XxHash3_128;

/// The complete configuration. Equal experiments give equal values.
#[must_use]
pub fn experiment_json(e: &Experiment) -> Value {
    let mut all = Map::from_iter([("seed".to_owned(), e.seed.into())]);
    all.extend(network_of(e));
    all.extend(load_of(e));
    all.into()
}

/// The keys of the network.
fn network_of(e: &Experiment) -> Map<String, Value> {
    let (fabric, levels) = (&e.fabric, &e.fabric.qos);
    let mut keys = Map::from_iter([
        ("fabric".to_owned(), fabric_json(fabric, e.routing)),
        ("nic_queueing".to_owned(), json!(e.nic_queueing)),
        ("qos".to_owned(), qos(fabric)),
        (
            "congestion_control".to_owned(),
            congestion(fabric.congestion_control.as_deref(), levels),
        ),
    ]);
    // Written only where it is on, because the experiment without it has another result.
    if let Some(power) = &e.power {
        keys.insert("power".to_owned(), power_json(power, fabric));
    }
    keys
}

/// The keys of what loads the network, and of what is measured.
fn load_of(e: &Experiment) -> Map<String, Value> {
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
    let mut keys = Map::from_iter([
        ("jobs".to_owned(), jobs.iter().map(job).collect()),
        (
            "background".to_owned(),
            background.iter().map(flow).collect(),
        ),
    ]);
    // These are written only where they are on, because the experiment without them has another result.
    if *node != NodeSpec::default() {
        keys.insert("node".to_owned(), json!(NodeForm::of(node)));
    }
    if let Some(ps) = background_gap_skip_ps {
        keys.insert("background_gap_skip_ps".to_owned(), (*ps).into());
    }
    keys.insert("measure".to_owned(), json!(measure));
    if let Some(request) = request {
        keys.insert("congestion".to_owned(), analysis_json(request));
    }
    if *saturated_limit != SATURATED_LIMIT {
        keys.insert("saturated_limit".to_owned(), (*saturated_limit).into());
    }
    keys
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
            _ => inside(network_of(e)),
        };
        let (seed, load) = (e.seed, inside(load_of(e)));
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
fn inside(keys: Map<String, Value>) -> String {
    let text = Value::Object(keys).to_string();
    text[1..text.len() - 1].to_owned()
}

/// The part about the fabric, without service levels and congestion control; `routing` is the name
/// of the algorithm.
#[must_use]
pub fn fabric_json(f: &FabricSpec, routing: &str) -> Value {
    let mut value = json!(f);
    value["switch"] = switch_json(&f.switch);
    insert_behind("topology", "routing", routing.into(), &mut value);
    value
}

/// `[qos]`, with the scheduler or the arbiters of the switches.
fn qos(f: &FabricSpec) -> Value {
    let mut value = json!(f.qos);
    insert_behind("sl2vl", "scheduler", scheduler_json(&f.switch), &mut value);
    value
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

/// Inserts a key into an object. The order of keys is part of the hash.
fn insert_behind(earlier: &str, key: &str, value: Value, object: &mut Value) {
    if let Value::Object(map) = object {
        let at = map.keys().position(|key| key == earlier);
        map.shift_insert(at.map_or(map.len(), |at| at + 1), key.to_owned(), value);
    }
}

/// A job or flow with the name of its service level in place of the number.
fn with_name(mut value: Value, sl: u8, qos: &Qos) -> Value {
    value["sl"] = qos.service_levels[usize::from(sl)].name.clone().into();
    value
}
