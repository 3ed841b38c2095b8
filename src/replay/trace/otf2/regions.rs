//! The regions of a program: what its ranks enter and leave outside of functions of MPI.
//!
//! A recorder may instrument every function, down to those that take nanoseconds. Each visit that a replay follows is two of
//! its operations, so that those with the shortest visits are left out where there are too many
//! ([`MAX_OTF2_VISITS`]): their computation counts for the region around them.

use crate::program::RegionId;
use crate::trace::regions::Regions;
use flitwise_base::units::{PS_PER_S, counted, human_count, human_time};
use flitwise_formats::limits::{MAX_OTF2_DEPTH, MAX_OTF2_VISITS, MAX_REGIONS};
use flitwise_formats::otf2::Archive;
use hashbrown::{HashMap, HashSet};

/// The visits of a region.
#[derive(Debug, Clone, Copy, Default)]
struct Visited {
    /// The regions that were entered before it for the first time.
    before: usize,
    visits: u64,
    /// From entries to exits, in ticks.
    ticks: u64,
}

impl Visited {
    /// Whether its visits are longer than the visits to `other`, on average.
    fn is_longer(&self, other: &Self) -> std::cmp::Ordering {
        let product = |ticks: u64, visits: u64| u128::from(ticks) * u128::from(visits);
        product(self.ticks, other.visits).cmp(&product(other.ticks, self.visits))
    }
}

/// A name, the visits of the regions that have it, and their numbers in the archive.
type Named<'a> = (&'a str, (Visited, Vec<u32>));

/// The visits of all regions, rank after rank.
#[derive(Debug, Default)]
pub(super) struct Visits {
    by_region: HashMap<u32, Visited>,
    /// Regions that the rank is in, each with the time of its entry.
    open: Vec<(u32, u64)>,
    /// Visits within these that are too deep, and the regions of such visits.
    deeper: u64,
    deep: HashSet<u32>,
}

impl Visits {
    /// The rank enters a region.
    pub fn enter(&mut self, region: u32, time: u64) {
        if self.open.len() == MAX_OTF2_DEPTH {
            self.deeper += 1;
            self.deep.insert(region);
            return;
        }
        let before = self.by_region.len();
        let new = Visited {
            before,
            ..Visited::default()
        };
        self.by_region.entry(region).or_insert(new).visits += 1;
        self.open.push((region, time));
    }

    /// The rank leaves a region.
    pub fn leave(&mut self, region: u32, time: u64) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let entered = self.open.iter().rposition(|(open, _)| *open == region);
        if let Some(at) = entered {
            let (_, since) = self.open.remove(at);
            self.took(region, time.saturating_sub(since));
        }
    }

    fn took(&mut self, region: u32, ticks: u64) {
        if let Some(visited) = self.by_region.get_mut(&region) {
            visited.ticks = visited.ticks.saturating_add(ticks);
        }
    }

    /// The rank ends at this time, which ends its visits.
    pub fn end_rank(&mut self, time: u64) {
        for (region, since) in std::mem::take(&mut self.open) {
            self.took(region, time.saturating_sub(since));
        }
        self.deeper = 0;
    }

    /// The regions of a replay of an archive with this many events of communication.
    pub fn choose(self, archive: &Archive, communication: u64) -> Chosen {
        let mut by_name: HashMap<&str, (Visited, Vec<u32>)> = HashMap::new();
        for (region, visited) in self.by_region {
            let name = archive.definitions().region_name(region);
            let Some(name) = name.filter(|name| !name.is_empty()) else {
                continue;
            };
            let (sum, regions) = by_name.entry(name).or_insert((visited, Vec::new()));
            if !regions.is_empty() {
                sum.before = sum.before.min(visited.before);
                sum.visits += visited.visits;
                sum.ticks = sum.ticks.saturating_add(visited.ticks);
            }
            regions.push(region);
        }
        let mut all: Vec<Named<'_>> = by_name.into_iter().collect();
        all.sort_by(|(a, (x, _)), (b, (y, _))| y.is_longer(x).then_with(|| a.cmp(b)));
        let most = communication.max(MAX_OTF2_VISITS);
        let mut visits = 0_u64;
        let fits = |(_, (visited, _)): &&Named<'_>| {
            visits = visits.saturating_add(visited.visits);
            visits <= most
        };
        let kept = all.iter().take(MAX_REGIONS).take_while(fits).count();
        let rest = all.split_off(kept);
        all.sort_by_key(|(_, (visited, _))| visited.before);
        let mut chosen = Chosen::new(&all, &rest, archive.definitions().ticks_per_second);
        let deep = self.deep.iter();
        let deep = deep.filter_map(|&region| archive.definitions().region_name(region));
        chosen.left_out.extend(deep.map(|name| (name.into(), 0)));
        let left_out = rest
            .iter()
            .map(|(name, (visited, _))| ((*name).into(), visited.visits));
        chosen.left_out.extend(left_out);
        chosen.most = most;
        chosen
    }
}

/// The regions that a replay follows.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub names: Regions,
    /// By their numbers in the archive, of which several may have one name.
    by_number: HashMap<u32, RegionId>,
    /// The visits of all of them.
    pub visits: u64,
    /// A text on the others, if there are any.
    pub others: Option<String>,
    /// The others, with their visits: 0 if all of these are too deep.
    left_out: HashMap<Box<str>, u64>,
    /// The most visits of all regions together.
    most: u64,
}

impl Chosen {
    fn new(kept: &[Named<'_>], rest: &[Named<'_>], ticks_per_second: u64) -> Self {
        let mut chosen = Self::default();
        for (name, (visited, numbers)) in kept {
            // There are no more names than that.
            if chosen.names.add(name).is_err() {
                continue;
            }
            chosen.visits += visited.visits;
            if let Some(id) = chosen.names.id(name) {
                let numbers = numbers.iter().map(|&number| (number, id));
                chosen.by_number.extend(numbers);
            }
        }
        let visits: u64 = rest.iter().map(|(_, (visited, _))| visited.visits).sum();
        let ticks: u128 = (rest.iter().map(|(_, (one, _))| u128::from(one.ticks))).sum();
        let ps = ticks * u128::from(PS_PER_S) / u128::from(ticks_per_second.max(1));
        let mean = u64::try_from(ps / u128::from(visits.max(1))).unwrap_or(u64::MAX);
        chosen.others = (!rest.is_empty()).then(|| {
            format!(
                "{} followed; {} with shorter visits ({} of {} on average) count as part of the regions around them",
                human_count(kept.len() as u64),
                human_count(rest.len() as u64),
                human_count(visits),
                human_time(mean)
            )
        });
        chosen
    }

    /// The reason why a replay does not follow a region of the archive, and the cure.
    pub fn why_not(&self, name: &str) -> Option<String> {
        let visits = *self
            .left_out
            .get(name)
            .filter(|_| self.names.id(name).is_none())?;
        let why = match visits {
            0 => format!(
                "it is entered within {} other regions, and those within more are not followed",
                human_count(MAX_OTF2_DEPTH as u64)
            ),
            _ => format!(
                "its {} are too short: a replay follows at most {} regions, those with the longest visits, and {} visits of all",
                counted(visits, "visit"),
                human_count(MAX_REGIONS as u64),
                human_count(self.most)
            ),
        };
        Some(format!(
            "{why}; take a region around it, or record again with a filter (Score-P: SCOREP_FILTERING_FILE) that leaves other \
             functions out"
        ))
    }

    /// The region with this number in the archive, if a replay follows it.
    pub fn id(&self, number: u32) -> Option<RegionId> {
        self.by_number.get(&number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Archive, MAX_OTF2_DEPTH, MAX_OTF2_VISITS, Visited, Visits};

    #[test]
    fn visits_are_counted_with_their_time() {
        let mut visits = Visits::default();
        visits.enter(7, 100);
        visits.enter(8, 200);
        // Without an entry an exit counts nothing.
        visits.leave(9, 250);
        visits.leave(8, 300);
        visits.enter(8, 400);
        visits.end_rank(1000);
        visits.enter(7, 0);
        visits.leave(7, 1);
        let of = |region| {
            let Visited { visits, ticks, .. } = visits.by_region[&region];
            (visits, ticks)
        };
        assert_eq!((of(7), of(8)), ((2, 901), (2, 700)));
        assert_eq!(visits.by_region[&8].before, 1);
        assert!(!visits.by_region.contains_key(&9));
    }

    #[test]
    fn regions_with_the_shortest_visits_are_left_out() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/corpus/otf2/regions"
        );
        let archive = Archive::open(path).unwrap();
        let number = |name: &str| {
            let is = |region: &u32| archive.definitions().region_name(*region) == Some(name);
            (0..20).find(is).unwrap()
        };
        let chosen = |dots: u64, communication: u64| {
            let mut visits = Visits::default();
            visits.enter(number("main"), 0);
            visits.enter(number("solve"), 10);
            for i in 0..dots {
                visits.enter(number("dot"), 100 + 2 * i);
                visits.leave(number("dot"), 101 + 2 * i);
            }
            visits.end_rank(10 * dots);
            visits.choose(&archive, communication)
        };
        let all = chosen(100, 0);
        let names: Vec<&str> = all.names.names().iter().map(|name| &**name).collect();
        assert_eq!(names, ["main", "solve", "dot"]);
        assert_eq!((all.visits, &all.others), (102, &None));
        let some = chosen(MAX_OTF2_VISITS, 0);
        assert_eq!((some.visits, some.id(number("dot"))), (2, None));
        assert_eq!(
            some.why_not("dot").unwrap(),
            "its 1,048,576 visits are too short: a replay follows at most 65,536 regions, those with the longest visits, and \
             1,048,576 visits of all; take a region around it, or record again with a filter (Score-P: SCOREP_FILTERING_FILE) \
             that leaves other functions out"
        );
        assert_eq!((some.why_not("solve"), some.why_not("dto")), (None, None));
        let others = some.others.unwrap();
        assert_eq!(
            others,
            "2 followed; 1 with shorter visits (1,048,576 of 1.000 ns on average) count as part of the regions around them"
        );
        // With as much communication it is not many.
        let many = chosen(MAX_OTF2_VISITS, MAX_OTF2_VISITS + 2);
        assert_eq!(many.visits, MAX_OTF2_VISITS + 2);
    }

    #[test]
    fn visits_too_deep_are_part_of_those_around_them() {
        let mut visits = Visits::default();
        let deep = MAX_OTF2_DEPTH as u64 + 10;
        for time in 0..deep {
            visits.enter(1, time);
        }
        for time in deep..2 * deep {
            visits.leave(1, time);
        }
        assert_eq!(visits.by_region[&1].visits, MAX_OTF2_DEPTH as u64);
        assert!(visits.open.is_empty() && visits.deeper == 0);
        // One that is only ever too deep has no visits, but is not unknown.
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/corpus/otf2/regions"
        );
        let archive = Archive::open(path).unwrap();
        let named = |name: &str| {
            let is = |region: &u32| archive.definitions().region_name(*region) == Some(name);
            (0..20).find(is).unwrap()
        };
        let (main, dot) = (named("main"), named("dot"));
        let mut visits = Visits::default();
        (0..MAX_OTF2_DEPTH as u64).for_each(|time| visits.enter(main, time));
        visits.enter(dot, deep);
        visits.end_rank(deep + 1);
        let chosen = visits.choose(&archive, 0);
        let why = chosen.why_not("dot").unwrap();
        assert!(why.starts_with("it is entered within"), "{why}");
        assert_eq!(chosen.why_not("main"), None);
    }
}
