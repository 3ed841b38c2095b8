//! Sizes of buffers and quotas, from bytes to credits.

use crate::error::{SpecError, error};
use crate::spec::{Qos, Units};
use flitwise_base::units::BufferPart;

/// `value` of `key` in 32 bits.
pub(crate) fn small(value: u64, key: &'static str) -> Result<u32, SpecError> {
    u32::try_from(value).or_else(|_| error(key, "is larger than 4 GiB".into()))
}

/// The quantities from which sizes of buffers and quotas are computed.
pub(crate) struct Sizes {
    pub units: Units,
    /// Credits of the largest data packet of all.
    pub packet: u32,
}

impl Sizes {
    pub fn new(units: Units, qos: &Qos) -> Self {
        let packets = (0..qos.vls).map(|vl| qos.data_credits_on_vl(units, vl));
        let packet = packets.max().unwrap_or(1);
        Self { units, packet }
    }

    /// Credits of the whole buffer `key` of `bytes` bytes.
    pub(crate) fn total(&self, bytes: u64, key: &'static str) -> Result<u32, SpecError> {
        let credit = self.credit_bytes();
        if bytes < credit || !bytes.is_multiple_of(credit) {
            return error(
                key,
                format!("{bytes} B must be a whole number of credits of {credit} B"),
            );
        }
        small(bytes / credit, key)
    }

    fn credit_bytes(&self) -> u64 {
        u64::from(self.units.flit_bytes) * u64::from(self.units.flits_per_credit)
    }

    /// Credits that `part` is of a buffer of `total` credits, `packet` being the credits of a
    /// packet.
    pub fn credits(&self, part: BufferPart, total: u32, packet: u32) -> u32 {
        let credits = match part {
            BufferPart::Packets(n) => n.saturating_mul(packet.into()),
            BufferPart::Credits(n) => n,
            BufferPart::Bytes(n) => n / self.credit_bytes().max(1),
            BufferPart::Share(share) => share.mul_floor(total.into()),
        };
        u32::try_from(credits).unwrap_or(u32::MAX)
    }
}
