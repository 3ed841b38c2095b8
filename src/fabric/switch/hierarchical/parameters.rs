//! The hierarchical switch in bytes, rates and times, and how its plain data follow from these.

use super::central::Classes;
use super::{
    Allocator, Buffers, CentralLink, CentralQueues, Hierarchical, Pool, Quota, Scheduler, Timing,
    VirtualAllocation,
};
use crate::error::error;
use crate::parameters::Parameters;
use crate::sizes::Sizes;
use crate::spec::{Qos, SpecError, Units};
use crate::topology::Topology;
use flitwise_base::units::{BufferPart, PS_PER_S, Ratio, TickLength};

/// Parameters of the hierarchical switch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HierarchicalParameters {
    /// Rate of all links in bytes per second.
    pub link_rate: Ratio,
    /// Part of an allocation that waits for the transfer before it to end.
    /// The rule by which the sources pick a queue.
    pub virtual_allocation: VirtualAllocation,
    /// When sources and targets allocate.
    pub allocator: Allocator,
    /// Flits per tick from an input buffer.
    pub mport_speedup: u32,
    /// Flits per tick from a central buffer.
    pub central_speedup: u32,
    /// Size of a central buffer in bytes.
    pub central_buffer: u64,
    /// Whether a central buffer is larger where the exclusive quotas of its queues need that.
    pub central_buffer_grows: bool,
    /// Exclusive quota of a VL; the second is taken where the first does not fit.
    pub exclusive: [BufferPart; 2],
    /// Most that a VL may take of a buffer.
    pub max: BufferPart,
    /// Exclusive quota of a queue of a central buffer.
    pub central_exclusive: BufferPart,
    /// Most that a queue may take of a central buffer; `None`: as `max`.
    pub central_max: Option<BufferPart>,
    /// Division of the central buffers.
    pub central_queues: CentralQueues,
    /// Which central buffer a packet takes.
    pub central_link: CentralLink,
    /// Scheduler of every switch output and NIC.
    pub scheduler: Scheduler,
}

impl HierarchicalParameters {
    /// One tick moves one flit of `flit` bytes: flit / rate.
    pub(crate) fn tick(&self, flit: u64) -> Result<TickLength, SpecError> {
        const KEY: &str = "fabric.link_rate";
        let rate = self.link_rate;
        if rate.is_zero() {
            let problem = "is 0; nothing would ever move: write e.g. link_rate = \"12.5GB/s\"";
            return error(KEY, problem.into());
        }
        let num = u128::from(flit) * u128::from(PS_PER_S) * u128::from(rate.den());
        let tick = Ratio::reduced(num, rate.num().into()).and_then(TickLength::new);
        tick.map_or_else(
            || {
                error(
                    KEY,
                    format!(
                        "a flit of {flit} B at {rate} B/s takes less than a picosecond; choose a \
                         lower rate or a larger flit"
                    ),
                )
            },
            Ok,
        )
    }

    pub(crate) fn build(
        &self,
        all: &Parameters,
        units: Units,
        qos: &Qos,
        topology: &Topology,
    ) -> Result<Hierarchical, SpecError> {
        Ok(Hierarchical {
            timing: Timing {
                stages: all.stages.ticks(units.tick),
                mport_speedup: self.mport_speedup,
                central_speedup: self.central_speedup,
            },
            virtual_allocation: self.virtual_allocation,
            allocator: self.allocator,
            buffers: self.buffers(all, units, qos, topology)?,
            scheduler: self.scheduler.clone(),
        })
    }

    fn buffers(
        &self,
        all: &Parameters,
        units: Units,
        qos: &Qos,
        topology: &Topology,
    ) -> Result<Buffers, SpecError> {
        let sizes = Sizes::new(units, qos);
        let packets: Vec<u32> = (0..qos.vls)
            .map(|vl| qos.data_credits_on_vl(units, vl))
            .collect();
        let pool = |bytes: u64, key| -> Result<Pool, SpecError> {
            let total = sizes.total(bytes, key)?;
            let quota = self.quota(&sizes, total, packets.len());
            let of_vl = |&packet: &u32| if packet == 0 { Quota::NONE } else { quota };
            Ok(Pool {
                total,
                per_vl: packets.iter().map(of_vl).collect(),
            })
        };
        let mut central_total = sizes.total(self.central_buffer, "fabric.central_buffer")?;
        if self.central_buffer_grows {
            let quota = |&packet: &u32| match packet {
                0 => 0,
                _ => u64::from(self.central_quota(&sizes, central_total, packet).exclusive),
            };
            let classes = || Classes::new(topology, self.central_queues, self.central_link);
            let needed = exclusive_credits(
                topology,
                classes,
                packets.iter().map(quota).sum(),
                central_total,
            );
            central_total = central_total.max(needed);
        }
        let central = |&packet: &u32| match packet {
            0 => Quota::NONE,
            _ => self.central_quota(&sizes, central_total, packet),
        };
        Ok(Buffers {
            nic_queue: pool(all.buffers.nic_queue, "fabric.nic_queue")?,
            nic_sink: pool(all.buffers.nic_sink, "fabric.nic_sink")?,
            input: pool(all.buffers.input, "fabric.input_buffer")?,
            output: pool(all.buffers.output, "fabric.output_buffer")?,
            central: Pool {
                total: central_total,
                per_vl: packets.iter().map(central).collect(),
            },
            central_queues: self.central_queues,
            central_link: self.central_link,
        })
    }

    /// Quota of each of `vls` VLs in a buffer of `total` credits.
    fn quota(&self, sizes: &Sizes, total: u32, vls: usize) -> Quota {
        let credits = |part: BufferPart| sizes.credits(part, total, sizes.packet);
        let max = credits(self.max);
        let [wanted, fallback] = self.exclusive.map(credits);
        let fits = u64::from(wanted) * vls as u64 <= u64::from(total) && wanted <= max;
        Quota {
            exclusive: if fits { wanted } else { fallback },
            max: max.min(total),
        }
    }

    /// Quota of a queue in a central buffer of `total` credits. Its largest packet takes `packet`.
    fn central_quota(&self, sizes: &Sizes, total: u32, packet: u32) -> Quota {
        let max = self.central_max.unwrap_or(self.max);
        Quota {
            exclusive: sizes.credits(self.central_exclusive, total, packet),
            max: sizes.credits(max, total, packet).min(total),
        }
    }
}

/// The most exclusive credits of the queues of any central buffer, each class of which has `per_class` of them; 0 where
/// `room` credits are enough in any case.
fn exclusive_credits(
    topology: &Topology,
    classes: impl FnOnce() -> Classes,
    per_class: u64,
    room: u32,
) -> u32 {
    let radix = topology.radix();
    if per_class.saturating_mul(u64::from(radix)) <= u64::from(room) {
        return 0;
    }
    let classes = classes();
    let of_switch = |at| (0..radix / 2).map(move |buffer| (at, buffer));
    let buffers = topology.switch_ids().flat_map(of_switch);
    let counts = buffers.map(|(at, buffer)| {
        let existing = classes.existing(topology, at, buffer / 2, buffer % 2);
        existing.count() as u64
    });
    let most = counts.max().unwrap_or(0);
    u32::try_from(per_class.saturating_mul(most)).unwrap_or(u32::MAX)
}
