//! Whom a constructor of communicators puts together.

use super::communicators::Resolved;
use super::groups::Members;
use super::history::Construction;
use crate::program::RankId;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// A new communicator.
pub(super) struct New {
    pub members: Vec<RankId>,
    /// The other side.
    pub others: Option<Vec<RankId>>,
    pub dims: Option<Box<[i32]>>,
}

/// The communicators that one constructor makes, of which no rank is in two; none if their members are not known.
#[derive(Default)]
pub(super) struct Made(pub Vec<New>);

impl Made {
    pub fn one(members: Vec<RankId>, dims: Option<Box<[i32]>>) -> Self {
        Self(vec![New {
            members,
            others: None,
            dims,
        }])
    }

    pub fn between(one: &Members, other: &Members) -> Self {
        Self(vec![New {
            members: one.to_vec(),
            others: Some(other.to_vec()),
            dims: None,
        }])
    }

    /// A duplicate of a communicator between groups.
    pub fn both_sides(parent: &Resolved) -> Self {
        match &parent.others {
            Some(others) => Self::between(&parent.own.members, &others.members),
            None => Self::default(),
        }
    }

    fn several(all: impl IntoIterator<Item = Vec<RankId>>, dims: Option<&[i32]>) -> Self {
        let one = |members| New {
            members,
            others: None,
            dims: dims.map(Box::from),
        };
        Self(all.into_iter().map(one).collect())
    }
}

/// Members of one colour each, by key, then by rank.
pub(super) fn split(parent: &Resolved, constructions: &[Construction], excluded: &[bool]) -> Made {
    let mut colors: BTreeMap<i32, Vec<(i32, usize)>> = BTreeMap::new();
    for (at, construction) in constructions.iter().enumerate() {
        if let (Construction::Split { color, key, .. }, false) = (construction, excluded[at]) {
            colors.entry(*color).or_default().push((*key, at));
        }
    }
    let members = &parent.own.members;
    let of_color = |mut all: Vec<(i32, usize)>| {
        all.sort_unstable();
        all.into_iter().map(|(_, at)| members[at]).collect()
    };
    Made::several(colors.into_values().map(of_color), None)
}

/// The groups that ranks passed, each once.
pub(super) fn create(groups: Vec<Option<Members>>, ranks: &[RankId], excluded: &[bool]) -> Made {
    let mut seen: HashMap<Members, ()> = HashMap::new();
    let mut made = Vec::new();
    for (at, group) in groups.into_iter().enumerate() {
        let Some(group) = group.filter(|group| !excluded[at] && group.contains(&ranks[at])) else {
            continue;
        };
        if seen.insert(group.clone(), ()).is_none() {
            made.push(group.to_vec());
        }
    }
    Made::several(made, None)
}

/// The first ranks, as many as a grid of these dimensions has places.
pub(super) fn first(parent: &Resolved, sizes: &[i32], dims: Option<Box<[i32]>>) -> Made {
    let places = sizes.iter().try_fold(1_usize, |places, &size| {
        places.checked_mul(usize::try_from(size).ok()?)
    });
    let members = &parent.own.members;
    match places.and_then(|places| members.get(..places)) {
        Some(members) => Made::one(members.to_vec(), dims),
        None => Made::default(),
    }
}

/// Members of a grid whose coordinates are equal in the dimensions that are not kept.
pub(super) fn cart_subs(parent: &Resolved, keep: &[bool]) -> Made {
    let Some(dims) = parent
        .dims
        .as_deref()
        .filter(|dims| dims.len() == keep.len())
    else {
        return Made::default();
    };
    let mut subs: BTreeMap<Vec<i32>, Vec<RankId>> = BTreeMap::new();
    for (at, &rank) in parent.own.members.iter().enumerate() {
        // The last dimension varies fastest.
        let (mut rest, mut dropped) = (at, Vec::new());
        for (&size, keep) in dims.iter().zip(keep).rev() {
            let size = usize::try_from(size).unwrap_or(1).max(1);
            if !keep {
                dropped.push((rest % size) as i32);
            }
            rest /= size;
        }
        dropped.reverse();
        subs.entry(dropped).or_default().push(rank);
    }
    let kept = dims.iter().zip(keep).filter(|(_, keep)| **keep);
    let kept: Vec<i32> = kept.map(|(&size, _)| size).collect();
    Made::several(subs.into_values(), Some(&kept))
}

/// Puts each member that was told its rank there, and the others in the places that are left, in their order.
///
/// # Errors
/// A rank that was told a place that is taken or does not exist, and the place.
pub(super) fn settle(members: &[RankId], said: &[Option<i32>]) -> Result<Members, (RankId, i32)> {
    let mut places: Vec<Option<RankId>> = vec![None; members.len()];
    for (&rank, said) in members.iter().zip(said) {
        let Some(said) = *said else { continue };
        let place = usize::try_from(said).ok().and_then(|at| places.get_mut(at));
        match place {
            Some(place @ None) => *place = Some(rank),
            _ => return Err((rank, said)),
        }
    }
    let unsaid = members.iter().zip(said).filter(|(_, said)| said.is_none());
    let mut unsaid = unsaid.map(|(&rank, _)| rank);
    Ok(places
        .into_iter()
        .filter_map(|place| place.or_else(|| unsaid.next()))
        .collect())
}
