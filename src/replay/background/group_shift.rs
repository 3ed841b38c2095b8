//! Traffic from group to group: [`Pattern::GroupShift`](super::Pattern::GroupShift).

use super::pattern::{PatternError, bad};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::topology::Topology;
use std::collections::BTreeMap;

/// The destination of each NIC: the NIC at the same place of the group that is `shift` groups further.
pub(super) fn targets(topology: &Topology, shift: i64) -> Result<Vec<NicId>, PatternError> {
    let groups = groups(topology)?;
    let count = groups.len();
    let there = shift.rem_euclid(count as i64) as usize;
    if there == 0 {
        return bad(format!(
            "a shift of {shift} leads back to the sender's group, of {count}; take one that is no multiple of {count}"
        ));
    }
    let mut to: Vec<NicId> = topology.nic_ids().collect();
    for (group, nics) in groups.iter().enumerate() {
        let next = &groups[(group + there) % count];
        if nics.len() != next.len() {
            return bad(format!(
                "group_shift needs groups of equal size, and there are groups of {} and {} NICs; leave out `hosts`, \
                 or take whole groups",
                nics.len(),
                next.len()
            ));
        }
        for (nic, &target) in nics.iter().zip(next) {
            to[nic.index()] = target;
        }
    }
    Ok(to)
}

/// The NICs of each group that has any, ascending.
fn groups(topology: &Topology) -> Result<Vec<Vec<NicId>>, PatternError> {
    let mut groups: BTreeMap<u32, Vec<NicId>> = BTreeMap::new();
    for nic in topology.nic_ids() {
        let switch = topology.attachment(nic).switch;
        let Some(group) = topology.family().group(switch) else {
            return bad(
                "group_shift goes by the groups of a dragonfly, megafly, slim fly, tree, torus, mesh, hyperx or kns, and this \
                 topology has none; take { neighbour = 1 } with the number of NICs to shift by"
                    .to_owned(),
            );
        };
        groups.entry(group).or_default().push(nic);
    }
    Ok(groups.into_values().collect())
}
