//! The process groups of a trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use serde_json::Value as Json;

use crate::limits::MAX_COMM_MEMBERS;

/// A process group: the ranks of a collective.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Group {
    /// Its name; empty for all ranks where the trace has no name.
    pub name: Arc<str>,
    /// Its ranks, in the order of the trace.
    pub members: Arc<[u32]>,
}

/// The groups of a trace that collectives name.
#[derive(Debug)]
pub(super) struct Groups {
    ranks: u32,
    /// The groups of the file beside the trace.
    shared: BTreeMap<String, Arc<[u32]>>,
    list: Vec<Group>,
    numbers: HashMap<Group, u32>,
    /// The groups of channels from 1 on, by the group and the channel.
    channels: HashMap<(u32, u32), u32>,
    /// Members of all groups together.
    members: usize,
}

/// The groups that the nodes of one rank define, by name.
pub(super) type Defined = HashMap<String, Arc<[u32]>>;

impl Groups {
    pub fn new(ranks: u32, shared: BTreeMap<String, Vec<u32>>) -> Self {
        let shared = shared.into_iter();
        Self {
            ranks,
            shared: shared.map(|(name, ranks)| (name, ranks.into())).collect(),
            list: Vec::new(),
            numbers: HashMap::new(),
            channels: HashMap::new(),
            members: 0,
        }
    }

    /// The number of the group that a collective of `rank` names, which has this rank.
    pub fn number(&mut self, rank: u32, name: &str, own: &Defined) -> Result<u32, String> {
        let known = own.get(name).or_else(|| self.shared.get(name));
        let members = match known {
            Some(members) if !members.is_empty() => Arc::clone(members),
            Some(_) => self.all(),
            // As in ASTRA-sim.
            None if name.is_empty() || name == "0" => self.all(),
            None => {
                return Err(format!(
                    "process group `{name}` is not defined; add the node `process_group:init` to the file, or `comm_group.json` \
                     with {{\"{name}\": [ranks]}} beside it"
                ));
            }
        };
        let group = Group {
            name: name.into(),
            members,
        };
        let number = match self.numbers.get(&group) {
            Some(number) => *number,
            None => self.add(group)?,
        };
        let members = self.list.get(number as usize).map(|group| &group.members);
        if members.is_some_and(|members| members.contains(&rank)) {
            return Ok(number);
        }
        Err(format!(
            "rank {rank} is not in process group `{name}`, whose collective it calls; correct the group"
        ))
    }

    fn all(&self) -> Arc<[u32]> {
        let has_all = |group: &&Group| group.members.len() == self.ranks as usize;
        match self.list.iter().find(has_all) {
            Some(group) if group.members.is_sorted() => Arc::clone(&group.members),
            _ => (0..self.ranks).collect(),
        }
    }

    fn add(&mut self, group: Group) -> Result<u32, String> {
        let mut sorted = group.members.to_vec();
        sorted.sort_unstable();
        let (name, ranks) = (&group.name, self.ranks);
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(format!(
                "process group `{name}` has a rank twice; correct it"
            ));
        }
        if let Some(rank) = sorted.last().filter(|rank| **rank >= ranks) {
            return Err(format!(
                "process group `{name}` has rank {rank}, but the trace has the ranks 0 to {}; add the missing files",
                ranks.saturating_sub(1)
            ));
        }
        let number = self.push(group.clone())?;
        self.numbers.insert(group, number);
        Ok(number)
    }

    fn push(&mut self, group: Group) -> Result<u32, String> {
        self.members += group.members.len();
        if self.members > MAX_COMM_MEMBERS {
            return Err(format!(
                "process groups of more than {MAX_COMM_MEMBERS} ranks in all, in every channel"
            ));
        }
        self.list.push(group);
        Ok(self.list.len() as u32 - 1)
    }

    /// The number of the group that carries out a channel of the operations of group `number`. Its consecutive members on one node, by
    /// the `nodes` of all ranks, are turned by `channel` places: another one is next to the other nodes.
    pub fn channel(&mut self, number: u32, channel: u32, nodes: &[u32]) -> Result<u32, String> {
        if channel == 0 {
            return Ok(number);
        }
        if let Some(known) = self.channels.get(&(number, channel)) {
            return Ok(*known);
        }
        let group = self.list.get(number as usize).ok_or("no process group")?;
        let node = |rank: u32| {
            nodes
                .get(rank as usize)
                .map_or((1, rank), |&node| (0, node))
        };
        let mut members = group.members.to_vec();
        for of_node in members.chunk_by_mut(|a, b| node(*a) == node(*b)) {
            of_node.rotate_left(channel as usize % of_node.len());
        }
        let turned = Group {
            name: Arc::clone(&group.name),
            members: members.into(),
        };
        let found = self.push(turned)?;
        self.channels.insert((number, channel), found);
        Ok(found)
    }

    /// The group with this number.
    pub fn get(&self, number: u32) -> Option<&Group> {
        self.list.get(number as usize)
    }

    /// The rank at a position of a group.
    pub fn rank(&self, number: u32, position: u32) -> Option<u32> {
        let group = self.list.get(number as usize)?;
        group.members.get(position as usize).copied()
    }

    /// The position of a rank in a group.
    pub fn position(&self, number: u32, rank: u64) -> Option<u32> {
        let members = &self.list.get(number as usize)?.members;
        let position = members
            .iter()
            .position(|member| u64::from(*member) == rank)?;
        u32::try_from(position).ok()
    }

    pub fn finish(self) -> Arc<[Group]> {
        self.list.into()
    }
}

/// Adds the groups that the inputs of a metadata node define: a list in JSON, in a text of Python. Other inputs do not matter.
pub(super) fn define(inputs: &str, defined: &mut Defined) -> Result<(), String> {
    if !inputs.contains("pg_name") {
        return Ok(());
    }
    let list = inputs.find("[{").zip(inputs.rfind("}]"));
    let list = list.and_then(|(start, end)| inputs.get(start..end + 2));
    let groups = list.and_then(|list| serde_json::from_str::<Vec<Json>>(list).ok());
    let group = |group: &Json| -> Option<(String, Arc<[u32]>)> {
        let name = match group.get("pg_name")? {
            Json::String(name) => name.clone(),
            name => name.as_u64()?.to_string(),
        };
        let ranks = group.get("ranks")?.as_array()?.iter();
        let ranks = ranks.map(|rank| u32::try_from(rank.as_u64()?).ok());
        Some((name, ranks.collect::<Option<_>>()?))
    };
    for one in groups.ok_or(NO_GROUPS)? {
        let (name, ranks) = group(&one).ok_or(NO_GROUPS)?;
        defined.insert(name, ranks);
    }
    Ok(())
}

const NO_GROUPS: &str = "its inputs are no list of process groups, [{\"pg_name\": \"1\", \"ranks\": [0, 1]}] in JSON; correct them";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_turn_the_members_of_each_node() {
        let shared = [("a", vec![0, 1, 2, 3, 4, 5, 6, 7]), ("b", vec![1, 5])];
        let shared = shared.map(|(name, ranks)| (name.to_owned(), ranks));
        let mut groups = Groups::new(8, shared.into());
        let none = Defined::new();
        let a = groups.number(0, "a", &none).unwrap();
        let b = groups.number(1, "b", &none).unwrap();
        let nodes = [0, 0, 0, 0, 9, 9, 9, 9];
        let mut members = |group, channel| {
            let turned = groups.channel(group, channel, &nodes).unwrap();
            assert_eq!(groups.channel(group, channel, &nodes), Ok(turned));
            groups.list[turned as usize].members.to_vec()
        };
        assert_eq!(members(a, 0), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(members(a, 1), [1, 2, 3, 0, 5, 6, 7, 4]);
        assert_eq!(members(a, 6), [2, 3, 0, 1, 6, 7, 4, 5]);
        assert_eq!(members(b, 1), [1, 5]);
    }
}
