//! Messages on their way: through a fabric without contention, or inside a node.

use super::node::Part;
use super::outcome::Sent;
use super::world::{Owner, Part as Step, World};
use flitwise::replay::program::RankId;

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    pub from: RankId,
    pub to: RankId,
    pub bytes: u64,
    /// How many NICs behind its own the sender takes one; 0: the usual NICs.
    pub nic: u8,
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
    Part(Step),
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
    /// At this NIC of the receiver's node, as this message of the sender to other nodes.
    AtNode {
        number: u64,
        nic: u32,
    },
}

impl World<'_> {
    /// Sends a message now.
    pub fn send(&mut self, message: Message) {
        let bytes = message.bytes;
        let inside = self.node(message.from) == self.node(message.to);
        let mut arrives = ReportKind::Arrived;
        let (injected_ps, arrived_ps) = if inside {
            self.outcome.intra_node_messages += 1;
            let places = [message.from, message.to].map(|rank| self.place(rank));
            self.carry(self.node(message.from), places, bytes)
        } else {
            let number = self.outcome.sent_to_nodes.get(&message.from.get()).copied();
            let (parts, last_step) = self.parts(&message);
            if last_step {
                arrives = ReportKind::AtNode {
                    number: number.unwrap_or(0),
                    nic: parts[0].dst,
                };
            }
            self.count_if(message.nic > 0, "message by a named NIC");
            self.count_if(last_step, "message with a last step");
            self.count_if(parts.len() > 1, "message in parts");
            self.through_fabric(&parts)
        };
        self.count_message(&message, inside, arrived_ps);
        self.outcome.messages += 1;
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
            kind: arrives,
        });
        self.messages.push(message);
    }

    /// When the last of these parts is injected and has arrived.
    fn through_fabric(&mut self, parts: &[Part]) -> (u64, u64) {
        let length = self.case.tick;
        let tick = length.ticks(self.now_ps);
        let (mut injected_ps, mut arrived_ps) = (0, 0);
        for &Part { src, dst, bytes } in parts {
            assert_eq!(src % self.case.node.planes, dst % self.case.node.planes);
            self.outcome.fabric.push(Sent {
                tick,
                src,
                dst,
                bytes,
            });
            let [injected, arrived] = super::fabric::reports(tick, bytes);
            injected_ps = length.ps(injected).max(injected_ps);
            arrived_ps = length.ps(arrived).max(arrived_ps);
        }
        (injected_ps, arrived_ps)
    }

    fn count_message(&mut self, message: &Message, inside: bool, arrived_ps: u64) {
        self.count_if(inside, "message inside a node");
        self.count_if(!inside, "message through the fabric");
        self.count_if(arrived_ps == self.now_ps, "message that takes no time");
        self.count_if(message.from == message.to, "message to oneself");
    }

    /// Notes everything that has arrived or left by now; last steps begin when all else is noted.
    pub fn note_reports(&mut self) {
        loop {
            let (due, later): (Vec<Report>, Vec<Report>) = self
                .reports
                .iter()
                .partition(|report| report.at_ps <= self.now_ps);
            self.reports = later;
            let mut steps = Vec::new();
            for report in &due {
                let message = self.messages[report.message].clone();
                match report.kind {
                    ReportKind::Injected => self.complete(message.when_injected),
                    ReportKind::Arrived => self.note_arrival(message),
                    ReportKind::AtNode { number, nic } => {
                        steps.push((message.to, message.from, number, nic, report.message));
                    }
                }
            }
            steps.sort_unstable();
            for (to, _, _, nic, message) in steps {
                let places = [self.first_place(nic), self.place(to)];
                let bytes = self.messages[message].bytes;
                let (_, at_ps) = self.carry(self.node(to), places, bytes);
                self.reports.push(Report {
                    at_ps,
                    message,
                    kind: ReportKind::Arrived,
                });
            }
            if due.is_empty() {
                return;
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
