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

#[cfg(test)]
mod tests {
    use super::*;
    use flitwise_fabric::topology::{Arrangement, DragonflySize};

    /// Five groups of two switches with two NICs each, of which `hosts` NICs are there.
    fn dragonfly(hosts: Option<u32>) -> Topology {
        let size = DragonflySize {
            p: 2,
            a: 2,
            h: 2,
            groups: None,
        };
        Topology::dragonfly(size, Arrangement::default(), hosts).unwrap()
    }

    fn numbers(topology: &Topology, shift: i64) -> Vec<u32> {
        let targets = targets(topology, shift).unwrap();
        targets.into_iter().map(NicId::get).collect()
    }

    #[test]
    fn every_nic_sends_to_its_place_in_another_group() {
        let all = dragonfly(None);
        for (shift, nics) in [(1, 4), (6, 4), (2, 8), (-1, 16)] {
            let expected: Vec<u32> = (0..20).map(|x| (x + nics) % 20).collect();
            assert_eq!(numbers(&all, shift), expected, "{shift}");
        }
        // Of three groups with NICs the last one sends to the first.
        let expected: Vec<u32> = (0..12).map(|x| (x + 4) % 12).collect();
        assert_eq!(numbers(&dragonfly(Some(12)), 1), expected);
        // Rows of a torus.
        let torus = Topology::cube(&[3, 4], true, 2, 1, None).unwrap();
        let expected: Vec<u32> = (0..24).map(|x| (x + 6) % 24).collect();
        assert_eq!(numbers(&torus, 1), expected);
    }

    #[test]
    fn where_it_is_not_defined_it_is_refused() {
        let refused =
            |topology: &Topology, shift| targets(topology, shift).unwrap_err().to_string();
        let none = refused(&Topology::single(8).unwrap(), 1);
        assert!(none.contains("this topology has none"), "{none}");
        for shift in [0, 5, -10] {
            let own = refused(&dragonfly(None), shift);
            assert!(own.contains("no multiple of 5"), "{own}");
        }
        let unequal = refused(&dragonfly(Some(10)), 1);
        assert!(unequal.contains("groups of 4 and 2 NICs"), "{unequal}");
    }
}
