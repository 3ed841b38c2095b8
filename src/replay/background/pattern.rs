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

/// The destinations of a flow. A NIC whose destination is itself sends nothing. On a fabric of several planes a pattern
/// holds on each of them, among its NICs; only [`List`](Self::List) and [`Pair`](Self::Pair) name NICs of all planes.
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
    /// Any other NIC of its plane with equal probability.
    Uniform {
        /// Planes of the fabric, of which NIC x is on plane x mod planes; at least 1.
        planes: u32,
    },
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
    /// If the pattern is not defined on this topology, or no NIC sends.
    pub fn senders(
        &self,
        topology: &Topology,
        seed: u64,
        flow: u64,
    ) -> Result<Vec<Sender>, PatternError> {
        let nics = topology.nics();
        let planes = topology.planes();
        if nics / planes < 2 {
            let each = if planes > 1 { " on each rail" } else { "" };
            return bad(format!("traffic needs a fabric with at least 2 NICs{each}"));
        }
        if let &Self::Pair { from, to } = self {
            check_pair(from, to, topology)?;
        }
        let mut stream = Stream::new(seed, Purpose::Pattern, [flow, 0]);
        let targets = self.targets(topology, &mut stream)?;
        let senders = topology.nic_ids().zip(targets);
        let senders = senders.map(|(nic, target)| Sender { nic, target });
        let sends = |sender: &Sender| match self {
            Self::Pair { from, .. } => sender.nic == *from,
            _ => sender.target != Target::Nic(sender.nic),
        };
        let senders: Vec<Sender> = senders.filter(sends).collect();
        if senders.is_empty() {
            return bad(
                "the pattern leads each NIC back to itself, so none sends; take another pattern"
                    .to_owned(),
            );
        }
        stays_on_planes(&senders, planes)?;
        Ok(senders)
    }

    /// The target of each NIC, which may be the NIC itself.
    fn targets(
        &self,
        topology: &Topology,
        stream: &mut Stream,
    ) -> Result<Vec<Target>, PatternError> {
        let planes = topology.planes();
        let (all, nics) = (topology.nics(), topology.nics() / planes);
        // By the plane and the number of a NIC on it.
        let on_planes = |to: &dyn Fn(u32, u32) -> u32| {
            let to = |x| to(x % planes, x / planes) * planes + x % planes;
            let targets = (0..all).map(|x| Target::Nic(NicId::new(to(x))));
            targets.collect::<Vec<_>>()
        };
        let fixed = |to: &dyn Fn(u32) -> u32| on_planes(&|_, x| to(x));
        Ok(match self {
            Self::Uniform => vec![Target::Uniform { planes }; all as usize],
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
                check_exists(*node, all)?;
                hotspot([all, planes], *node, *fraction, stream)?
            }
            Self::Permutation => {
                let to: Vec<_> = (0..planes).map(|_| permutation(nics, stream)).collect();
                on_planes(&|plane, x| to[plane as usize][x as usize])
            }
            Self::List(list) => {
                check_list(list, topology)?;
                list.iter().map(|&nic| Target::Nic(nic)).collect()
            }
            Self::Pair { to, .. } => vec![Target::Nic(*to); all as usize],
        })
    }
}

/// Every sender sends to NICs of its own plane.
fn stays_on_planes(senders: &[Sender], planes: u32) -> Result<(), PatternError> {
    let leaves = |sender: &Sender| match sender.target {
        Target::Nic(to) if to.get() % planes != sender.nic.get() % planes => Some((sender.nic, to)),
        _ => None,
    };
    match senders.iter().find_map(leaves) {
        None => Ok(()),
        Some((from, to)) => bad(format!(
            "NIC {from} has no links to NIC {to}, which is on another rail; name NICs whose numbers differ by a \
             multiple of {planes}"
        )),
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

fn check_pair(from: NicId, to: NicId, topology: &Topology) -> Result<(), PatternError> {
    check_exists(from, topology.nics())?;
    check_exists(to, topology.nics())?;
    if from == to {
        return bad(format!(
            "{} sends to itself; name two different NICs",
            topology.nic_text(from)
        ));
    }
    Ok(())
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
    [nics, planes]: [u32; 2],
    node: NicId,
    fraction: Ratio,
    stream: &mut Stream,
) -> Result<Vec<Target>, PatternError> {
    let beside = |nic: &NicId| *nic != node && nic.get() % planes == node.get() % planes;
    let mut others: Vec<NicId> = NicId::all(nics).filter(beside).collect();
    let most = others.len() as u64;
    let hot = fraction.mul_round(most).unwrap_or(u64::MAX);
    if hot == 0 || hot > most {
        return bad(format!(
            "a fraction of {fraction} of {most} NICs is {hot} senders; take a fraction \
             above 0 and at most 1 that makes at least one"
        ));
    }
    stream.shuffle(&mut others);
    let mut targets = vec![Target::Uniform { planes }; nics as usize];
    for &sender in &others[..hot as usize] {
        targets[sender.index()] = Target::Nic(node);
    }
    Ok(targets)
}

/// A permutation of the first `count` numbers without fixed points, for [`Pattern::Permutation`].
fn permutation(count: u32, stream: &mut Stream) -> Vec<u32> {
    let mut to: Vec<u32> = (0..count).collect();
    // About one permutation in e has no fixed point.
    while (0..count).zip(&to).any(|(x, &y)| x == y) {
        stream.shuffle(&mut to);
    }
    to
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
