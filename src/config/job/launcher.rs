//! Files that tell MPI's launchers where the ranks run, and the nodes of a Slurm job.

use super::placement::{Placement, RawSlurm};
use crate::config::place::RawPlace;
use crate::fabric::ids::NicId;
use crate::fabric::topology::Topology;
use crate::replay::placement::Distribution;
use flitwise_base::host_list;
use flitwise_base::quote::quoted;
use std::path::Path;

/// Most ranks of a file.
const MAX_SLOTS: usize = host_list::MOST_HOSTS;

/// How ranks share NICs where a file or list does not say so.
#[derive(Clone, Copy)]
pub(super) struct Sharing {
    /// Ranks on a host without a number of slots; `None`: not given, 1.
    pub ranks_per_nic: Option<u32>,
    pub nics_per_node: u32,
    pub distribution: Option<Distribution>,
}

/// The NICs of hosts.
struct Hosts<'t> {
    topology: &'t Topology,
    /// NICs of a node.
    nics: u32,
    /// The hosts named so far, if the topology has no names: they are its nodes in this order.
    named: Vec<String>,
    numbered: bool,
}

impl<'t> Hosts<'t> {
    fn new(topology: &'t Topology, sharing: Sharing) -> Self {
        Self {
            topology,
            nics: sharing.nics_per_node,
            named: Vec::new(),
            numbered: false,
        }
    }

    fn nic(&mut self, host: &str) -> Result<NicId, String> {
        let number = host.parse::<u32>().map(NicId::new);
        let Some(names) = self.topology.names() else {
            self.numbered |= number.is_ok();
            let nic = number.or_else(|_| self.nth(host));
            if self.numbered && !self.named.is_empty() {
                return Err(format!(
                    "{} stands beside numbers of NICs; give all hosts by name or all by number",
                    quoted(&self.named[0])
                ));
            }
            return nic;
        };
        match number {
            // A host may be called by a number.
            Ok(number) => Ok(names.find(host).unwrap_or(number)),
            Err(_) => RawPlace::Name(host.to_owned()).nic(self.topology),
        }
    }

    /// The first NIC of the next node, or of the one that the host is already.
    fn nth(&mut self, host: &str) -> Result<NicId, String> {
        let known = self.named.iter().position(|named| named == host);
        let node = known.unwrap_or_else(|| {
            self.named.push(host.to_owned());
            self.named.len() - 1
        });
        let nic = u32::try_from(node)
            .ok()
            .and_then(|node| node.checked_mul(self.nics));
        nic.map(NicId::new)
            .ok_or_else(|| "too many hosts".to_owned())
    }
}

/// The index of a line that cannot be right, and why.
type Wrong = (usize, String);

/// Hosts with their slots.
struct Slots(Vec<(NicId, usize)>);

/// Reads what a launcher reads; the first line tells the form.
///
/// - A host file of Open MPI or MPICH: `HOST`, `HOST slots=N` or `HOST:N`; `#` begins a comment. A host is a number
///   of a NIC, or what its operators call it; where the topology has no names, hosts with names are its nodes in the
///   order in which they appear. In GUIDs and names colons are left alone unless a number follows the last one.
/// - A rank file of Open MPI: `rank N=HOST slot=…`, the slots unread; `+nK` is the NIC K.
/// - A rank order of Cray MPICH (`MPICH_RANK_ORDER`): `0-3,8,9`.
///
/// # Errors
/// The first line that cannot be right, with its number.
pub(super) fn read(
    path: &Path,
    topology: &Topology,
    sharing: Sharing,
) -> Result<Placement, String> {
    let text = crate::config::document::read::read(path).map_err(|e| e.problem)?;
    let lines = (1_usize..).zip(text.lines()).filter_map(|(number, line)| {
        let line = line.split('#').next().unwrap_or("").trim();
        (!line.is_empty()).then_some((number, line))
    });
    let lines: Vec<(usize, &str)> = lines.collect();
    let Some((_, first)) = lines.first() else {
        return Err(format!("{}: names no host", path.display()));
    };
    let read: fn(&[&str], &mut Hosts<'_>, Sharing) -> Result<Placement, Wrong> =
        if rank_of(first).is_some() {
            rank_file
        } else if first.contains([',', '-']) && first.bytes().all(is_of_order) {
            rank_order
        } else {
            host_file
        };
    let texts: Vec<&str> = lines.iter().map(|&(_, line)| line).collect();
    read(&texts, &mut Hosts::new(topology, sharing), sharing).map_err(|(at, problem)| {
        let number = lines.get(at).map_or(0, |&(number, _)| number);
        format!("{}:{number}: {problem}", path.display())
    })
}

/// The nodes of a Slurm job, by `SLURM_JOB_NODELIST` and `SLURM_TASKS_PER_NODE`.
pub(super) fn slurm(
    raw: &RawSlurm,
    topology: &Topology,
    sharing: Sharing,
) -> Result<Placement, String> {
    let names = host_list::expand(&raw.nodes)?;
    let mut hosts = Hosts::new(topology, sharing);
    let nics = names.iter().map(|name| hosts.nic(name));
    let nics: Vec<NicId> = nics.collect::<Result<_, _>>()?;
    let tasks = match &raw.tasks {
        None => vec![sharing.ranks_per_nic.unwrap_or(1) as usize; nics.len()],
        Some(_) if sharing.ranks_per_nic.is_some() => {
            return Err("has the tasks of each node; remove ranks_per_nic or tasks".into());
        }
        Some(text) => tasks_per_node(text, nics.len())?,
    };
    if tasks.iter().sum::<usize>() > MAX_SLOTS {
        return Err(format!("all nodes have at most {MAX_SLOTS} tasks"));
    }
    Ok(Slots(nics.into_iter().zip(tasks).collect()).placement(sharing.distribution))
}

/// `2(x3),1`: the tasks of each node.
fn tasks_per_node(text: &str, nodes: usize) -> Result<Vec<usize>, String> {
    let wrong = || format!("{} is no list of tasks, as in `2(x3),1`", quoted(text));
    let mut tasks = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.trim().split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')').ok_or_else(wrong)?),
            None => (part.trim(), "1"),
        };
        let count: usize = count.parse().map_err(|_| wrong())?;
        let times: usize = times.parse().map_err(|_| wrong())?;
        if count == 0 || count > MAX_SLOTS || times > nodes.saturating_sub(tasks.len()) {
            break;
        }
        tasks.extend(std::iter::repeat_n(count, times));
    }
    if tasks.len() == nodes {
        Ok(tasks)
    } else {
        Err(format!(
            "{} does not have the tasks of {nodes} nodes, at least 1 of each",
            quoted(text)
        ))
    }
}

impl Slots {
    /// The NIC of each slot: by default the slots of a host together.
    fn placement(&self, distribution: Option<Distribution>) -> Placement {
        let slots = match distribution.unwrap_or(Distribution::Block) {
            Distribution::Block => self
                .0
                .iter()
                .flat_map(|&(nic, slots)| std::iter::repeat_n(nic, slots))
                .collect(),
            Distribution::Cyclic => {
                let rounds = self.0.iter().map(|&(_, slots)| slots).max().unwrap_or(0);
                let round = |turn| self.0.iter().filter(move |&&(_, slots)| slots > turn);
                (0..rounds).flat_map(round).map(|&(nic, _)| nic).collect()
            }
        };
        Placement::Hosts(slots)
    }
}

fn host_file(lines: &[&str], hosts: &mut Hosts<'_>, sharing: Sharing) -> Result<Placement, Wrong> {
    let mut found = Slots(Vec::new());
    let mut all = 0_usize;
    for (at, line) in lines.iter().enumerate() {
        let (host, slots) = host_slots(line, hosts).map_err(|problem| (at, problem))?;
        let slots = slots.or(sharing.ranks_per_nic).unwrap_or(1) as usize;
        all = all.saturating_add(slots);
        if slots == 0 || all > MAX_SLOTS {
            let problem =
                format!("{slots} slots; a host has at least 1, and all hosts at most {MAX_SLOTS}");
            return Err((at, problem));
        }
        found.0.push((host, slots));
    }
    Ok(found.placement(sharing.distribution))
}

/// The rank of a line of a rank file, and the rest behind the sign.
fn rank_of(line: &str) -> Option<(&str, &str)> {
    let (rank, host) = line.strip_prefix("rank ")?.split_once('=')?;
    Some((rank.trim(), host.trim()))
}

fn rank_file(lines: &[&str], hosts: &mut Hosts<'_>, sharing: Sharing) -> Result<Placement, Wrong> {
    if sharing.ranks_per_nic.is_some() || sharing.distribution.is_some() {
        let problem = "a rank file places every rank itself; remove ranks_per_nic and distribution";
        return Err((0, problem.into()));
    }
    let mut nics: Vec<Option<NicId>> = vec![None; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        let wrong = |problem: String| (at, problem);
        let (rank, host) =
            rank_of(line).ok_or_else(|| wrong("a line is `rank N=HOST slot=…`".into()))?;
        let host = host.split_whitespace().next().unwrap_or("");
        let host = host.strip_prefix("+n").unwrap_or(host);
        match rank
            .parse::<usize>()
            .ok()
            .and_then(|rank| nics.get_mut(rank))
        {
            Some(of @ None) => *of = Some(hosts.nic(host).map_err(wrong)?),
            _ => {
                let last = lines.len() - 1;
                let problem = format!(
                    "rank {} is given twice, or not one of ranks 0 to {last}",
                    quoted(rank)
                );
                return Err(wrong(problem));
            }
        }
    }
    Ok(Placement::List(nics.into_iter().flatten().collect()))
}

fn is_of_order(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b',' | b'-' | b' ')
}

fn rank_order(lines: &[&str], _: &mut Hosts<'_>, _: Sharing) -> Result<Placement, Wrong> {
    let mut ranks = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for part in line
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().ok();
            let range = number(first).zip(number(last));
            let fits = |&(from, to): &(u32, u32)| {
                from <= to && (to - from) as usize + ranks.len() < MAX_SLOTS
            };
            let Some((from, to)) = range.filter(fits) else {
                let problem = format!(
                    "{} is no rank or range of ranks, as in `0-3,8`, or too long",
                    quoted(part)
                );
                return Err((at, problem));
            };
            ranks.extend(from..=to);
        }
    }
    Ok(Placement::RankOrder(ranks))
}

/// The NIC of a line of a host file, and its slots.
fn host_slots(line: &str, hosts: &mut Hosts<'_>) -> Result<(NicId, Option<u32>), String> {
    let slots = |text: &str| {
        let slots = text.trim().parse::<u32>();
        slots.map_err(|_| format!("{} is no number of slots, as in `slots=4`", quoted(text)))
    };
    if let Some((host, rest)) = line.split_once("slots=") {
        // The rest is for the launcher, such as `max_slots=8`.
        let first = rest.split_whitespace().next().unwrap_or("");
        return Ok((hosts.nic(host.trim())?, Some(slots(first)?)));
    }
    match line.rsplit_once(':') {
        Some((host, count)) if count.parse::<u32>().is_ok() => {
            Ok((hosts.nic(host.trim())?, Some(slots(count)?)))
        }
        _ => Ok((hosts.nic(line)?, None)),
    }
}
