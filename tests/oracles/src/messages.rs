//! Messages: how the workload hands them over, and how much of each was delivered.

use flitwise_fabric::spec::Tick;
use flitwise_fabric::workload::{Message, PacketReport, Workload};
use std::collections::BTreeMap;

/// All messages of a run.
#[derive(Debug, Default)]
pub struct Messages {
    all: Vec<Progress>,
    /// Messages delivered.
    pub delivered: u64,
    /// Packets delivered, in the order of delivery.
    pub reports: Vec<PacketReport>,
    /// Payload delivered of each (source, destination, SL) since the last sample.
    pub payload: BTreeMap<(u32, u32, u8), u64>,
    /// Messages whose last tail left its NIC in the tick before.
    pub left: Vec<usize>,
}

#[derive(Debug)]
struct Progress {
    message: Message,
    packets: u32,
    delivered: u32,
}

/// A data packet whose tail has reached its NIC.
pub struct Arrival {
    /// Its message.
    pub message: usize,
    /// Its position in the message.
    pub index: u32,
    pub flits: u32,
    pub payload: u32,
    /// The tick in which its header left its NIC.
    pub injected: Tick,
}

/// Phase 3: the messages that the workload creates in tick `now`.
pub fn create(now: Tick, workload: &mut dyn Workload) -> Vec<Message> {
    let mut created = Vec::new();
    if workload.next_tick().is_some_and(|due| due <= now) {
        workload.act(now, &mut created);
        while workload.has_more() {
            let mut part = Vec::new();
            workload.act(now, &mut part);
            created.append(&mut part);
        }
    }
    created
}

impl Messages {
    pub fn count(&self) -> u64 {
        self.all.len() as u64
    }

    pub fn all_delivered(&self) -> bool {
        self.delivered == self.count()
    }

    pub fn token(&self, message: usize) -> u64 {
        self.all[message].message.token
    }

    /// Adds a message of `packets` packets. Returns its number, which counts from 0.
    pub fn add(&mut self, message: Message, packets: usize) -> usize {
        assert_ne!(message.src, message.dst, "a NIC does not send to itself");
        self.all.push(Progress {
            message,
            packets: packets as u32,
            delivered: 0,
        });
        self.all.len() - 1
    }

    /// Phase 2: messages whose last tail left their NIC in the tick before are reported.
    pub fn report_injections(&mut self, now: Tick, workload: &mut dyn Workload) {
        for message in self.left.drain(..) {
            let message = &self.all[message].message;
            if message.report_injection {
                workload.injected(now, message.token);
            }
        }
    }

    /// A packet is delivered, and with the last packet to arrive its message, which is returned.
    pub fn deliver(
        &mut self,
        now: Tick,
        arrival: &Arrival,
        workload: &mut dyn Workload,
    ) -> Option<Message> {
        let progress = &mut self.all[arrival.message];
        let message = progress.message;
        let flow = (message.src.get(), message.dst.get(), message.sl);
        *self.payload.entry(flow).or_default() += u64::from(arrival.payload);
        let report = PacketReport {
            token: message.token,
            index: arrival.index,
            flits: arrival.flits,
            injected: arrival.injected,
            delivered: now,
        };
        self.reports.push(report);
        workload.packet(&report);
        progress.delivered += 1;
        if progress.delivered < progress.packets {
            return None;
        }
        self.delivered += 1;
        workload.delivered(now, message.token);
        Some(message)
    }
}
