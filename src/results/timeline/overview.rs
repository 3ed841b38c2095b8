//! The activities of the ranks in a bounded number of rows: the time of the run is divided into some hundred equal
//! slices, and a slice has a row for each activity. Many ranks are put together in groups of consecutive ones.
//!
//! The length of the run is not known before its end, so slices begin short; whenever there are too many, each two
//! become one.

use super::output::{Change, Message, Output, StreamTrack};
use crate::replay::Doing;
use flitwise_base::quote::csv_cell;
use flitwise_formats::sink::Sink;

const HEADER: [&str; 7] = [
    "job",
    "rank",
    "last_rank",
    "from_ps",
    "to_ps",
    "doing",
    "part",
];

/// Most slices. A run that is not short ends with more than half of this number.
const SLICES: usize = 512;
/// Most rows of ranks of all jobs, unless there are more jobs.
const GROUPS: usize = 128;
/// Length of the first slices.
const SHORTEST_PS: u64 = 1000;

/// Writes the parts that activities take of the time of ranks.
pub(super) struct Overview {
    out: csv::Writer<Sink>,
    slice_ps: u64,
    /// The activities, in the order of appearance.
    doings: Vec<&'static str>,
    tracks: Vec<Of>,
    /// Times by track until all tracks are known, then by group.
    groups: Vec<Group>,
}

/// A track.
struct Of {
    job: String,
    rank: u32,
    /// Index of its group, once that is known.
    group: usize,
}

/// Consecutive ranks of a job.
struct Group {
    job: String,
    ranks: [u32; 2],
    /// Its streams.
    tracks: u32,
    /// Picoseconds by slice and activity.
    times: Vec<Vec<u64>>,
}

impl Overview {
    pub(super) fn new(sink: Sink) -> anyhow::Result<Self> {
        let mut out = csv::Writer::from_writer(sink);
        out.write_record(HEADER)?;
        Ok(Self {
            out,
            slice_ps: SHORTEST_PS,
            doings: Vec::new(),
            tracks: Vec::new(),
            groups: Vec::new(),
        })
    }

    /// Puts the tracks known so far into groups. They are the tracks of the first streams, which all appear before
    /// anything happens; further streams join the group of their rank.
    fn group(&mut self) {
        let size = self.tracks.len().div_ceil(GROUPS).max(1);
        for track in &mut self.tracks {
            match self.groups.last_mut() {
                Some(group) if group.job == track.job && group.len() < size => {
                    group.ranks[1] = track.rank;
                }
                _ => self.groups.push(Group {
                    job: track.job.clone(),
                    ranks: [track.rank; 2],
                    tracks: 0,
                    times: Vec::new(),
                }),
            }
            track.group = self.groups.len() - 1;
            self.groups[track.group].tracks += 1;
        }
    }

    fn doing(&mut self, doing: Doing) -> usize {
        let name = doing.name();
        let known = self.doings.iter().position(|other| *other == name);
        known.unwrap_or_else(|| {
            self.doings.push(name);
            self.doings.len() - 1
        })
    }

    /// Lets the slices reach up to `ps`.
    fn reach(&mut self, ps: u64) {
        while ps.div_ceil(self.slice_ps) > SLICES as u64 {
            self.slice_ps = self.slice_ps.saturating_mul(2);
            for group in &mut self.groups {
                group.halve();
            }
        }
    }

    fn add(&mut self, group: usize, doing: usize, [from, to]: [u64; 2]) {
        self.reach(to);
        let slice_ps = self.slice_ps;
        let Some(group) = self.groups.get_mut(group) else {
            return;
        };
        let mut at = from;
        while at < to {
            let slice = at / slice_ps;
            let end = (slice + 1).saturating_mul(slice_ps).min(to);
            *group.time(slice as usize, doing) += end - at;
            at = end;
        }
    }
}

impl Group {
    fn len(&self) -> usize {
        (self.ranks[1] - self.ranks[0] + 1) as usize
    }

    fn time(&mut self, slice: usize, doing: usize) -> &mut u64 {
        if self.times.len() <= slice {
            self.times.resize(slice + 1, Vec::new());
        }
        let times = &mut self.times[slice];
        if times.len() <= doing {
            times.resize(doing + 1, 0);
        }
        &mut times[doing]
    }

    /// Makes one slice of each two.
    fn halve(&mut self) {
        let pairs = self.times.chunks(2);
        let joined = pairs.map(|pair| {
            let mut sum = pair[0].clone();
            for (doing, ps) in pair.get(1).into_iter().flatten().enumerate() {
                match sum.get_mut(doing) {
                    Some(sum) => *sum += ps,
                    None => sum.push(*ps),
                }
            }
            sum
        });
        self.times = joined.collect();
    }

    /// The activities of a slice from the longest on, and their parts of the time `all_ps` of all streams, as printed.
    fn parts(times: &[u64], all_ps: u128) -> impl Iterator<Item = (usize, String)> + '_ {
        let mut doings: Vec<usize> = (0..times.len()).collect();
        doings.sort_by_key(|&doing| std::cmp::Reverse(times[doing]));
        let part = move |doing: usize| {
            let part = times[doing] as f64 / all_ps.max(1) as f64;
            (doing, format!("{part:.3}"))
        };
        doings.into_iter().map(part)
    }
}

impl Output for Overview {
    fn track(&mut self, track: &StreamTrack<'_>) -> anyhow::Result<()> {
        let rank = track.of.rank.index() as u32;
        let mut of = Of {
            job: track.job.to_owned(),
            rank,
            group: 0,
        };
        // A further stream, later than the first ones.
        if !self.groups.is_empty() {
            let same = |group: &Group| {
                group.job == of.job && (group.ranks[0]..=group.ranks[1]).contains(&rank)
            };
            of.group = self.groups.iter().position(same).unwrap_or(usize::MAX);
            if let Some(group) = self.groups.get_mut(of.group) {
                group.tracks += 1;
            }
        }
        self.tracks.push(of);
        Ok(())
    }

    fn change(&mut self, ps: u64, change: &Change) -> anyhow::Result<()> {
        if self.groups.is_empty() {
            self.group();
        }
        if let (Some((since, doing)), Some(track)) = (change.from, self.tracks.get(change.track)) {
            let group = track.group;
            let doing = self.doing(doing);
            self.add(group, doing, [since, ps]);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>, end_ps: u64) -> anyhow::Result<()> {
        for group in &self.groups {
            for (slice, times) in group.times.iter().enumerate() {
                let from = slice as u64 * self.slice_ps;
                let to = from.saturating_add(self.slice_ps).min(end_ps.max(from + 1));
                let all_ps = u128::from(to - from) * u128::from(group.tracks);
                let parts = Group::parts(times, all_ps);
                for (doing, part) in parts.filter(|(_, part)| part != "0.000") {
                    self.out.write_record([
                        &*csv_cell(&group.job),
                        &group.ranks[0].to_string(),
                        &group.ranks[1].to_string(),
                        &from.to_string(),
                        &to.to_string(),
                        self.doings[doing],
                        &part,
                    ])?;
                }
            }
        }
        let sink = self.out.into_inner().map_err(|e| anyhow::anyhow!("{e}"))?;
        Ok(sink.finish()?)
    }
}

/// Two outputs of one timeline.
pub(super) struct Both {
    pub first: Box<dyn Output>,
    pub second: Box<dyn Output>,
}

impl Output for Both {
    fn track(&mut self, track: &StreamTrack<'_>) -> anyhow::Result<()> {
        self.first.track(track)?;
        self.second.track(track)
    }

    fn change(&mut self, ps: u64, change: &Change) -> anyhow::Result<()> {
        self.first.change(ps, change)?;
        self.second.change(ps, change)
    }

    fn sent(&mut self, ps: u64, message: &Message) -> anyhow::Result<()> {
        self.first.sent(ps, message)?;
        self.second.sent(ps, message)
    }

    fn delivered(&mut self, ps: u64, message: &Message) -> anyhow::Result<()> {
        self.first.delivered(ps, message)?;
        self.second.delivered(ps, message)
    }

    fn link(&mut self, name: &str) -> anyhow::Result<()> {
        self.first.link(name)?;
        self.second.link(name)
    }

    fn used(&mut self, span: [u64; 2], link: usize, part: f64) -> anyhow::Result<()> {
        self.first.used(span, link, part)?;
        self.second.used(span, link, part)
    }

    fn finish(self: Box<Self>, ps: u64) -> anyhow::Result<()> {
        self.first.finish(ps)?;
        self.second.finish(ps)
    }
}
