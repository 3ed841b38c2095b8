//! Congestion control, the same in both fabrics (`docs/model/infiniband.md` §9, §11 and §12).

mod flows;
mod port_vl;

pub use flows::Flows;
pub use port_vl::PortVl;

use flitwise_base::units::Ratio;
use flitwise_fabric::spec::Tick;
use flitwise_fabric::spec::congestion::{CctEntry, FlowLevel};

/// The owner of an index into the congestion control table, within a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowKey {
    /// A queue pair: SL and destination.
    Qp {
        /// Service level.
        sl: u8,
        /// Receiving NIC.
        dst: u32,
    },
    /// All packets of an SL.
    Sl {
        /// Service level.
        sl: u8,
    },
}

impl FlowKey {
    fn of(level: FlowLevel, sl: u8, dst: u32) -> Self {
        match level {
            FlowLevel::Qp => Self::Qp { sl, dst },
            FlowLevel::Sl => Self::Sl { sl },
        }
    }

    /// Its service level.
    #[must_use]
    pub fn sl(self) -> usize {
        match self {
            Self::Qp { sl, .. } | Self::Sl { sl } => sl.into(),
        }
    }
}

/// The delay of an entry after `bytes` bytes on a link of `rate` flits of `flit_bytes` per tick.
fn times(entry: CctEntry, bytes: u32, (rate, flit_bytes): (Ratio, u32)) -> Tick {
    let p = u128::from(rate.num()) * u128::from(flit_bytes);
    let q = u128::from(rate.den());
    let over = u128::from(bytes) * q * u128::from(entry.multiplier);
    (over / (p << entry.shift)) as Tick
}
