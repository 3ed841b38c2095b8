//! Messages on their way: through a fabric without contention, or inside a node.

use super::outcome::Sent;
use super::world::{Owner, Part, World};
use flitwise::replay::program::RankId;

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    pub from: RankId,
    pub to: RankId,
    pub bytes: u64,
    pub purpose: Purpose,
    /// What is complete when the message is injected.
    pub when_injected: Option<Owner>,
    /// What is complete when the message has arrived.
    pub when_arrived: Option<Owner>,
}

/// What a message is for. Numbers are positions in `World::sends`.
#[derive(Debug, Clone)]
pub enum Purpose {
    /// A message with an id.
    WithId(u64),
    /// An eager message or a request to send.
    Envelope(usize),
    /// A clear to send.
    Clear(usize),
    /// The payload of a rendezvous.
    Payload(usize),
    /// A step of a collective.
    Part(Part),
}

/// Something that will be noted.
#[derive(Debug, Clone, Copy)]
pub struct Report {
    pub at_ps: u64,
    /// Position in `World::messages`.
    pub message: usize,
    pub kind: ReportKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    Injected,
    Arrived,
}

impl World<'_> {
    /// Sends a message now.
    pub fn send(&mut self, message: Message) {
        let [src, dst] = [message.from, message.to].map(|rank| self.case.nics[rank.index()]);
        let bytes = message.bytes;
        let (injected_ps, arrived_ps) = if src == dst {
            self.outcome.intra_node_messages += 1;
            let node = self.case.intra_node;
            // Bytes over bytes per second, in picoseconds, rounded up.
            let dividend =
                u128::from(bytes) * u128::from(node.bytes_per_s.den()) * 1_000_000_000_000;
            let copy_ps = dividend.div_ceil(node.bytes_per_s.num().into()) as u64;
            let injected_ps = self.now_ps + copy_ps;
            (injected_ps, injected_ps + node.latency_ps)
        } else {
            let length = self.case.tick;
            let tick = length.ticks(self.now_ps);
            self.outcome.fabric.push(Sent {
                tick,
                src,
                dst,
                bytes,
            });
            let [injected, arrived] = super::fabric::reports(tick, bytes);
            (length.ps(injected), length.ps(arrived))
        };
        self.count_message(&message, src == dst, arrived_ps);
        self.outcome.bytes += bytes;
        let number = self.messages.len();
        if message.when_injected.is_some() {
            self.reports.push(Report {
                at_ps: injected_ps,
                message: number,
                kind: ReportKind::Injected,
            });
        }
        self.reports.push(Report {
            at_ps: arrived_ps,
            message: number,
            kind: ReportKind::Arrived,
        });
        self.messages.push(message);
    }

    fn count_message(&mut self, message: &Message, inside: bool, arrived_ps: u64) {
        self.count_if(inside, "message inside a node");
        self.count_if(!inside, "message through the fabric");
        self.count_if(arrived_ps == self.now_ps, "message that takes no time");
        self.count_if(message.from == message.to, "message to oneself");
    }

    /// Notes everything that has arrived or left by now.
    pub fn note_reports(&mut self) {
        let (due, later): (Vec<Report>, Vec<Report>) = self
            .reports
            .iter()
            .partition(|report| report.at_ps <= self.now_ps);
        self.reports = later;
        for report in due {
            let message = self.messages[report.message].clone();
            match report.kind {
                ReportKind::Injected => self.complete(message.when_injected),
                ReportKind::Arrived => self.note_arrival(message),
            }
        }
    }

    fn note_arrival(&mut self, message: Message) {
        self.touch(message.to);
        match message.purpose {
            Purpose::WithId(id) => {
                self.received.push(id);
            }
            Purpose::Envelope(send) => self.envelope_arrived(send),
            Purpose::Clear(send) => self.sends[send].clear_arrived = true,
            Purpose::Payload(send) => {
                let receive = self.sends[send].receive.expect("a payload has a receive");
                let owner = self.receives[receive].owner;
                self.complete(Some(owner));
            }
            Purpose::Part(part) => self.parts.push(part),
        }
        self.complete(message.when_arrived);
    }
}
