//! The messages of the connections of a level: without end, or one each.

use super::SL;
use super::connections::Connection;
use crate::fabric::ids::NicId;
use crate::fabric::spec::{FabricSpec, Tick};
use crate::fabric::workload::{AppQueue, Message, PacketReport, Workload};
use std::collections::BTreeMap;
use std::ops::Range;

/// A message of connection number `at`. Hosts of the network of a fabric are its NICs.
fn message(connection: &Connection, at: usize, bytes: u64, now: Tick) -> Message {
    let nic = |host: crate::oblivious::HostId| NicId::new(host.get());
    Message::new(nic(connection.from), nic(connection.to), SL, bytes, now).with_token(at as u64)
}

/// All connections send one message after the other, until the window is over.
pub(super) struct Steady<'a> {
    connections: &'a [Connection],
    bytes: u64,
    /// Units of link time of a full packet, and of the last of a message.
    units: [u64; 2],
    packets: u64,
    /// The connections of every queue, and the position of the one that is next.
    queues: BTreeMap<(NicId, Option<NicId>), (Vec<usize>, usize)>,
    per_pair: bool,
    /// Ticks in which packets count.
    pub window: Range<Tick>,
    /// Units of link time that arrived in the window, by connection.
    pub received: Vec<u64>,
    started: bool,
    over: bool,
}

impl<'a> Steady<'a> {
    pub(super) fn new(spec: &FabricSpec, connections: &'a [Connection], bytes: u64) -> Self {
        let per_pair = spec.queueing() == crate::fabric::workload::Queueing::PerPair;
        let mut queues: BTreeMap<_, (Vec<usize>, usize)> = BTreeMap::new();
        for (at, connection) in connections.iter().enumerate() {
            let to = per_pair.then(|| NicId::new(connection.to.get()));
            let key = (NicId::new(connection.from.get()), to);
            queues.entry(key).or_default().0.push(at);
        }
        let mtu = u64::from(spec.qos.service_levels[usize::from(SL)].mtu_bytes);
        let packets = bytes.div_ceil(mtu);
        let last = bytes - (packets - 1) * mtu;
        Self {
            connections,
            bytes,
            units: [mtu, last].map(|payload| spec.link_units(payload as u32).into()),
            packets,
            queues,
            per_pair,
            window: 0..1,
            received: vec![0; connections.len()],
            started: false,
            over: false,
        }
    }
}

impl Workload for Steady<'_> {
    fn next_tick(&mut self) -> Option<Tick> {
        if self.started {
            Some(self.window.end)
        } else {
            Some(0)
        }
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        if !std::mem::replace(&mut self.started, true) {
            let all = self.connections.iter().enumerate();
            out.extend(all.map(|(at, connection)| message(connection, at, self.bytes, now)));
        }
        self.over |= now >= self.window.end;
    }

    fn replenish(&mut self, now: Tick, queue: AppQueue) -> Option<Message> {
        let key = (queue.nic, queue.dst.filter(|_| self.per_pair));
        let (members, turn) = self.queues.get_mut(&key)?;
        let &at = members.get(*turn)?;
        *turn = (*turn + 1) % members.len();
        Some(message(&self.connections[at], at, self.bytes, now))
    }

    fn delivered(&mut self, _now: Tick, _token: u64) {}

    fn packet(&mut self, report: &PacketReport) {
        if self.window.contains(&report.delivered) {
            let last = u64::from(report.index) + 1 == self.packets;
            if let Some(received) = self.received.get_mut(report.token as usize) {
                *received += self.units[usize::from(last)];
            }
        }
    }

    fn finished(&self) -> bool {
        self.over
    }
}

/// Every connection sends one message at tick 0.
pub(super) struct Once<'a> {
    connections: &'a [Connection],
    bytes: u64,
    started: bool,
    left: usize,
    /// Tick in which the last message arrived.
    pub last: Tick,
}

impl<'a> Once<'a> {
    pub(super) fn new(connections: &'a [Connection], bytes: u64) -> Self {
        Self {
            connections,
            bytes,
            started: false,
            left: connections.len(),
            last: 0,
        }
    }
}

impl Workload for Once<'_> {
    fn next_tick(&mut self) -> Option<Tick> {
        (!self.started).then_some(0)
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.started = true;
        let all = self.connections.iter().enumerate();
        out.extend(all.map(|(at, connection)| message(connection, at, self.bytes, now)));
    }

    fn delivered(&mut self, now: Tick, _token: u64) {
        self.left = self.left.saturating_sub(1);
        self.last = now;
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}
