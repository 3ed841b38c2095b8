//! The queues of the packets of an in-port (sections 2 and 15): which of the packets are heads.

use super::packet::PacketId;
use flitwise_fabric::spec::Voq;
use flitwise_fabric::spec::voq::{InputQueues, Isolation};
use std::collections::{BTreeMap, VecDeque};

/// A packet that waits in an in-port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub packet: PacketId,
    /// The queue of the (output, VL) that it is in as well.
    pub queue: usize,
    pub dst: u32,
    pub credits: u32,
}

/// A stop or a go for the sender of the link.
#[derive(Debug, Clone, Copy)]
pub struct Notice {
    pub vl: usize,
    pub dst: u32,
    pub stop: bool,
}

/// A congested-flow queue.
#[derive(Debug, Clone)]
struct Cfq {
    dst: u32,
    fifo: VecDeque<Waiting>,
    off: bool,
}

/// The queues of a VL that isolates flows.
#[derive(Debug, Clone)]
struct Isolating {
    vl: usize,
    queues: usize,
    detect: u32,
    stop: u32,
    go: u32,
    normal: VecDeque<Waiting>,
    /// The first packet of the normal FIFO is a head.
    has_head: bool,
    /// In the order in which they began.
    cfqs: Vec<Cfq>,
    joined_now: bool,
    ended_now: bool,
    /// The packet behind one of a CFQ that was granted in this tick.
    next: Option<Waiting>,
}

/// The FIFOs of an in-port.
#[derive(Debug, Clone)]
enum Organisation {
    /// Every packet requests as soon as it is the first of its (output, VL).
    VirtualOutput,
    /// A FIFO for each VL, or for each (VL, destination).
    Fifos {
        per_flow: bool,
        fifos: BTreeMap<(usize, u32), VecDeque<Waiting>>,
    },
    /// By VL.
    Isolating(Vec<Isolating>),
}

#[derive(Debug, Clone)]
pub struct Fifos {
    organisation: Organisation,
    /// The heads, in the order in which they became that.
    heads: Vec<Waiting>,
    /// Stops and goes to send.
    pub notices: Vec<Notice>,
}

impl Fifos {
    pub fn new(voq: &Voq, vls: usize) -> Self {
        let fifos = |per_flow| Organisation::Fifos {
            per_flow,
            fifos: BTreeMap::new(),
        };
        let organisation = match voq.input_queues {
            InputQueues::VirtualOutput => Organisation::VirtualOutput,
            InputQueues::Fifo => fifos(false),
            InputQueues::PerFlow => fifos(true),
            InputQueues::Isolating => {
                let settings = voq.isolation.as_ref().expect("checked");
                let vls = 0..vls;
                Organisation::Isolating(vls.map(|vl| Isolating::new(settings, vl)).collect())
            }
        };
        Self {
            organisation,
            heads: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Phase 4: a packet that came on VL `came_on` joins.
    pub fn join(&mut self, packet: Waiting, came_on: usize) {
        match &mut self.organisation {
            Organisation::VirtualOutput => {}
            Organisation::Fifos { per_flow, fifos } => {
                let flow = if *per_flow { packet.dst } else { 0 };
                let fifo = fifos.entry((came_on, flow)).or_default();
                fifo.push_back(packet);
                if fifo.len() == 1 {
                    self.heads.push(packet);
                }
            }
            Organisation::Isolating(vls) => {
                vls[came_on].normal.push_back(packet);
                vls[came_on].joined_now = true;
            }
        }
    }

    /// The heads that may request the (output, VL) of `queue`, in their order; `None` if its first packet
    /// does.
    pub fn heads(&self, queue: usize) -> Option<Vec<PacketId>> {
        let here = self.heads.iter().filter(|head| head.queue == queue);
        let ids = here.map(|head| head.packet);
        match &self.organisation {
            Organisation::VirtualOutput => None,
            Organisation::Fifos {
                per_flow: false, ..
            } => Some(ids.take(1).collect()),
            Organisation::Fifos { .. } | Organisation::Isolating(_) => Some(ids.collect()),
        }
    }

    /// All heads; `None` if every packet counts as one.
    pub fn all_heads(&self) -> Option<Vec<PacketId>> {
        let ids = self.heads.iter().map(|head| head.packet);
        (!matches!(self.organisation, Organisation::VirtualOutput)).then(|| ids.collect())
    }

    /// Phase 6: a head is granted.
    pub fn leave(&mut self, packet: PacketId) {
        self.heads.retain(|head| head.packet != packet);
        match &mut self.organisation {
            Organisation::VirtualOutput => {}
            Organisation::Fifos { fifos, .. } => {
                for fifo in fifos.values_mut() {
                    if fifo.front().is_some_and(|head| head.packet == packet) {
                        fifo.pop_front();
                        self.heads.extend(fifo.front());
                    }
                }
            }
            Organisation::Isolating(vls) => {
                for vl in vls {
                    vl.leave(packet, &mut self.notices);
                }
            }
        }
    }

    /// Phase 4, after the last packet has joined. `stopped(queue, dst)`: no packet for `dst` may go to
    /// the (output, VL) of `queue`.
    pub fn sort_joined(&mut self, stopped: &dyn Fn(usize, u32) -> bool) {
        if let Organisation::Isolating(vls) = &mut self.organisation {
            for vl in vls {
                let detects = std::mem::take(&mut vl.joined_now);
                vl.sort(detects, stopped, &mut self.heads, &mut self.notices);
            }
        }
    }

    /// The end of phase 6.
    pub fn sort_granted(&mut self, stopped: &dyn Fn(usize, u32) -> bool) {
        if let Organisation::Isolating(vls) = &mut self.organisation {
            for vl in vls {
                self.heads.extend(vl.next.take());
                let detects = std::mem::take(&mut vl.ended_now);
                vl.sort(detects, stopped, &mut self.heads, &mut self.notices);
            }
        }
    }
}

impl Isolating {
    fn new(settings: &Isolation, vl: usize) -> Self {
        Self {
            vl,
            queues: settings.queues as usize,
            detect: settings.detect[vl],
            stop: settings.stop[vl],
            go: settings.go[vl],
            normal: VecDeque::new(),
            has_head: false,
            cfqs: Vec::new(),
            joined_now: false,
            ended_now: false,
            next: None,
        }
    }

    fn leave(&mut self, packet: PacketId, notices: &mut Vec<Notice>) {
        let is_first =
            |fifo: &VecDeque<Waiting>| fifo.front().is_some_and(|head| head.packet == packet);
        if self.has_head && is_first(&self.normal) {
            self.normal.pop_front();
            self.has_head = false;
            return;
        }
        let Some(at) = self.cfqs.iter().position(|cfq| is_first(&cfq.fifo)) else {
            return;
        };
        let cfq = &mut self.cfqs[at];
        cfq.fifo.pop_front();
        if cfq.off && held(&cfq.fifo) <= self.go {
            cfq.off = false;
            notices.push(Notice {
                vl: self.vl,
                dst: cfq.dst,
                stop: false,
            });
        }
        match cfq.fifo.front() {
            Some(&next) => self.next = Some(next),
            None => {
                self.cfqs.remove(at);
                self.ended_now = true;
            }
        }
    }

    /// Sorting, with the rules of section 15.
    fn sort(
        &mut self,
        mut detects: bool,
        stopped: &dyn Fn(usize, u32) -> bool,
        heads: &mut Vec<Waiting>,
        notices: &mut Vec<Notice>,
    ) {
        while let Some(&first) = self.normal.front() {
            let existing = self.cfqs.iter().position(|cfq| cfq.dst == first.dst);
            let line_is_free = self.cfqs.len() < self.queues;
            let at = if let Some(at) = existing {
                assert!(!self.has_head, "its CFQ began before it became a head");
                at
            } else if line_is_free && stopped(first.queue, first.dst) {
                self.begin(first.dst)
            } else if line_is_free && detects && held(&self.normal) >= self.detect {
                detects = false;
                self.begin(first.dst)
            } else {
                break;
            };
            self.normal.pop_front();
            let was_head = std::mem::take(&mut self.has_head);
            let cfq = &mut self.cfqs[at];
            cfq.fifo.push_back(first);
            if cfq.fifo.len() == 1 && !was_head {
                heads.push(first);
            }
            if !cfq.off && held(&cfq.fifo) >= self.stop {
                cfq.off = true;
                notices.push(Notice {
                    vl: self.vl,
                    dst: cfq.dst,
                    stop: true,
                });
            }
        }
        if let Some(&first) = self.normal.front()
            && !std::mem::replace(&mut self.has_head, true)
        {
            heads.push(first);
        }
    }

    fn begin(&mut self, dst: u32) -> usize {
        self.cfqs.push(Cfq {
            dst,
            fifo: VecDeque::new(),
            off: false,
        });
        self.cfqs.len() - 1
    }
}

/// The credits of the packets in a FIFO.
fn held(fifo: &VecDeque<Waiting>) -> u32 {
    fifo.iter().map(|waiting| waiting.credits).sum()
}
