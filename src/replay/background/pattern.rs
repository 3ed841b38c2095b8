//! Patterns: which NICs of a flow send, and to which NIC each of them sends.
//! [`injection`](super::injection) decides when. The definitions are from Dally and Towles,
//! Principles and Practices of Interconnection Networks (2004), section 3.2, applied to the
//! numbers of the NICs.

use super::group_shift;
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::units::Ratio;
use flitwise_fabric::ids::{NicId, SwitchId, SwitchPort};
use flitwise_fabric::topology::Topology;
use std::collections::BTreeMap;
use thiserror::Error;

/// The destinations of a flow. A NIC whose destination is itself sends nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// Any other NIC with equal probability, drawn anew for every message.
    Uniform,
    /// The bits of the number in reverse order; 2^b NICs.
    BitReversal,
    /// Every bit of the number inverted; 2^b NICs.
    BitComplement,
    /// The bits of the number rotated to the left by one; 2^b NICs.
    Shuffle,
    /// NIC (x, y) of a square sends to (y, x); k² NICs.
    Transpose,
    /// ⌈k/2⌉ − 1 further in each dimension of k switches, to the same NIC of the switch;
    /// torus or mesh.
    Tornado,
    /// NIC x sends to (x + offset) mod N.
    Neighbour {
        /// Not a multiple of N.
        offset: i64,
    },
    /// Each NIC sends to the NIC at its place of the group `shift` groups further; topologies with groups. ADV+`shift`
    /// of the literature on dragonflies: minimal paths share one global link for each group (Kim, Dally, Scott, Abts,
    /// "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4.2).
    GroupShift {
        /// Not a multiple of the number of groups that have NICs.
        shift: i64,
    },
    /// Some NICs, drawn from the seed, send every message to `node`; the others send uniformly.
    Hotspot {
        /// The destination of those NICs.
        node: NicId,
        /// Share of the other NICs that send every message to `node`, above 0.
        fraction: Ratio,
    },
    /// A random permutation without fixed points, drawn from the seed.
    Permutation,
    /// NIC x sends to entry x of the list, in which every NIC occurs once.
    List(Vec<NicId>),
    /// One NIC sends to another.
    Pair {
        /// Sender.
        from: NicId,
        /// Receiver.
        to: NicId,
    },
}

/// The destination of one NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Any other NIC with equal probability.
    Uniform,
    /// One other NIC.
    Nic(NicId),
}

/// A NIC that sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// The NIC.
    pub nic: NicId,
    /// The destinations of its messages.
    pub target: Target,
}

/// The reason why a pattern is not defined on the fabric, and a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PatternError(String);

impl Pattern {
    /// The NICs of `topology` that send, ascending. `flow` is the number
    /// of the flow, which has a random stream of its own.
    ///
    /// # Errors
    /// If the pattern is not defined on this topology.
    pub fn senders(
        &self,
        topology: &Topology,
        seed: u64,
        flow: u64,
    ) -> Result<Vec<Sender>, PatternError> {
        let nics = topology.nics();
        if nics < 2 {
            return bad("traffic needs a fabric with at least 2 NICs".to_owned());
        }
        if let Self::Pair { from, to } = self {
            check_exists(*from, nics)?;
            check_exists(*to, nics)?;
            if from == to {
                return bad(format!(
                    "{} sends to itself; name two different NICs",
                    topology.nic_text(*from)
                ));
            }
        }
        let mut stream = Stream::new(seed, Purpose::Pattern, [flow, 0]);
        let targets = self.targets(topology, &mut stream)?;
        let senders = topology.nic_ids().zip(targets);
        let senders = senders.map(|(nic, target)| Sender { nic, target });
        let sends = |sender: &Sender| match self {
            Self::Pair { from, .. } => sender.nic == *from,
            _ => sender.target != Target::Nic(sender.nic),
        };
        Ok(senders.filter(sends).collect())
    }

    /// The target of each NIC, which may be the NIC itself.
    fn targets(
        &self,
        topology: &Topology,
        stream: &mut Stream,
    ) -> Result<Vec<Target>, PatternError> {
        let nics = topology.nics();
        let fixed = |to: &dyn Fn(u32) -> u32| {
            let targets = (0..nics).map(|x| Target::Nic(NicId::new(to(x))));
            targets.collect()
        };
        Ok(match self {
            Self::Uniform => vec![Target::Uniform; nics as usize],
            Self::BitReversal => {
                let bits = bits(nics, "bit-reversal")?;
                fixed(&|x| x.reverse_bits() >> (32 - bits))
            }
            Self::BitComplement => {
                bits(nics, "bit-complement")?;
                fixed(&|x| nics - 1 - x)
            }
            Self::Shuffle => {
                let bits = bits(nics, "shuffle")?;
                fixed(&|x| (x << 1 | x >> (bits - 1)) & (nics - 1))
            }
            Self::Transpose => {
                let side = side(nics)?;
                fixed(&|x| x % side * side + x / side)
            }
            Self::Tornado => tornado(topology)?.into_iter().map(Target::Nic).collect(),
            Self::Neighbour { offset } => {
                let shift = shift(nics, *offset)?;
                fixed(&|x| ((u64::from(x) + u64::from(shift)) % u64::from(nics)) as u32)
            }
            &Self::GroupShift { shift } => {
                let targets = group_shift::targets(topology, shift)?;
                targets.into_iter().map(Target::Nic).collect()
            }
            Self::Hotspot { node, fraction } => {
                check_exists(*node, nics)?;
                hotspot(nics, *node, *fraction, stream)?
            }
            Self::Permutation => permutation(nics, stream),
            Self::List(list) => {
                check_list(list, topology)?;
                list.iter().map(|&nic| Target::Nic(nic)).collect()
            }
            Self::Pair { to, .. } => vec![Target::Nic(*to); nics as usize],
        })
    }
}

/// NICs on a side of the square that `transpose` mirrors.
fn side(nics: u32) -> Result<u32, PatternError> {
    let side = nics.isqrt();
    if side * side == nics {
        return Ok(side);
    }
    bad(format!(
        "transpose needs a square number of NICs, and the fabric has {nics}; take {} (the topology's `hosts` \
         leaves some out) or another pattern",
        side * side
    ))
}

/// The distance of a neighbour, from 1 to `nics` - 1.
fn shift(nics: u32, offset: i64) -> Result<u32, PatternError> {
    match offset.rem_euclid(i64::from(nics)) as u32 {
        0 => bad(format!(
            "an offset of {offset} leads back to the sender on {nics} NICs; take one that is no multiple of \
             {nics}"
        )),
        shift => Ok(shift),
    }
}

pub(super) fn bad<T>(problem: String) -> Result<T, PatternError> {
    Err(PatternError(problem))
}

fn check_exists(nic: NicId, nics: u32) -> Result<(), PatternError> {
    if nic.get() < nics {
        Ok(())
    } else {
        bad(format!(
            "NIC {nic} does not exist: the fabric has NICs 0 to {}",
            nics - 1
        ))
    }
}

/// Checks that `list` contains every NIC once.
fn check_list(list: &[NicId], topology: &Topology) -> Result<(), PatternError> {
    let nics = topology.nics();
    if list.len() != nics as usize {
        return bad(format!(
            "the permutation lists {} NICs, but the fabric has {nics}; list every \
             NIC once",
            list.len()
        ));
    }
    let mut seen = vec![false; nics as usize];
    for &nic in list {
        check_exists(nic, nics)?;
        if std::mem::replace(&mut seen[nic.index()], true) {
            return bad(format!(
                "{} is listed twice; a permutation lists every NIC once",
                topology.nic_text(nic)
            ));
        }
    }
    Ok(())
}

/// Targets of [`Pattern::Hotspot`], by sender.
fn hotspot(
    nics: u32,
    node: NicId,
    fraction: Ratio,
    stream: &mut Stream,
) -> Result<Vec<Target>, PatternError> {
    let hot = fraction.mul_round((nics - 1).into()).unwrap_or(u64::MAX);
    if hot == 0 || hot > u64::from(nics - 1) {
        return bad(format!(
            "a fraction of {fraction} of {} NICs is {hot} senders; take a fraction \
             above 0 and at most 1 that makes at least one",
            nics - 1
        ));
    }
    let mut others: Vec<NicId> = NicId::all(nics).filter(|&nic| nic != node).collect();
    stream.shuffle(&mut others);
    let mut targets = vec![Target::Uniform; nics as usize];
    for &sender in &others[..hot as usize] {
        targets[sender.index()] = Target::Nic(node);
    }
    Ok(targets)
}

/// Targets of [`Pattern::Permutation`], by sender.
fn permutation(nics: u32, stream: &mut Stream) -> Vec<Target> {
    let mut to: Vec<NicId> = NicId::all(nics).collect();
    // About one permutation in e has no fixed point.
    while NicId::all(nics).zip(&to).any(|(x, &y)| x == y) {
        stream.shuffle(&mut to);
    }
    to.into_iter().map(Target::Nic).collect()
}

/// b of 2^b NICs; an error for any other number.
fn bits(nics: u32, pattern: &str) -> Result<u32, PatternError> {
    if nics.is_power_of_two() {
        return Ok(nics.trailing_zeros());
    }
    bad(format!(
        "{pattern} needs a power of two of NICs, and the fabric has {nics}; take {} (the \
         topology's `hosts` leaves some out) or another pattern",
        1_u32 << nics.ilog2()
    ))
}

/// Destinations of [`Pattern::Tornado`], by sender.
fn tornado(topology: &Topology) -> Result<Vec<NicId>, PatternError> {
    let family = topology.family();
    let Some(first) = family.tornado(SwitchId::new(0)) else {
        return bad(format!(
            "tornado goes by the dimensions of a torus or mesh, and this topology has none; \
             {{ neighbour = {} }} goes half round the numbers of the NICs",
            topology.nics().div_ceil(2) - 1
        ));
    };
    if first == SwitchId::new(0) {
        return bad(
            "tornado needs a dimension of at least 3 switches: in the others it stays \
                    where it is; take another pattern"
                .to_owned(),
        );
    }
    let of_port: BTreeMap<SwitchPort, NicId> = topology
        .nic_ids()
        .map(|nic| (topology.attachment(nic), nic))
        .collect();
    let to = |nic: NicId| {
        let SwitchPort { switch, port } = topology.attachment(nic);
        let there = family.tornado(switch).unwrap_or(switch);
        let nic = of_port.get(&SwitchPort::new(there, port));
        nic.copied().ok_or_else(|| {
            PatternError(
                "tornado needs every NIC of the torus or mesh; leave out `hosts`".to_owned(),
            )
        })
    };
    topology.nic_ids().map(to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(pattern: &Pattern, topology: &Topology) -> Vec<u32> {
        // A NIC that sends nothing stands for itself.
        let mut all: Vec<u32> = (0..topology.nics()).collect();
        for Sender { nic, target } in pattern.senders(topology, 1, 0).unwrap() {
            assert_ne!(target, Target::Nic(nic));
            all[nic.index()] = match target {
                Target::Nic(nic) => nic.get(),
                Target::Uniform => u32::MAX,
            };
        }
        all
    }

    fn single(nics: u32) -> Topology {
        Topology::single(nics).unwrap()
    }

    fn refused(pattern: &Pattern, topology: &Topology) -> String {
        pattern.senders(topology, 1, 0).unwrap_err().to_string()
    }

    #[test]
    fn patterns_on_bits() {
        let eight = &single(8);
        // b2 b1 b0 → b0 b1 b2
        assert_eq!(to(&Pattern::BitReversal, eight), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(to(&Pattern::BitComplement, eight), [7, 6, 5, 4, 3, 2, 1, 0]);
        // b2 b1 b0 → b1 b0 b2
        assert_eq!(to(&Pattern::Shuffle, eight), [0, 2, 4, 6, 1, 3, 5, 7]);
        let two = &single(2);
        assert_eq!(to(&Pattern::BitReversal, two), [0, 1]);
        assert_eq!(to(&Pattern::Shuffle, two), [0, 1]);
        for pattern in [
            Pattern::BitReversal,
            Pattern::BitComplement,
            Pattern::Shuffle,
        ] {
            let why = refused(&pattern, &single(48));
            assert!(
                why.contains("power of two") && why.contains("take 32"),
                "{why}"
            );
        }
    }

    #[test]
    fn transpose_swaps_coordinates() {
        assert_eq!(
            to(&Pattern::Transpose, &single(9)),
            [0, 3, 6, 1, 4, 7, 2, 5, 8]
        );
        // With 2^(2b) NICs the halves of the number are swapped.
        let sixteen = to(&Pattern::Transpose, &single(16));
        assert!((0..16).all(|x| sixteen[x as usize] == (x >> 2 | (x & 3) << 2)));
        let why = refused(&Pattern::Transpose, &single(48));
        assert!(why.contains("square") && why.contains("take 36"), "{why}");
    }

    #[test]
    fn tornado_goes_half_round_each_ring() {
        // 5 x 2 switches of 2 NICs: 2 further in the first dimension, 0 in the other.
        let torus = Topology::cube(&[5, 2], true, 2, 1, None).unwrap();
        let to = to(&Pattern::Tornado, &torus);
        for nic in 0..20 {
            let (switch, port) = (nic / 2, nic % 2);
            let (x, y) = (switch % 5, switch / 5);
            assert_eq!(to[nic as usize], ((x + 2) % 5 + 5 * y) * 2 + port);
        }
        let why = refused(&Pattern::Tornado, &single(48));
        assert!(why.contains("{ neighbour = 23 }"), "{why}");
        let part = Topology::cube(&[5, 2], true, 2, 1, Some(19)).unwrap();
        assert!(refused(&Pattern::Tornado, &part).contains("leave out `hosts`"));
        let flat = Topology::cube(&[2, 2], true, 1, 1, None).unwrap();
        assert!(refused(&Pattern::Tornado, &flat).contains("at least 3"));
    }

    #[test]
    fn neighbours_at_any_offset() {
        let neighbour = |offset| to(&Pattern::Neighbour { offset }, &single(5));
        assert_eq!(neighbour(1), [1, 2, 3, 4, 0]);
        assert_eq!(neighbour(-2), [3, 4, 0, 1, 2]);
        assert_eq!(neighbour(7), neighbour(2));
        for offset in [0, 5, -10] {
            let why = refused(&Pattern::Neighbour { offset }, &single(5));
            assert!(why.contains("no multiple of 5"), "{why}");
        }
    }

    #[test]
    fn a_hotspot_draws_its_senders() {
        let hotspot = |node, num, seed| {
            let node = NicId::new(node);
            let fraction = Ratio::new(num, 10).unwrap();
            Pattern::Hotspot { node, fraction }.senders(&single(41), seed, 0)
        };
        let first = hotspot(7, 1, 1).unwrap();
        let target = Target::Nic(NicId::new(7));
        let hot = |list: &[Sender]| list.iter().filter(|s| s.target == target).count();
        assert_eq!(hot(&first), 4);
        let itself = Sender {
            nic: NicId::new(7),
            target: Target::Uniform,
        };
        assert_eq!(first[7], itself);
        assert_eq!(first.len(), 41);
        assert_ne!(first, hotspot(7, 1, 2).unwrap());
        assert_eq!(hot(&hotspot(7, 10, 1).unwrap()), 40);
        assert!(
            hotspot(41, 1, 1)
                .unwrap_err()
                .to_string()
                .contains("NIC 41")
        );
        assert!(
            hotspot(7, 0, 1)
                .unwrap_err()
                .to_string()
                .contains("at least one")
        );
        assert!(
            hotspot(7, 11, 1)
                .unwrap_err()
                .to_string()
                .contains("at most 1")
        );
    }

    #[test]
    fn permutations() {
        for nics in [2, 3, 48] {
            let random = to(&Pattern::Permutation, &single(nics));
            assert!((0..).zip(&random).all(|(x, &y)| x != y));
            let mut sorted = random;
            sorted.sort_unstable();
            assert!((0..nics).eq(sorted));
        }
        let per_seed = |seed| Pattern::Permutation.senders(&single(48), seed, 0);
        assert_ne!(per_seed(1), per_seed(2));
        let list = |list: &[u32]| Pattern::List(list.iter().copied().map(NicId::new).collect());
        assert_eq!(to(&list(&[2, 1, 0]), &single(3)), [2, 1, 0]);
        assert!(refused(&list(&[1, 0]), &single(3)).contains("lists 2 NICs"));
        assert!(refused(&list(&[1, 1, 0]), &single(3)).contains("NIC 1 is listed twice"));
        assert!(refused(&list(&[1, 3, 0]), &single(3)).contains("NIC 3 does not exist"));
    }

    #[test]
    fn a_pair_leaves_the_others_silent() {
        let pair = |from, to| Pattern::Pair {
            from: NicId::new(from),
            to: NicId::new(to),
        };
        assert_eq!(to(&pair(1, 3), &single(4)), [0, 3, 2, 3]);
        assert!(refused(&pair(1, 1), &single(4)).contains("sends to itself"));
        assert!(refused(&pair(4, 1), &single(4)).contains("NIC 4 does not exist"));
        assert!(refused(&Pattern::Uniform, &single(1)).contains("at least 2 NICs"));
    }
}
