//! Host files, as MPI's launchers take them: a host per line.

use crate::config::place::RawPlace;
use crate::fabric::ids::NicId;
use crate::fabric::topology::Topology;
use flitwise_base::quote::quoted;
use std::path::Path;

/// Most ranks of a host file.
const MAX_SLOTS: usize = 1 << 22;

/// The NICs in the order of the file, each as often as it has slots: `HOST`, `HOST slots=N` or `HOST:N`; hosts
/// without a number of slots have `tasks`. `#` begins a comment. A host is a number of a NIC, or what
/// its operators call it; in GUIDs and names colons are left alone unless a number follows the last one.
///
/// # Errors
/// The first line that cannot be right, with its number.
pub(crate) fn read(path: &Path, topology: &Topology, tasks: u32) -> Result<Vec<NicId>, String> {
    let text = crate::config::document::read::read(path).map_err(|e| e.problem)?;
    let mut nics = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |problem: String| format!("{}:{number}: {problem}", path.display());
        let (host, slots) = parts(line, topology).map_err(wrong)?;
        let slots = slots.unwrap_or(tasks) as usize;
        if slots == 0 || nics.len() + slots > MAX_SLOTS {
            return Err(wrong(format!(
                "{slots} slots; a host has at least 1, and all hosts at most {MAX_SLOTS}"
            )));
        }
        nics.extend(std::iter::repeat_n(host, slots));
    }
    if nics.is_empty() {
        Err(format!("{}: names no host", path.display()))
    } else {
        Ok(nics)
    }
}

/// The NIC of a line, and its slots.
fn parts(line: &str, topology: &Topology) -> Result<(NicId, Option<u32>), String> {
    let slots = |text: &str| {
        let slots = text.trim().parse::<u32>();
        slots.map_err(|_| format!("{} is no number of slots, as in `slots=4`", quoted(text)))
    };
    if let Some((host, rest)) = line.split_once("slots=") {
        // The rest is for the launcher, such as `max_slots=8`.
        let first = rest.split_whitespace().next().unwrap_or("");
        return Ok((nic(host.trim(), topology)?, Some(slots(first)?)));
    }
    match line.rsplit_once(':') {
        Some((host, count)) if count.parse::<u32>().is_ok() => {
            Ok((nic(host.trim(), topology)?, Some(slots(count)?)))
        }
        _ => Ok((nic(line, topology)?, None)),
    }
}

fn nic(host: &str, topology: &Topology) -> Result<NicId, String> {
    match (topology.names(), host.parse::<u32>()) {
        (None, Ok(number)) => Ok(NicId::new(number)),
        // A host may be called by a number.
        (Some(names), Ok(number)) => Ok(names.find(host).unwrap_or(NicId::new(number))),
        (_, Err(_)) => RawPlace::Name(host.to_owned()).nic(topology),
    }
}
