//! The keys of resolved experiments (`experiment` in `result.json`) as experiment files have them, for messages to people.

use crate::config::schema::experiment_keys;
use std::collections::HashSet;
use std::sync::LazyLock;

/// A key of experiment files that stands for a key of a resolved experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenKey {
    /// Its path: `job.0.start`.
    pub path: String,
    /// The text that follows a value of the resolved experiment, such as ` ps`; empty without a unit. `None` if the key of the
    /// file decides on more than that value.
    pub unit: Option<&'static str>,
}

/// Ends of resolved keys that are units, with the text behind a value.
const UNITS: [(&str, &str); 9] = [
    ("_flits_per_cycle_per_nic", ""),
    ("_flits_per_tick", " flits/tick"),
    ("_bytes_per_s", " B/s"),
    ("_flops_per_s", " flops/s"),
    ("_ps_per_byte", " ps/B"),
    ("_credits", " credits"),
    ("_bytes", " B"),
    ("_ticks", " ticks"),
    ("_ps", " ps"),
];

/// Between a resolved key and the key of a file, which are one text here: no file may have the former.
const ARROW: &str = " → ";

/// Resolved keys whose values follow from one key of a file, which has other elements.
const WHOLE: [&str; 7] = [
    "background.0.messages → background.0.message",
    "fabric.degraded → event",
    "fabric.failed_links → fabric.failure",
    "fabric.link_latencies → fabric.topology",
    "fabric.outages → event",
    "fabric.rerouted → event",
    "fabric.switch.links → fabric.link_speeds",
];

/// Resolved keys without their units whose names in a file do not follow from them. The first that fits counts.
const RENAMED: [&str; 18] = [
    "fabric.flits_per_credit → fabric.credit",
    "fabric.switch.kind → fabric.kind",
    "fabric.switch. → fabric.",
    "fabric.switch → fabric.kind",
    "jobs.0.calls. → job.0.",
    "jobs.0.compute_scale_by_region → job.0.compute_scale",
    "jobs.0.hosts → vfabric",
    "jobs.0.tasks_per_node → job.0.ranks_per_nic",
    "jobs → job",
    "nic_queueing → fabric.nic_queueing",
    "node.links. → node.",
    "power.switch_threshold → power.threshold",
    "power.wake → power.transition",
    "qos.scheduler.hca_vlarb → qos.hca_vlarb",
    "qos.scheduler.vlarb → qos.vlarb",
    "qos.sl2vl → fabric.sl2vl",
    "qos.vl_policy.kind → qos.vl_policy",
    "qos.vl_policy. → qos.",
];

/// All keys of experiment files and the tables that they are in, with 0 for the index of a list.
static KEYS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut all = HashSet::new();
    for key in experiment_keys() {
        let ends = key.path.match_indices('.').map(|(at, _)| at);
        all.extend(ends.map(|end| key.path[..end].to_owned()));
        all.insert(key.path);
    }
    all
});

/// Returns the key of experiment files that sets the key `path` of a resolved experiment, or the nearest table or list around
/// that key; `path` itself if a file has neither.
///
/// # Examples
/// ```
/// use flitwise::config::written_key;
///
/// let key = written_key("jobs.1.start_ps");
/// assert_eq!((&*key.path, key.unit), ("job.1.start", Some(" ps")));
/// assert_eq!(written_key("power.wake_ticks").path, "power.transition");
/// ```
#[must_use]
pub fn written_key(path: &str) -> WrittenKey {
    let is_number = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    let numbers: Vec<&str> = path.split('.').filter(is_number).collect();
    let general = path
        .split('.')
        .map(|part| if is_number(&part) { "0" } else { part });
    let general = general.collect::<Vec<_>>().join(".");
    let (found, unit) = named(&general);
    let mut numbers = numbers.into_iter();
    let specific = found.split('.').map(|part| match part {
        "0" => numbers.next().unwrap_or(part),
        part => part,
    });
    WrittenKey {
        path: specific.collect::<Vec<_>>().join("."),
        unit,
    }
}

/// The key of a file for a resolved one, and its unit; both have 0 for the index of a list.
fn named(general: &str) -> (String, Option<&'static str>) {
    if let Some((key, _)) = replaced(general, &WHOLE) {
        return (key.to_owned(), None);
    }
    let units = UNITS.iter();
    let with_unit = units.filter_map(|&(end, text)| Some((general.strip_suffix(end)?, text)));
    let (bare, unit) = with_unit
        .min_by_key(|(bare, _)| bare.len())
        .unwrap_or((general, ""));
    let name = renamed(bare);
    let ends: &[&str] = match unit {
        " ticks" => &["", "_latency"],
        " flits/tick" => &["_speed", "_rate"],
        _ => &[""],
    };
    let joined = |name: &str| {
        let (table, last) = name.rsplit_once('.')?;
        Some(format!("{table}_{last}"))
    };
    let all = ends.iter().map(|end| format!("{name}{end}"));
    // Keys about one thing are a table of a resolved experiment, and have its name in common in a file.
    let mut all = all.chain(joined(&name)).chain([renamed(general)]);
    if let Some(key) = all.find(|key| KEYS.contains(key)) {
        return (key, Some(unit));
    }
    let mut around = &*name;
    while let Some((table, _)) = around.rsplit_once('.') {
        if KEYS.contains(table) {
            return (table.to_owned(), None);
        }
        around = table;
    }
    (general.to_owned(), Some(""))
}

fn renamed(name: &str) -> String {
    replaced(name, &RENAMED).map_or_else(|| name.to_owned(), |(to, rest)| format!("{to}{rest}"))
}

/// The replacement for the start of `name` by the first pair of `pairs` that fits, and the rest of `name`.
fn replaced<'a>(name: &'a str, pairs: &[&'static str]) -> Option<(&'static str, &'a str)> {
    pairs.iter().find_map(|pair| {
        let (from, to) = pair.split_once(ARROW)?;
        let rest = name.strip_prefix(from)?;
        let whole = from.ends_with('.') || rest.is_empty() || rest.starts_with('.');
        whole.then_some((to, rest))
    })
}
