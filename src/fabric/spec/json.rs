//! Parts of the JSON of a specification where it is not what the derivation gives, and the JSON of congestion control.
//! `experiment` in `docs/reference/result.md` describes it. Ids and ports are keys, lists of thousands of numbers one
//! text each.

use super::Tick;
use super::congestion::{CctEntry, Notification, PortCongestion};
use crate::ids::SwitchPort;
use crate::topology::Link;
use flitwise_base::units::Ratio;
use schemars::JsonSchema;
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;
use std::fmt::Display;

/// A list in one text.
pub(super) fn joined<T: Display>(list: &[T]) -> String {
    let list: Vec<String> = list.iter().map(T::to_string).collect();
    list.join(" ")
}

pub(super) fn line<T: Display, S: Serializer>(list: &[T], s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&joined(list))
}

/// `3.5 7.0`: switch and port of both ends.
pub(super) fn failed_links<S: Serializer>(links: &[Link], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(
        links
            .iter()
            .map(|[a, b]| format!("{}.{} {}.{}", a.switch, a.port, b.switch, b.port)),
    )
}

pub(super) fn lines_by_key<K: Serialize, S: Serializer>(
    tables: &BTreeMap<K, Vec<u8>>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_map(tables.iter().map(|(of, table)| (of, joined(table))))
}

/// Whether a setting is the default, which the JSON leaves out.
pub(crate) fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}

/// The form of what is one text or a list of texts.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a type that describes is never constructed")]
pub(super) enum TextOrList {
    Text(String),
    List(Vec<String>),
}

/// The rate of a link that differs.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Rate {
    #[serde(flatten)]
    at: SwitchPort,
    /// The rate of the link.
    #[schemars(extend("unit" = "flits/tick, a fraction"))]
    flits_per_tick: Ratio,
}

pub(super) fn links<S: Serializer>(
    exceptions: &BTreeMap<SwitchPort, Ratio>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_seq(
        exceptions
            .iter()
            .map(|(&at, &flits_per_tick)| Rate { at, flits_per_tick }),
    )
}

/// The latency of a link that differs.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Latency {
    #[serde(flatten)]
    at: SwitchPort,
    /// Time of flight.
    ticks: Tick,
}

pub(super) fn latencies<S: Serializer>(
    exceptions: &BTreeMap<SwitchPort, Tick>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_seq(exceptions.iter().map(|(&at, &ticks)| Latency { at, ticks }))
}

/// The settings of a port that differs.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Port {
    #[serde(flatten)]
    settings: PortCongestion,
    #[serde(flatten)]
    at: SwitchPort,
}

pub(super) fn ports<S: Serializer>(
    exceptions: &BTreeMap<SwitchPort, PortCongestion>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_seq(
        exceptions
            .iter()
            .map(|(&at, &settings)| Port { settings, at }),
    )
}

/// As tools write the entry of a register.
pub(super) fn return_delay<S: Serializer>(entry: &CctEntry, s: S) -> Result<S::Ok, S::Error> {
    let CctEntry { multiplier, shift } = entry;
    s.collect_str(&format_args!("{shift}:{multiplier}"))
}

/// A table in one text: it has hundreds of entries.
pub(super) fn cct<S: Serializer>(table: &[CctEntry], s: S) -> Result<S::Ok, S::Error> {
    let text = |CctEntry { multiplier, shift }: &CctEntry| format!("{multiplier}/{shift}");
    s.serialize_str(&table.iter().map(text).collect::<Vec<_>>().join(" "))
}

/// The keys of a notification.
#[derive(Serialize, JsonSchema)]
pub(super) struct NotificationKeys {
    /// As in the file.
    notification: &'static str,
    /// Length of a CNP; null without CNPs.
    cnp_bytes: Option<u32>,
}

impl From<Notification> for NotificationKeys {
    fn from(notification: Notification) -> Self {
        let (notification, cnp_bytes) = match notification {
            Notification::Cnp { bytes } => ("cnp", Some(bytes)),
            Notification::Ack => ("ack", None),
            Notification::AckNow => ("ack-at-once", None),
        };
        Self {
            notification,
            cnp_bytes,
        }
    }
}
