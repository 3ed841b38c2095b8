//! Turns what is observed of a run into events in the order of time.
//!
//! Only the state of a track at the end of a moment counts: a change is passed on when time advances, so that no
//! activity has length zero.

use super::output::{Change, Message, Output, StreamTrack};
use crate::fabric::ids::NicId;
use crate::fabric::topology::Names;
use crate::replay::program::{RankId, StreamId};
use crate::replay::{Doing, Sent, StreamOf};
use anyhow::{Context, anyhow};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of the ranks, messages and links at the current time.
#[derive(Default)]
pub(super) struct Tracker {
    now_ps: u64,
    jobs: Vec<Job>,
    tracks: Vec<Does>,
    /// Tracks of streams but the first.
    more: BTreeMap<StreamOf, usize>,
    /// Tracks that do something else from now on.
    changed: Vec<usize>,
    /// Messages in flight, by slot.
    messages: Vec<Option<Message>>,
    /// Messages so far.
    count: u64,
    /// The use of links in the last interval, as far as it has changed. It is kept until all events of the interval are
    /// known.
    used: Option<Used>,
}

struct Job {
    name: String,
    nics: Vec<NicId>,
    /// The operators' names of these NICs, if they have any.
    nic_names: Vec<String>,
    /// Track of the first stream of the first rank.
    first: usize,
}

#[derive(Clone, Default)]
struct Does {
    /// The activity that was passed on last, and since when it lasts.
    since: Option<(u64, Doing)>,
    now: Option<Doing>,
    /// The rank whose message ends this activity now.
    peer: Option<RankId>,
    /// The region of the activity that was passed on last, and the region now.
    regions: [Option<Arc<str>>; 2],
}

/// The names of `nics`; none without `names`.
fn label(names: Option<&Names>, nics: &[NicId]) -> Vec<String> {
    let all = names.into_iter().flat_map(|names| {
        let nics = nics.iter();
        nics.map(|&nic| names.nic_label(nic).to_owned())
    });
    all.collect()
}

struct Used {
    span: [u64; 2],
    parts: Vec<(usize, f64)>,
}

impl Tracker {
    pub(super) fn job(
        &mut self,
        job: u32,
        name: &str,
        nics: &[NicId],
        names: Option<&Names>,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        let first = self.tracks.len();
        self.jobs.push(Job {
            name: name.to_owned(),
            nics: nics.to_vec(),
            nic_names: label(names, nics),
            first,
        });
        let ranks = RankId::all(nics.len() as u32);
        for rank in ranks {
            let stream = StreamId::new(0);
            self.add(StreamOf { job, rank, stream }, output)?;
        }
        Ok(())
    }

    fn add(&mut self, of: StreamOf, output: &mut dyn Output) -> anyhow::Result<usize> {
        let job = self.jobs.get(of.job as usize).context(UNKNOWN)?;
        let track = StreamTrack {
            of,
            job: &job.name,
            nic: *job.nics.get(of.rank.index()).context(UNKNOWN)?,
            nic_name: job.nic_names.get(of.rank.index()).map(String::as_str),
        };
        output.track(&track)?;
        self.tracks.push(Does::default());
        Ok(self.tracks.len() - 1)
    }

    fn first_of(&self, of: StreamOf) -> anyhow::Result<usize> {
        let job = self.jobs.get(of.job as usize).context(UNKNOWN)?;
        Ok(job.first + of.rank.index())
    }

    fn track(&mut self, of: StreamOf, output: &mut dyn Output) -> anyhow::Result<usize> {
        if of.stream.index() == 0 {
            return self.first_of(of);
        }
        if let Some(&track) = self.more.get(&of) {
            return Ok(track);
        }
        let track = self.add(of, output)?;
        self.more.insert(of, track);
        Ok(track)
    }

    pub(super) fn stream(
        &mut self,
        ps: u64,
        of: StreamOf,
        doing: Doing,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        self.advance(ps, output)?;
        let at = self.track(of, output)?;
        let track = self.tracks.get_mut(at).context(UNKNOWN)?;
        track.now = Some(doing).filter(|&doing| doing != Doing::Ended);
        self.changed.push(at);
        Ok(())
    }

    pub(super) fn region(
        &mut self,
        ps: u64,
        of: StreamOf,
        name: Option<&str>,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        self.advance(ps, output)?;
        let at = self.track(of, output)?;
        let track = self.tracks.get_mut(at).context(UNKNOWN)?;
        track.regions[1] = name.map(Arc::from);
        self.changed.push(at);
        Ok(())
    }

    pub(super) fn waited_for(
        &mut self,
        ps: u64,
        of: StreamOf,
        peer: RankId,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        self.advance(ps, output)?;
        let at = self.track(of, output)?;
        self.tracks.get_mut(at).context(UNKNOWN)?.peer = Some(peer);
        self.changed.push(at);
        Ok(())
    }

    pub(super) fn sent(
        &mut self,
        ps: u64,
        slot: u32,
        sent: Sent,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        self.advance(ps, output)?;
        let track = |rank| {
            let stream = StreamId::new(0);
            let job = sent.job;
            self.first_of(StreamOf { job, rank, stream })
        };
        let message = Message {
            number: self.count,
            sent,
            sent_ps: self.now_ps,
            tracks: [track(sent.from)?, track(sent.to)?],
        };
        self.count += 1;
        let slot = slot as usize;
        if self.messages.len() <= slot {
            self.messages.resize(slot + 1, None);
        }
        self.messages[slot] = Some(message);
        output.sent(self.now_ps, &message)
    }

    pub(super) fn delivered(
        &mut self,
        ps: u64,
        slot: u32,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        self.advance(ps, output)?;
        let slot = self.messages.get_mut(slot as usize);
        let message = slot.and_then(Option::take);
        let message = message.ok_or_else(|| anyhow!("a message arrives that was not sent"))?;
        output.delivered(self.now_ps, &message)
    }

    /// Links were used for these parts of `span`. All events up to `known_ps` were seen, except those at
    /// that time.
    pub(super) fn links(
        &mut self,
        known_ps: u64,
        span: [u64; 2],
        parts: Vec<(usize, f64)>,
        output: &mut dyn Output,
    ) -> anyhow::Result<()> {
        self.advance(known_ps, output)?;
        self.show_used(output)?;
        self.used = (!parts.is_empty()).then_some(Used { span, parts });
        Ok(())
    }

    /// Ends the timeline; `ps` is the end of the run, as far as it is known. Returns when it ended.
    pub(super) fn end(&mut self, ps: u64, output: &mut dyn Output) -> anyhow::Result<u64> {
        self.advance(ps, output)?;
        self.show_changes(output)?;
        self.show_used(output)?;
        let mut open: Vec<usize> = (0..self.tracks.len()).collect();
        open.iter().for_each(|&at| self.tracks[at].now = None);
        std::mem::swap(&mut open, &mut self.changed);
        self.show_changes(output)?;
        Ok(self.now_ps)
    }

    /// Passes on what has changed before `ps`.
    fn advance(&mut self, ps: u64, output: &mut dyn Output) -> anyhow::Result<()> {
        if ps <= self.now_ps {
            return Ok(());
        }
        self.show_changes(output)?;
        if self.used.as_ref().is_some_and(|used| used.span[1] <= ps) {
            self.show_used(output)?;
        }
        self.now_ps = ps;
        Ok(())
    }

    fn show_changes(&mut self, output: &mut dyn Output) -> anyhow::Result<()> {
        // A track may have changed several times at this moment.
        self.changed.sort_unstable();
        self.changed.dedup();
        for track in self.changed.drain(..) {
            let does = &mut self.tracks[track];
            let from = does.since;
            if from.is_none() && does.now.is_none() {
                continue;
            }
            does.since = does.now.map(|doing| (self.now_ps, doing));
            let now = does.regions[1].clone().filter(|_| does.now.is_some());
            let before = std::mem::replace(&mut does.regions[0], now.clone());
            let change = Change {
                track,
                from,
                peer: does.peer.take(),
                to: does.now,
                regions: [before, now],
            };
            output.change(self.now_ps, &change)?;
        }
        Ok(())
    }

    fn show_used(&mut self, output: &mut dyn Output) -> anyhow::Result<()> {
        let Some(used) = self.used.take() else {
            return Ok(());
        };
        for (link, part) in used.parts {
            output.used(used.span, link, part)?;
        }
        Ok(())
    }
}

const UNKNOWN: &str = "a rank is seen that is in no job";
