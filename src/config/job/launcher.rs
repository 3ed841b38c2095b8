//! Files that tell MPI's launchers where the ranks run, and the nodes of a Slurm job.

use super::placement::{Placement, RawSlurm};
use crate::config::place::RawPlace;
use crate::fabric::ids::NicId;
use crate::fabric::topology::Topology;
use crate::replay::placement::Distribution;
use flitwise_base::host_list;
use flitwise_base::quote::quoted;
use std::collections::HashMap;
use std::path::Path;

/// Most ranks of a file.
const MAX_SLOTS: usize = host_list::MOST_HOSTS;

/// Words of Open MPI for the number of ranks of a host.
const COUNTS: [&str; 4] = ["slots", "slot", "count", "cpu"];

/// Options of a host that do not change where ranks run, of Open MPI and then of MPICH.
const UNREAD: [&str; 13] = [
    "max_slots",
    "max-slots",
    "slots_max",
    "slots-max",
    "username",
    "user_name",
    "user-name",
    "boards",
    "sockets_per_board",
    "cores_per_socket",
    "binding",
    "ifhn",
    "user",
];

/// How ranks share NICs where a file or list does not say so.
#[derive(Clone, Copy)]
pub(super) struct Sharing {
    /// Ranks per NIC; `None`: not given.
    pub ranks_per_nic: Option<u32>,
    /// Ranks per NIC of jobs that say nothing.
    pub places_per_nic: u32,
    pub nics_per_node: u32,
    pub distribution: Option<Distribution>,
}

impl Sharing {
    /// Ranks that a NIC takes before the next one.
    pub fn places(self) -> u32 {
        self.ranks_per_nic.unwrap_or(self.places_per_nic)
    }
}

/// The NICs of a host, which follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Host {
    first: NicId,
    nics: u32,
}

impl Host {
    fn nic(first: NicId) -> Self {
        Self { first, nics: 1 }
    }
}

/// The hosts of a topology.
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

    fn find(&mut self, host: &str) -> Result<Host, String> {
        let number = host.parse::<u32>().map(NicId::new);
        let Some(names) = self.topology.names() else {
            self.numbered |= number.is_ok();
            let found = number.map(Host::nic).or_else(|_| self.nth(host));
            if self.numbered && !self.named.is_empty() {
                return Err(format!(
                    "{} stands beside numbers of NICs; give all hosts by name or all by number",
                    quoted(&self.named[0])
                ));
            }
            return found;
        };
        // A host may be called by a number.
        let nic = match number {
            Ok(number) => names.find(host).unwrap_or(number),
            Err(_) => RawPlace::Name(host.to_owned()).nic(self.topology)?,
        };
        Ok(Host::nic(nic))
    }

    /// The next node, or the one that the host is already.
    fn nth(&mut self, host: &str) -> Result<Host, String> {
        let known = self.named.iter().position(|named| named == host);
        let node = known.unwrap_or_else(|| {
            self.named.push(host.to_owned());
            self.named.len() - 1
        });
        let first = u32::try_from(node)
            .ok()
            .and_then(|node| node.checked_mul(self.nics))
            .ok_or("too many hosts")?;
        Ok(Host {
            first: NicId::new(first),
            nics: self.nics,
        })
    }
}

/// The index of a line that cannot be right, and why.
type Wrong = (usize, String);

/// The hosts of a file or list, each with its slots where it has a number of them.
struct Slots(Vec<(Host, Option<usize>)>);

/// Reads what a launcher reads; the first line tells the form.
///
/// - A host file of Open MPI or MPICH: `HOST`, `HOST slots=N` or `HOST:N`, and options; `#` begins a comment. A host is
///   a number of a NIC, or what its operators call it; where the topology has no names, hosts with names are its nodes
///   in the order in which they appear. In GUIDs and names colons are left alone unless a number follows the last one.
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
    let hosts = names.iter().map(|name| hosts.find(name));
    let hosts: Vec<Host> = hosts.collect::<Result<_, _>>()?;
    let tasks = match &raw.tasks {
        None => vec![None; hosts.len()],
        Some(text) => tasks_per_node(text, hosts.len())?,
    };
    let slots = Slots(hosts.into_iter().zip(tasks).collect());
    slots.placement(sharing).map_err(|(_, problem)| problem)
}

/// `2(x3),1`: the tasks of each node.
fn tasks_per_node(text: &str, nodes: usize) -> Result<Vec<Option<usize>>, String> {
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
        tasks.extend(std::iter::repeat_n(Some(count), times));
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
    fn placement(&self, sharing: Sharing) -> Result<Placement, Wrong> {
        let mut lines: HashMap<Host, usize> = HashMap::new();
        for (host, _) in &self.0 {
            *lines.entry(*host).or_default() += 1;
        }
        let uncounted = || self.0.iter().filter(|(_, slots)| slots.is_none());
        // Files with a line for each rank, as of PBS.
        let by_line = uncounted().any(|(host, _)| lines[host] > 1);
        let is_counted = by_line || uncounted().next().is_none();
        if sharing.ranks_per_nic.is_some() && is_counted {
            let problem = "every host has its number of ranks; remove ranks_per_nic, ranks_per_node or these numbers";
            return Err((0, problem.into()));
        }
        let mut slots = Vec::new();
        for (at, &(host, count)) in self.0.iter().enumerate() {
            let usual = if by_line {
                1
            } else {
                (host.nics as usize).saturating_mul(sharing.places() as usize)
            };
            let count = count.unwrap_or(usual);
            if count == 0 || count > MAX_SLOTS - slots.len() {
                let problem = format!(
                    "{count} slots; a host has at least 1, and all hosts at most {MAX_SLOTS}"
                );
                return Err((at, problem));
            }
            slots.extend(std::iter::repeat_n(host, count));
        }
        let mut nics = spread(&slots, sharing.places());
        if sharing.distribution == Some(Distribution::Cyclic) {
            nics = in_turn(&nics);
        }
        Ok(Placement::Hosts(nics))
    }
}

/// The NICs of ranks, whose hosts are `hosts`: a NIC of a host takes as many ranks as it has `places` before the next, and
/// where a host has more ranks than places, its NICs share them evenly.
fn spread(hosts: &[Host], places: u32) -> Vec<NicId> {
    let mut ranks: HashMap<Host, u64> = HashMap::new();
    for host in hosts {
        *ranks.entry(*host).or_default() += 1;
    }
    let mut before: HashMap<Host, u64> = HashMap::new();
    let nic = |host: &Host| {
        let (nics, places) = (u64::from(host.nics), u64::from(places));
        let before = before.entry(*host).or_default();
        let at = match ranks[host] {
            all if all > nics * places => *before * nics / all,
            _ => *before / places,
        };
        *before += 1;
        NicId::new(host.first.get() + at as u32)
    };
    hosts.iter().map(nic).collect()
}

/// The NICs of slots, the first slot of each NIC before all second ones, and so on.
fn in_turn(nics: &[NicId]) -> Vec<NicId> {
    let mut turns: HashMap<NicId, usize> = HashMap::new();
    let turn = |&nic: &NicId| {
        let turn = turns.entry(nic).or_default();
        *turn += 1;
        (*turn, nic)
    };
    let mut slots: Vec<(usize, NicId)> = nics.iter().map(turn).collect();
    slots.sort_by_key(|&(turn, _)| turn);
    slots.into_iter().map(|(_, nic)| nic).collect()
}

fn host_file(lines: &[&str], hosts: &mut Hosts<'_>, sharing: Sharing) -> Result<Placement, Wrong> {
    let slots = lines.iter().enumerate().map(|(at, line)| {
        let (host, slots) = host_slots(line, hosts).map_err(|problem| (at, problem))?;
        Ok((host, slots.map(|slots| slots as usize)))
    });
    Slots(slots.collect::<Result<_, _>>()?).placement(sharing)
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
    let mut of_ranks: Vec<Option<Host>> = vec![None; lines.len()];
    for (at, line) in lines.iter().enumerate() {
        let wrong = |problem: String| (at, problem);
        let (rank, host) =
            rank_of(line).ok_or_else(|| wrong("a line is `rank N=HOST slot=…`".into()))?;
        let host = host.split_whitespace().next().unwrap_or("");
        let host = host.strip_prefix("+n").unwrap_or(host);
        match rank
            .parse::<usize>()
            .ok()
            .and_then(|rank| of_ranks.get_mut(rank))
        {
            Some(of @ None) => *of = Some(hosts.find(host).map_err(wrong)?),
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
    let of_ranks: Vec<Host> = of_ranks.into_iter().flatten().collect();
    Ok(Placement::List(spread(&of_ranks, sharing.places())))
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

/// The host of a line of a host file, and its slots.
fn host_slots(line: &str, hosts: &mut Hosts<'_>) -> Result<(Host, Option<u32>), String> {
    let number = |text: &str| {
        let slots = text.parse::<u32>();
        slots.map_err(|_| format!("{} is no number of slots, as in `slots=4`", quoted(text)))
    };
    // Open MPI allows blanks around the sign.
    let line = line.split('=').map(str::trim).collect::<Vec<_>>().join("=");
    let (name, options) = match line.find('=') {
        None => (&*line, ""),
        Some(sign) => line.split_at(line[..sign].rfind(char::is_whitespace).unwrap_or(0)),
    };
    let mut name = name.trim();
    let mut slots = None;
    if let Some((host, count)) = name.rsplit_once(':') {
        let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || hosts.topology.names().is_none() {
            slots = Some(number(count)?);
            name = host.trim();
            // Names of a topology may have colons. Elsewhere only IPv6 addresses do, and those in brackets can be told.
            if hosts.topology.names().is_none() && name.contains(':') && !name.ends_with(']') {
                return Err(format!(
                    "{} has a colon, so it is no host; write `HOST`, `HOST slots=N` or `HOST:N`, and an IPv6 address in brackets",
                    quoted(name)
                ));
            }
        }
    }
    for option in options.split_whitespace() {
        match option.split_once('=') {
            Some((key, count)) if COUNTS.contains(&key) && slots.is_none() => {
                slots = Some(number(count)?);
            }
            Some((key, _)) if COUNTS.contains(&key) => {
                return Err(format!(
                    "{} is a second number of slots; keep one",
                    quoted(option)
                ));
            }
            Some((key, _)) if UNREAD.contains(&key) => {}
            _ => return Err(not_known(option)),
        }
    }
    if name.is_empty() {
        return Err("names no host; write `HOST`, `HOST slots=N` or `HOST:N`".to_owned());
    }
    if hosts.topology.names().is_none()
        && let Some(word) = name.split_whitespace().nth(1)
    {
        return Err(not_known(word));
    }
    Ok((hosts.find(name)?, slots))
}

/// The error that `word` behind a host means nothing.
fn not_known(word: &str) -> String {
    format!(
        "{} is no option of a host; write `HOST`, `HOST slots=N` or `HOST:N`",
        quoted(word)
    )
}
