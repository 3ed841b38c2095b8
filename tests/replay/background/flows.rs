//! Compares the messages of flows with their definition, on a fabric that takes every
//! message at once. [`backlog`](super::backlog) use a fabric that does not.

use flitwise::fabric::ids::{NicId, NicPair};
use flitwise::fabric::spec::Tick;
use flitwise::fabric::workload::Message;
use flitwise::fabric::workload::Queueing;
use flitwise::replay::background::*;

/// A sender to one NIC, by their numbers.
pub fn sender(from: u32, to: u32) -> Sender {
    Sender {
        nic: NicId::new(from),
        target: Target::Nic(NicId::new(to)),
    }
}

pub fn flow(sl: u8, units: u64, per_tick: (u64, u64), nics: u32) -> BackgroundFlow {
    BackgroundFlow {
        sl,
        sizes: vec![MessageSize {
            bytes: units.saturating_mul(8),
            units,
            weight: 1,
        }],
        rate: Rate {
            units: per_tick.0,
            ticks: per_tick.1,
        },
        injection: Injection::Cbr,
        start: 0,
        stop: Tick::MAX,
        senders: NicId::all(nics)
            .map(|nic| Sender {
                nic,
                target: Target::Uniform { planes: 1 },
            })
            .collect(),
    }
}

/// The messages of `flows` before tick `until`, with a fabric that takes each in the tick of
/// its creation. Asserts that both kinds of queueing give the same messages.
pub fn run(flows: &[BackgroundFlow], nics: u32, until: Tick) -> Vec<Message> {
    let all = run_queueing(Queueing::PerLevel, flows, nics, until);
    let mut others = run_queueing(Queueing::PerPair, flows, nics, until);
    let key = |m: &Message| (m.created, m.src, m.sl, std::cmp::Reverse(m.token), m.dst);
    others.sort_by_key(key);
    let mut sorted = all.clone();
    sorted.sort_by_key(key);
    assert_eq!(sorted, others);
    all
}

fn run_queueing(
    queueing: Queueing,
    flows: &[BackgroundFlow],
    nics: u32,
    until: Tick,
) -> Vec<Message> {
    let mut background = Background::new(flows, nics, 1, queueing).unwrap();
    let mut all = Vec::new();
    let mut out = Vec::new();
    loop {
        let tick = background.next_tick();
        if tick >= until {
            break;
        }
        background.act(tick, &mut out);
        let before = all.len();
        for message in out.drain(..) {
            let queue = queueing.queue_of(&message);
            all.push(message);
            while let Some(next) = background.replenish(tick, queue) {
                all.push(next);
            }
        }
        assert!(all[before..].iter().all(|m| m.created <= tick));
    }
    assert_eq!(background.waiting(until - 1), 0);
    all
}

#[test]
fn the_offered_load_is_exact_for_every_source() {
    let all = run(&[flow(0, 16, (3, 10), 8)], 8, 16_000);
    for nic in NicId::all(8) {
        let mine: Vec<Tick> = all
            .iter()
            .filter(|m| m.src == nic)
            .map(|m| m.created)
            .collect();
        assert_eq!(mine.len(), 300); // 16,000 ticks × 0.3 / 16
        assert!(mine.windows(2).all(|w| (53..=54).contains(&(w[1] - w[0]))));
    }
}

#[test]
fn destinations_are_uniform_over_the_others() {
    let all = run(&[flow(0, 1, (1, 1), 4)], 4, 30_000);
    let mut counts = [[0_u32; 4]; 4];
    for m in &all {
        counts[m.src.index()][m.dst.index()] += 1;
    }
    for (src, row) in counts.iter().enumerate() {
        for (dst, &count) in row.iter().enumerate() {
            assert_eq!(count == 0, src == dst);
            assert!(src == dst || (9_600..10_400).contains(&count), "{count}");
        }
    }
}

#[test]
fn only_senders_send_and_to_their_targets() {
    let fixed = BackgroundFlow {
        senders: vec![sender(0, 2), sender(2, 0)],
        ..flow(0, 1, (1, 1), 3)
    };
    let all = run(&[fixed], 3, 100);
    assert_eq!(all.len(), 200);
    let ends = all.iter().map(|m| (m.src.get(), m.dst.get()));
    assert!(
        ends.into_iter()
            .all(|(src, dst)| src + dst == 2 && src != 1)
    );
}

#[test]
fn a_further_flow_does_not_disturb_the_first() {
    for injection in [Injection::Cbr, Injection::Bernoulli] {
        let mixed = BackgroundFlow {
            injection,
            sizes: [(16, 3), (2, 5)]
                .map(|(units, weight)| MessageSize {
                    bytes: units * 8,
                    units,
                    weight,
                })
                .to_vec(),
            ..flow(0, 16, (1, 10), 16)
        };
        let alone = run(std::slice::from_ref(&mixed), 16, 5_000);
        // On the same service level, so that both flows share queues.
        let second = flow(0, 7, (2, 9), 16);
        let mut both = run(&[mixed, second], 16, 5_000);
        both.retain(|m| m.bytes != 56);
        let key = |m: &Message| (m.src, m.created);
        let sorted = |mut list: Vec<Message>| {
            list.sort_by_key(key);
            list
        };
        assert_eq!(sorted(alone), sorted(both));
    }
}

#[test]
fn mixes_have_their_shares_and_their_rate() {
    for injection in [Injection::Cbr, Injection::Bernoulli] {
        let sizes = [(64, 1), (4, 3)].map(|(units, weight)| MessageSize {
            bytes: units * 8,
            units,
            weight,
        });
        let mix = BackgroundFlow {
            injection,
            sizes: sizes.to_vec(),
            ..flow(0, 1, (1, 2), 20)
        };
        let all = run(&[mix], 20, 100_000);
        let long = all.iter().filter(|m| m.bytes == 512).count() as f64;
        assert!((long / all.len() as f64 - 0.25).abs() < 0.01);
        let units: u64 = all.iter().map(|m| m.bytes / 8).sum();
        let rate = units as f64 / 20.0 / 100_000.0;
        assert!((rate - 0.5).abs() < 0.01, "{rate}");
    }
}

#[test]
fn bernoulli_sources_have_the_variance_of_coin_tosses() {
    let toss = BackgroundFlow {
        injection: Injection::Bernoulli,
        ..flow(0, 4, (2, 5), 50)
    };
    let all = run(&[toss], 50, 40_000);
    // p = 0.1 in each of 40,000 ticks for each of 50 sources.
    let mut counts = [0_f64; 50];
    let mut together = std::collections::BTreeSet::new();
    for m in &all {
        counts[m.src.index()] += 1.0;
        assert!(together.insert((m.src, m.created)), "two in a tick");
    }
    let mean = counts.iter().sum::<f64>() / 50.0;
    assert!((mean - 4000.0).abs() < 5.0 * (3600.0_f64 / 50.0).sqrt());
    let variance = counts.iter().map(|c| (c - 4000.0).powi(2)).sum::<f64>() / 50.0;
    assert!((1_500.0..7_000.0).contains(&variance), "{variance}");
}

#[test]
fn flows_start_and_stop() {
    for injection in [Injection::Cbr, Injection::Bernoulli] {
        let part = BackgroundFlow {
            injection,
            start: 1_000,
            stop: 3_000,
            ..flow(0, 2, (1, 10), 8)
        };
        let all = run(std::slice::from_ref(&part), 8, 10_000);
        assert!(all.iter().all(|m| (1_000..3_000).contains(&m.created)));
        assert!((600..1_000).contains(&all.len()));
        if injection == Injection::Cbr {
            assert_eq!(all.len(), 800);
        }
        let background = Background::new(&[part], 8, 1, Queueing::PerPair).unwrap();
        assert_eq!(background.outcomes(50_000)[0].messages, all.len() as u64);
    }
}

/// With two NICs uniform traffic has one destination, so that both kinds of queueing put a job
/// behind it.
#[test]
fn messages_of_jobs_queue_behind_what_was_created_before() {
    jobs_queue_behind_flows(Queueing::PerLevel);
    jobs_queue_behind_flows(Queueing::PerPair);
}

fn jobs_queue_behind_flows(queueing: Queueing) {
    let mut background = Background::new(&[flow(3, 4, (1, 10), 2)], 2, 1, queueing).unwrap();
    let on_level = |sl, created| Message::new(NicId::new(0), NicId::new(1), sl, 8, created);
    let job = |created, token| on_level(3, created).with_token(token);
    let mut out = Vec::new();
    // On another service level or in an empty queue a message goes to the fabric at once.
    background.admit(0, on_level(2, 0).with_token(1), &mut out);
    background.admit(0, job(0, 2), &mut out);
    assert_eq!(out.len(), 2);
    // The fabric has a message of the queue: later ones wait, in the order of creation.
    background.admit(0, job(100, 3), &mut out);
    background.admit(0, job(100, 4), &mut out);
    assert_eq!(out.len(), 2);
    assert!(background.waiting(100) > 2);
    background.act(200, &mut out);
    let mut queue = Vec::new();
    while let Some(message) = background.replenish(200, queueing.queue_of(&job(0, 2))) {
        queue.push(message);
    }
    assert!(queue.is_sorted_by_key(|m| m.created));
    let at = |token| queue.iter().position(|m| m.token == token).unwrap();
    assert_eq!(at(4), at(3) + 1);
    assert!(at(3) >= 2 && queue[at(3) - 1].created < 100 && queue[at(4) + 1].created >= 100);
}

#[test]
fn a_rate_of_0_sends_nothing() {
    for queueing in [Queueing::PerLevel, Queueing::PerPair] {
        let mut silent = flow(1, 8, (0, 1), 4);
        for injection in [Injection::Cbr, Injection::Bernoulli] {
            silent.injection = injection;
            let background = Background::new(&[silent.clone()], 4, 1, queueing).unwrap();
            assert_eq!(background.next_tick(), Tick::MAX);
            assert_eq!(background.waiting(1_000_000), 0);
            assert_eq!(background.outcomes(1_000_000)[0].messages, 0);
        }
        // Even a flow of rate 0 must be one that could be.
        silent.senders = vec![sender(2, 2)];
        assert!(Background::new(&[silent], 4, 1, queueing).is_err());
    }
}

#[test]
fn impossible_flows_are_errors() {
    let new = |flow: BackgroundFlow, nics| {
        Background::new(&[flow], nics, 1, Queueing::PerLevel).map(|_| ())
    };
    let nothing = Err(BackgroundError::Nothing);
    assert_eq!(new(flow(0, 1, (1, 0), 4), 4), nothing);
    assert_eq!(new(flow(0, 0, (1, 1), 4), 4), nothing);
    let slow = flow(0, u64::MAX, (1, 2), 4);
    assert_eq!(new(slow.clone(), 4), Err(BackgroundError::TooSlow));
    let bernoulli = |flow| BackgroundFlow {
        injection: Injection::Bernoulli,
        ..flow
    };
    assert_eq!(new(bernoulli(slow), 4), Err(BackgroundError::TooSlow));
    let fast = bernoulli(flow(0, 1, (2, 1), 4));
    assert_eq!(new(fast, 4), Err(BackgroundError::TooFast));
    let alone = new(flow(0, 1, (1, 1), 1), 1);
    assert_eq!(alone, Err(BackgroundError::TooFewNics(1)));
    for (from, to) in [(4, 0), (0, 4), (2, 2)] {
        let odd = BackgroundFlow {
            senders: vec![sender(from, to)],
            ..flow(0, 1, (1, 1), 4)
        };
        let [src, dst] = [from, to].map(NicId::new);
        let pair = NicPair { src, dst };
        let error = BackgroundError::Sender { pair, last: 3 };
        assert_eq!(new(odd, 4), Err(error));
    }
    assert_eq!(
        Background::new(&[], 1, 1, Queueing::PerLevel)
            .unwrap()
            .next_tick(),
        Tick::MAX
    );
}
