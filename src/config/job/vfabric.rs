//! `[[vfabric]]`: the resources for jobs that name a vFabric.

use crate::config::document::{ConfigError, check_name, refused, suggestion};
use crate::config::job::keys::RawJob;
use crate::config::place::RawPlace;
use crate::fabric::ids::NicId;
use crate::fabric::spec::Qos;
use crate::fabric::topology::Topology;
use flitwise_base::quote::quoted;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVfabric {
    /// Its name.
    pub name: String,
    /// Traffic class, on whose first SL its jobs travel.
    pub tc: u8,
    /// NICs of its jobs, by number or [name](../reference/fabric-command.md#names-of-operators).
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<Vec<RawPlace>>,
    /// Names of the jobs that may use it.
    #[schemars(extend("x-default" = "any"))]
    pub applications: Option<Vec<String>>,
}

pub(crate) fn check_vfabrics(
    all: &[RawVfabric],
    jobs: &[RawJob],
    qos: &Qos,
    topology: &Topology,
) -> Result<(), ConfigError> {
    let nics = topology.nics();
    for (i, v) in all.iter().enumerate() {
        let key = |field: &str| format!("vfabric.{i}.{field}");
        check_name(&v.name, || key("name"))?;
        if all[..i].iter().any(|other| other.name == v.name) {
            return refused(
                key("name"),
                format!("two vFabrics are called {}", quoted(&v.name)),
            );
        }
        if !qos
            .service_levels
            .iter()
            .any(|level| level.traffic_class == v.tc)
        {
            return refused(
                key("tc"),
                format!("no service level belongs to TC {}", v.tc),
            );
        }
        for (at, host) in v.hosts.iter().flatten().enumerate() {
            let key = || format!("vfabric.{i}.hosts.{at}");
            let host = host.nic_at(topology, &key())?;
            if host.get() >= nics {
                return refused(
                    key(),
                    format!(
                        "NIC {host} does not exist: the fabric has NICs 0 to {}",
                        nics - 1
                    ),
                );
            }
        }
        if v.hosts.as_ref().is_some_and(Vec::is_empty) {
            return refused(key("hosts"), "is empty; leave it out to allow every NIC");
        }
        if !jobs.iter().any(|job| job.vfabric.as_ref() == Some(&v.name)) {
            return refused(
                key("name"),
                format!(
                    "no job uses vFabric {}; name it in a job or remove it",
                    quoted(&v.name)
                ),
            );
        }
    }
    Ok(())
}

pub(crate) fn find_vfabric<'a>(
    wanted: &str,
    job: &str,
    all: &'a [RawVfabric],
    key: &str,
) -> Result<&'a RawVfabric, ConfigError> {
    let Some(found) = all.iter().find(|v| v.name == wanted) else {
        let names: Vec<&str> = all.iter().map(|v| v.name.as_str()).collect();
        return refused(
            key,
            format!(
                "there is no vFabric {}{}",
                quoted(wanted),
                suggestion(wanted, &names)
            ),
        );
    };
    match &found.applications {
        Some(list) if !list.iter().any(|a| a == job) => refused(
            key,
            format!(
                "vFabric {} does not list the application {}; add it to its applications",
                quoted(wanted),
                quoted(job)
            ),
        ),
        _ => Ok(found),
    }
}

/// The NICs of a vFabric, each once.
pub(crate) fn sorted_hosts(hosts: &[RawPlace], topology: &Topology) -> Result<Vec<NicId>, String> {
    let hosts = hosts.iter().map(|host| host.nic(topology));
    let mut hosts: Vec<_> = hosts.collect::<Result<_, _>>()?;
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}
