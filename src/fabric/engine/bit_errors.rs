//! Bit errors of links (`docs/model/fabric.md` §10): for how long a link holds a packet that it sends again.
//! [`power`](super::power) asks for it.

use super::far_end::FarEnd;
use super::ids::OutputId;
use crate::spec::{FabricSpec, Switch, Tick};
use crate::stats::LinkEnd;
use flitwise_base::random::{Purpose, Stream};

/// The bit errors of all links.
#[derive(Debug)]
pub(super) struct BitErrors {
    /// Per number of flits: a try fails if its random word is less.
    fails_below: Vec<u64>,
    /// Per output.
    links: Vec<Link>,
}

/// The sending end of a link.
#[derive(Debug)]
struct Link {
    stream: Stream,
    /// Ticks that a failed try takes.
    retry: Tick,
    /// Failed tries, and how many there were when counting began anew.
    retries: u64,
    retries_before: u64,
    /// Some of these are of packets that were granted and will start in these ticks.
    ahead: Vec<(Tick, u64)>,
}

impl Link {
    /// Failed tries of the packets that have started by tick `now`.
    fn retries_by(&self, now: Tick) -> u64 {
        let later = self.ahead.iter().filter(|&&(start, _)| start > now);
        self.retries - later.map(|(_, failed)| failed).sum::<u64>()
    }
}

impl BitErrors {
    /// The bit errors of the links of all outputs, whose far ends are `ends`; `None` if there are none. Outputs of NICs are
    /// from number `ports` on.
    pub(super) fn new(spec: &FabricSpec, ports: usize, ends: &[FarEnd]) -> Option<Self> {
        let errors = spec.bit_errors?;
        let radix = spec.topology.radix();
        let link = |(output, to): (OutputId, &FarEnd)| {
            let end = output.link_end(ports, radix);
            let component = match end {
                LinkEnd::Nic(nic) => [nic.get().into(), 1],
                LinkEnd::Port { .. } => [u64::from(output.get()), 0],
            };
            let at = spec.topology.port_at(end);
            Link {
                stream: Stream::new(errors.seed, Purpose::BitErrors, component),
                retry: if to.is_connected() {
                    spec.retry_ticks(at.switch, at.port)
                } else {
                    0
                },
                retries: 0,
                retries_before: 0,
                ahead: Vec::new(),
            }
        };
        let outputs = OutputId::all(ends.len() as u32).zip(ends);
        Some(Self {
            fails_below: fails_below(errors.rate, spec.units.flit_bytes, longest(spec)),
            links: outputs.map(link).collect(),
        })
    }

    /// A packet of `flits` flits that is granted or started in tick `now` starts on the link of `output` in tick `start`.
    /// Returns the ticks that failed tries take.
    pub(super) fn held(
        &mut self,
        output: OutputId,
        flits: u32,
        (now, start): (Tick, Tick),
    ) -> Tick {
        let fails_below = self.fails_below[flits as usize];
        let link = &mut self.links[output.index()];
        let mut failed = 0;
        while link.stream.bits() < fails_below {
            failed += 1;
        }
        if failed > 0 {
            link.retries += failed;
            link.ahead.retain(|&(start, _)| start > now);
            if start > now {
                link.ahead.push((start, failed));
            }
        }
        failed * link.retry
    }

    /// Failed tries on the link of `output` since counting began, up to the end of tick `now`.
    pub(super) fn retries(&self, output: OutputId, now: Tick) -> u64 {
        let link = &self.links[output.index()];
        link.retries_by(now) - link.retries_before
    }

    /// The ticks that they took.
    pub(super) fn ticks(&self, output: OutputId, now: Tick) -> Tick {
        self.retries(output, now) * self.links[output.index()].retry
    }

    /// Counts anew from the tick after `now` on.
    pub(super) fn restart(&mut self, now: Tick) {
        for link in &mut self.links {
            link.retries_before = link.retries_by(now);
        }
    }
}

/// Flits of the longest packet, answers included.
fn longest(spec: &FabricSpec) -> u32 {
    let levels = 0..spec.qos.service_levels.len();
    let data = levels.map(|sl| spec.max_flits(sl)).max().unwrap_or(1);
    match &spec.switch {
        Switch::Voq(voq) => data.max(spec.units.flits(voq.hca.ack_bytes)),
        Switch::Hierarchical(_) => data,
    }
}

/// By number of flits, up to `longest`: 2^64 times the probability that one of their bits is wrong, each with the probability
/// `rate` · 2^-64.
fn fails_below(rate: u64, flit_bytes: u32, longest: u32) -> Vec<u64> {
    const ONE: u128 = 1 << 64;
    // A product of two probabilities; 1 is no 64-bit number.
    let times = |a: u128, b: u128| match (a, b) {
        (ONE, other) | (other, ONE) => other,
        (a, b) => (a * b) >> 64,
    };
    let (mut square, mut bits, mut flit) = (ONE - u128::from(rate), 8 * u64::from(flit_bytes), ONE);
    while bits > 0 {
        if bits % 2 == 1 {
            flit = times(flit, square);
        }
        square = times(square, square);
        bits /= 2;
    }
    let mut right = ONE;
    let by_flits = (0..=longest).map(|_| {
        let wrong = ONE - right;
        right = times(right, flit);
        u64::try_from(wrong).unwrap_or(u64::MAX)
    });
    by_flits.collect()
}

#[cfg(test)]
mod tests {
    use super::fails_below;

    #[test]
    fn a_packet_fails_as_often_as_one_of_its_bits() {
        for rate in [1e-15, 1e-12, 1e-9, 1e-6, 1e-4] {
            let found = fails_below((rate * 2f64.powi(64)) as u64, 8, 300);
            assert_eq!(found[0], 0);
            for (flits, &below) in found.iter().enumerate().skip(1) {
                let exact = -(64.0 * flits as f64 * (-rate).ln_1p()).exp_m1();
                let found = below as f64 / 2f64.powi(64);
                // Units of 2^-64 are coarse for the lowest rate.
                assert!(
                    (found / exact - 1.0).abs() < 1e-4,
                    "{rate} {flits}: {found}"
                );
            }
        }
    }
}
