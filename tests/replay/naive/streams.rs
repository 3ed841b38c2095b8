//! The streams of a rank: what an operation waits for, and what it does.

use super::message::{Message, Purpose};
use super::outcome::Times;
use super::world::{CollectiveKey, OpKey, Owner, World};
use flitwise::replay::SendCompletion;
use flitwise::replay::mpi::{Call, RequestId, Until};
use flitwise::replay::program::{Action, Event, Label, Op, RankId};
use flitwise::units::Ratio;
use std::collections::BTreeSet;

impl World<'_> {
    /// A stream carries out operations until one has to wait; false if it has to at once.
    pub fn go_on(&mut self, rank: RankId, stream: u32) -> bool {
        let mut moved = false;
        while self.error.is_none() {
            let position = self.positions[&(rank, stream)];
            let index = position.next;
            let Some(op) = self.stream(rank, stream).get(index) else {
                break;
            };
            let key = OpKey {
                rank,
                stream,
                index,
            };
            if !self.ops.contains_key(&key) {
                let begins_ps = match position.begins_ps {
                    Some(begins_ps) => begins_ps,
                    None if self.all_happened(rank, op) => self.compute(key, op),
                    None => break,
                };
                moved |= position.begins_ps.is_none();
                if begins_ps > self.now_ps {
                    break;
                }
                self.start(key, op);
                moved = true;
            } else if let Action::Mpi(call) = &op.action
                && let Call::Wait { requests, until } = &**call
            {
                self.look(key, requests, *until);
            }
            if self.ops[&key].done_ps.is_none() {
                break;
            }
            let position = self
                .positions
                .get_mut(&(rank, stream))
                .expect("it is there");
            position.next += 1;
            position.begins_ps = None;
            moved = true;
        }
        moved
    }

    /// The predecessor is done and all events have happened: the computation begins. Returns its end.
    fn compute(&mut self, key: OpKey, op: &Op) -> u64 {
        let scale = self.scale(key);
        self.count_if(
            op.compute_ps > 0 && scale != self.case.compute_scale,
            "computation in a region with a factor",
        );
        let compute_ps = scale.mul_round(op.compute_ps);
        let mut compute_ps = compute_ps.expect("computations are short");
        // MPI is busy before a send and after receives.
        if let Action::Mpi(call) = &op.action
            && matches!(**call, Call::Send { .. })
        {
            let overhead_ps = self.case.protocol.send_overhead_ps;
            self.count_if(overhead_ps > 0, "busy before a send");
            compute_ps += overhead_ps;
        }
        let received = self
            .received_since
            .remove(&(key.rank, key.stream))
            .unwrap_or(0);
        let overhead_ps = self.case.protocol.receive_overhead_ps;
        self.count_if(received > 0 && overhead_ps > 0, "busy after a receive");
        compute_ps += received * overhead_ps;
        let begins_ps = self.now_ps + compute_ps;
        let computed = self.computed.entry((key.rank, key.stream)).or_default();
        computed.push([self.now_ps, begins_ps]);
        let position = self.positions.get_mut(&(key.rank, key.stream));
        position.expect("it is there").begins_ps = Some(begins_ps);
        self.count_if(
            op.after.events().len() > 1,
            "operation after several events",
        );
        begins_ps
    }

    fn scale(&self, key: OpKey) -> Ratio {
        self.case
            .scale(&self.stream(key.rank, key.stream)[..key.index])
    }

    fn all_happened(&self, rank: RankId, op: &Op) -> bool {
        op.after
            .events()
            .iter()
            .all(|&event| self.happened(rank, event))
    }

    fn happened(&self, rank: RankId, event: Event) -> bool {
        match event {
            Event::Received(id) => self.received.contains(&id),
            Event::Completed(id) => self.members.iter().any(|member| {
                member.rank == rank && member.collective == CollectiveKey::WithId(id) && member.done
            }),
            Event::Started(label) => self.labelled(rank, label).is_some(),
            Event::Done(label) => self
                .labelled(rank, label)
                .is_some_and(|times| times.done_ps.is_some()),
        }
    }

    /// The operation with this label, if it has started.
    fn labelled(&self, rank: RankId, label: Label) -> Option<Times> {
        let has_label = |op: &OpKey| {
            op.rank == rank && self.stream(rank, op.stream)[op.index].label == Some(label)
        };
        self.ops
            .iter()
            .find(|(op, _)| has_label(op))
            .map(|(_, &times)| times)
    }

    /// An operation starts.
    fn start(&mut self, key: OpKey, op: &Op) {
        let times = Times {
            started_ps: self.now_ps,
            done_ps: None,
        };
        self.ops.insert(key, times);
        self.touch(key.rank);
        self.count_events(op);
        match &op.action {
            Action::Marker | Action::EnterRegion(_) | Action::LeaveRegion(_) => self.done(key),
            Action::Send { id, to, bytes, .. } => self.send_with_id(key, *id, *to, *bytes),
            Action::Collective(collective, position) => {
                self.enter_with_id((key.rank, key.stream), collective, *position);
                self.done(key);
            }
            Action::Mpi(call) => self.call(key, call),
        }
    }

    /// A stream has received so many messages by a call.
    fn has_received(&mut self, key: OpKey, messages: usize) {
        *self
            .received_since
            .entry((key.rank, key.stream))
            .or_default() += messages as u64;
    }

    /// An operation is done.
    pub fn done(&mut self, key: OpKey) {
        let op = &self.stream(key.rank, key.stream)[key.index];
        if let Action::Mpi(call) = &op.action
            && matches!(**call, Call::Receive { request: None, .. })
        {
            self.has_received(key, 1);
        }
        self.ops.get_mut(&key).expect("it has started").done_ps = Some(self.now_ps);
        self.touch(key.rank);
    }

    fn send_with_id(&mut self, key: OpKey, id: u64, to: RankId, bytes: u64) {
        self.count_if(true, "message with an id");
        self.outcome.point_to_point += 1;
        self.outcome.point_to_point_bytes += bytes;
        let [when_injected, when_arrived] = self.when_done(bytes, Owner::Op(key));
        self.send(Message {
            from: key.rank,
            to,
            bytes,
            nic: 0,
            purpose: Purpose::WithId(id),
            when_injected,
            when_arrived,
        });
        if when_injected.is_none() && when_arrived.is_none() {
            self.done(key);
        }
    }

    /// What is complete when a message without matching is injected and when it has arrived. If it
    /// is neither, it is complete at once.
    pub fn when_done(&self, bytes: u64, owner: Owner) -> [Option<Owner>; 2] {
        match self.case.send_completion {
            SendCompletion::Handed => [None, None],
            SendCompletion::Injected => [Some(owner), None],
            SendCompletion::Rendezvous {
                eager_threshold_bytes,
            } => [None, (bytes > eager_threshold_bytes).then_some(owner)],
        }
    }

    fn call(&mut self, key: OpKey, call: &Call) {
        let rank = key.rank;
        let request = match call {
            Call::Send { request, .. }
            | Call::Receive { request, .. }
            | Call::Collective { request, .. } => *request,
            Call::Wait { requests, until } => {
                self.count_wait(rank, requests, *until);
                self.look(key, requests, *until);
                return;
            }
            Call::Probe { from, comm, tag } => {
                if self.has_unexpected(rank, (*from, *comm, *tag)) {
                    self.done(key);
                }
                let at_once = self.ops[&key].done_ps.is_some();
                self.count_if(at_once, "probe that finds a message at once");
                self.count_if(!at_once, "probe that waits");
                return;
            }
            Call::Free { requests } => {
                for request in requests {
                    let was = self.requests.remove(&(rank, *request));
                    self.count_if(was == Some(true), "complete request freed");
                    self.count_if(was == Some(false), "request freed before it is complete");
                }
                self.done(key);
                return;
            }
        };
        let owner = match request {
            None => Owner::Op(key),
            Some(request) => {
                if self.requests.insert((rank, request), false).is_some() {
                    self.error = Some(format!("request {} is still active", request.0));
                    return;
                }
                self.count_if(self.used.contains(&(rank, request)), "request used again");
                self.done(key);
                Owner::Request(rank, request)
            }
        };
        match call {
            Call::Send {
                to,
                comm,
                tag,
                bytes,
                mode,
                nic,
                ..
            } => self.call_send(rank, (*to, *comm, *tag), *bytes, (*mode, *nic), owner),
            Call::Receive {
                from, comm, tag, ..
            } => self.call_receive(rank, *from, *comm, *tag, owner),
            Call::Collective {
                comm, contribution, ..
            } => self.enter_call((rank, key.stream), comm, contribution, owner),
            Call::Wait { .. } | Call::Probe { .. } | Call::Free { .. } => {}
        }
    }

    /// A wait looks at its requests: it is done if it need not wait any longer.
    fn look(&mut self, key: OpKey, requests: &[RequestId], until: Until) {
        let complete = |request: &RequestId| self.requests.get(&(key.rank, *request)).copied();
        let active: Vec<RequestId> = requests
            .iter()
            .copied()
            .filter(|request| complete(request).is_some())
            .collect();
        let ready: Vec<RequestId> = active
            .iter()
            .copied()
            .filter(|request| complete(request) == Some(true))
            .collect();
        let returns = match until {
            Until::All => ready.len() == active.len(),
            Until::Any | Until::Some => active.is_empty() || !ready.is_empty(),
        };
        if !returns {
            return;
        }
        let at_once = self.ops[&key].started_ps == self.now_ps;
        self.count_if(active.is_empty() && at_once, "wait without active requests");
        self.count_if(
            active.is_empty() && !at_once,
            "wait whose requests were taken",
        );
        self.count_if(
            until == Until::Any && ready.len() > 1,
            "wait for any of several complete",
        );
        self.count_if(
            until == Until::Some && ready.len() > 1,
            "wait that takes some",
        );
        self.count_if(
            ready.len() < active.len(),
            "wait that leaves requests active",
        );
        let taken = match until {
            Until::All | Until::Some => ready.len(),
            Until::Any => ready.len().min(1),
        };
        // A list may name a request twice.
        let each: BTreeSet<RequestId> = ready[..taken].iter().copied().collect();
        let receives = each
            .iter()
            .filter(|&&request| self.is_receive(key.rank, request));
        let receives = receives.count();
        self.has_received(key, receives);
        for request in &ready[..taken] {
            self.requests.remove(&(key.rank, *request));
            self.used.insert((key.rank, *request));
        }
        self.done(key);
    }

    /// True if the operation that a request stands for is a receive: the last one that was called with it.
    fn is_receive(&self, rank: RankId, request: RequestId) -> bool {
        let calls = self.ops_of(rank);
        let with_it = calls.filter_map(|(key, times)| {
            let op = &self.stream(rank, key.stream)[key.index];
            let Action::Mpi(call) = &op.action else {
                return None;
            };
            match &**call {
                Call::Receive {
                    request: Some(r), ..
                } if *r == request => Some((times.started_ps, key, true)),
                Call::Send {
                    request: Some(r), ..
                }
                | Call::Collective {
                    request: Some(r), ..
                } if *r == request => Some((times.started_ps, key, false)),
                _ => None,
            }
        });
        with_it.max().is_some_and(|(_, _, receives)| receives)
    }

    /// The operations of a rank that have begun.
    pub fn ops_of(&self, rank: RankId) -> impl Iterator<Item = (&OpKey, &Times)> {
        let first = OpKey {
            rank,
            stream: 0,
            index: 0,
        };
        self.ops
            .range(first..)
            .take_while(move |(key, _)| key.rank == rank)
    }

    fn count_events(&mut self, op: &Op) {
        for event in op.after.events() {
            let feature = match event {
                Event::Received(_) => "operation after a message",
                Event::Completed(_) => "operation after a collective",
                Event::Started(_) => "operation after a start",
                Event::Done(_) => "operation after an end",
            };
            self.count_if(true, feature);
        }
    }

    fn count_wait(&mut self, rank: RankId, requests: &[RequestId], until: Until) {
        let feature = match until {
            Until::All => "wait for all",
            Until::Any => "wait for any",
            Until::Some => "wait for some",
        };
        self.count_if(true, feature);
        let is_active = |request: &RequestId| self.requests.contains_key(&(rank, *request));
        let some_active = requests.iter().any(is_active);
        let mixed = some_active && !requests.iter().all(is_active);
        self.count_if(mixed, "wait for active and inactive requests");
    }
}
