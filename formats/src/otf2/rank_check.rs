//! Checks the events of one rank.

use std::collections::BTreeMap;

use hashbrown::HashSet;

use super::archive::Archive;
use super::called::Called;
use super::check::{Counts, Function, Names};
use super::comm::View;
use super::event::Event;
use super::reader::Stamped;
use crate::limits::{MAX_OTF2_DEPTH, MAX_REQUESTS};

/// The progress through the events of a rank.
pub(super) struct RankCheck<'a> {
    archive: &'a Archive,
    view: View,
    /// The functions of MPI that the rank is in, and whether each has communicated.
    inside: Vec<(u32, bool)>,
    /// Posted receives and collectives that are not complete.
    receives: HashSet<u64>,
    collectives: HashSet<u64>,
    begun: u64,
    last: u64,
    counts: Counts,
}

impl<'a> RankCheck<'a> {
    pub fn new(archive: &'a Archive, rank: u32) -> Self {
        Self {
            archive,
            view: archive.view(rank),
            inside: Vec::new(),
            receives: HashSet::new(),
            collectives: HashSet::new(),
            begun: 0,
            last: 0,
            counts: Counts::default(),
        }
    }

    /// The next event; else what is wrong with it.
    pub fn event(
        &mut self,
        next: &Stamped,
        functions: &mut BTreeMap<u32, Function>,
    ) -> Result<(), String> {
        self.counts.events += 1;
        if next.time < self.last {
            self.last = next.time;
            return Err("is before the event before it; record the program again".to_owned());
        }
        self.last = next.time;
        if next.event.is_communication()
            && let Some((_, communicates)) = self.inside.last_mut()
        {
            *communicates = true;
        }
        match next.event {
            Event::Enter(region) => return self.enter(region),
            Event::Leave(region) => return self.leave(region, functions),
            _ => {}
        }
        self.count(&next.event)?;
        match Names::of(&next.event) {
            Names::Nothing => Ok(()),
            Names::Message(message) => {
                let comms = self.archive.comms();
                self.view.get(comms, message.comm)?.peer(message.peer)?;
                Ok(())
            }
            Names::Collective(call) => {
                let comms = self.archive.comms();
                let Ok(operation) = call.operation else {
                    return Ok(());
                };
                let seen = self.view.get(comms, call.comm)?;
                if operation.has_root() && seen.others.is_none() {
                    seen.root(call.root)?;
                }
                Ok(())
            }
        }
    }

    fn enter(&mut self, region: u32) -> Result<(), String> {
        match self.archive.called(region) {
            Called::Computation => return Ok(()),
            Called::File => self.counts.files += u64::from(self.inside.is_empty()),
            _ => {}
        }
        if self.inside.len() >= MAX_OTF2_DEPTH {
            return Err(format!("calls MPI more than {MAX_OTF2_DEPTH} deep"));
        }
        self.inside.push((region, false));
        Ok(())
    }

    fn leave(
        &mut self,
        region: u32,
        functions: &mut BTreeMap<u32, Function>,
    ) -> Result<(), String> {
        if !self.archive.called(region).is_mpi() {
            return Ok(());
        }
        match self.inside.pop() {
            Some((entered, communicates)) if entered == region => {
                let function = functions.entry(region).or_default();
                function.calls += 1;
                function.without_event += u64::from(!communicates);
                Ok(())
            }
            Some((entered, _)) => Err(format!(
                "leaves {}, but is in {}; record the program again",
                self.archive.region(region),
                self.archive.region(entered)
            )),
            // The recording was switched on within the call.
            None if self.counts.switched_off > 0 => Ok(()),
            None => Err(format!(
                "leaves {}, but has not entered it; record the program again",
                self.archive.region(region)
            )),
        }
    }

    fn count(&mut self, event: &Event) -> Result<(), String> {
        let counts = &mut self.counts;
        match *event {
            Event::Send(message) | Event::Isend(message, _) => {
                counts.sends += 1;
                counts.send_bytes = counts.send_bytes.saturating_add(message.bytes);
            }
            Event::IrecvRequest(request) | Event::ImrecvRequest(_, request) => {
                self.receives.insert(request);
            }
            Event::Recv(_) | Event::Mrecv(_) => counts.receives += 1,
            Event::Irecv(_, request) | Event::Imrecv(request) => {
                counts.receives += 1;
                if !self.receives.remove(&request) {
                    return Err(format!(
                        "completes request {request}, but no receive with it is posted"
                    ));
                }
            }
            Event::RequestCancelled(request) => {
                counts.cancelled += 1;
                self.receives.remove(&request);
            }
            Event::CollectiveBegin => self.begun += 1,
            Event::CollectiveEnd(_) => {
                counts.collectives += 1;
                self.begun = self.begun.saturating_sub(1);
            }
            Event::CollectiveRequest(request) => {
                self.collectives.insert(request);
            }
            Event::CollectiveComplete(_, request) => {
                counts.collectives += 1;
                counts.immediate += 1;
                if !self.collectives.remove(&request) {
                    return Err(format!(
                        "completes request {request}, but no collective with it has begun"
                    ));
                }
            }
            Event::OneSided => counts.one_sided += 1,
            Event::Measurement { on: false } => counts.switched_off += 1,
            _ => {}
        }
        if self.receives.len() + self.collectives.len() > MAX_REQUESTS {
            return Err(format!(
                "has more than {MAX_REQUESTS} requests under way, which are not followed"
            ));
        }
        Ok(())
    }

    /// The counts at the end of the rank. Functions that it is still in count as well.
    pub fn finish(mut self, functions: &mut BTreeMap<u32, Function>) -> Counts {
        for (region, _) in self.inside {
            functions.entry(region).or_default().calls += 1;
        }
        self.counts.open_receives = self.receives.len() as u64;
        self.counts.open_collectives = self.begun + self.collectives.len() as u64;
        self.counts
    }
}
