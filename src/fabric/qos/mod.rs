//! Quality of service: makes the arbitration tables.

pub mod dtable_proposal;
pub mod dtable_table;

use flitwise_base::units::Ratio;

/// The SBT weight of a service level with this share: its percentage, at most 100, which must be whole
/// (Hiperion, section 3.2 and Table 10). `None` for other shares.
#[must_use]
pub fn sbt_weight(share: Ratio) -> Option<u32> {
    let percent = share.checked_mul(Ratio::whole(100))?;
    let whole = percent.den() == 1 && percent.num() <= 100;
    u32::try_from(percent.num()).ok().filter(|_| whole)
}
