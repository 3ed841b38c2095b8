//! The DTable configuration method with bandwidth correction (Hiperion,
//! sections 3.3.2 and 3.3.3), in exact rational arithmetic.
//!
//! Weights, GMTU and MTUᵢ count credits of 64 bytes. The result has the columns of the
//! publication's Tables 5, 9 and 10.

use crate::spec::hierarchical::DTableEntry;
use crate::spec::validate::{MAX_DTABLE_WEIGHT, MAX_LEVELS};
use flitwise_base::units::Ratio;
use thiserror::Error;

/// Most entries of an arbitration table; far above the 128 of the publication.
pub const MAX_ENTRIES: u32 = 1 << 16;
/// Largest w, and so largest k.
pub const MAX_W: u32 = 1 << 12;

/// The input of the method (Table 4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DTableParameters {
    /// N: entries of the table.
    pub entries: u32,
    /// General MTU in units of 64 B.
    pub gmtu: u32,
    /// w: maximum weight decoupling parameter.
    pub w: u32,
    /// k: bandwidth pool decoupling parameter, at most w.
    pub k: u32,
    /// The service levels, indexed by SL.
    pub service_levels: Vec<DTableSl>,
}

/// The input of the method for one service level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DTableSl {
    /// Name, for messages.
    pub name: String,
    /// Largest distance between two consecutive entries of the SL.
    pub distance: u32,
    /// MTUᵢ in units of 64 B.
    pub mtu: u32,
    /// φᵢ: share of the link.
    pub share: Ratio,
}

/// The finished table with every column of the method.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DTableTable {
    /// N.
    pub slots: u32,
    /// pool = N × GMTU × k.
    pub pool: u64,
    /// M = GMTU × w: largest weight of an entry before the correction.
    pub max_entry_weight: u64,
    /// One column set per service level, indexed by SL.
    pub columns: Vec<DTableColumn>,
    /// Sum of all weights before the correction.
    pub weight_sum: u64,
    /// Sum of all weights after the correction.
    pub final_sum: u64,
    /// The table before the correction.
    pub uncorrected: Vec<DTableEntry>,
    /// The table after the correction, as the scheduler uses it.
    pub entries: Vec<DTableEntry>,
}

/// The columns of one service level.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DTableColumn {
    /// nᵢ: entries of the SL.
    pub entries: u32,
    /// nᵢ / N.
    pub entry_share: Ratio,
    /// MTUᵢ in units of 64 B.
    pub mtu: u32,
    /// minφᵢ = nᵢ × MTUᵢ / pool.
    pub min_share: Ratio,
    /// maxφᵢ = nᵢ × M / pool.
    pub max_share: Ratio,
    /// φᵢ as asked for.
    pub share: Ratio,
    /// Tweightᵢ = pool × φᵢ, not rounded.
    pub target_weight: Ratio,
    /// E.W. = ⌈Tweightᵢ / nᵢ⌉.
    pub entry_weight: u32,
    /// Sum of the SL's entry weights before the correction.
    pub weight: u64,
    /// Rφᵢ: share before the correction.
    pub real_share: Ratio,
    /// Dweightᵢ: weight to be added.
    pub correction: i64,
    /// Part of the correction that no entry could take without falling below
    /// MTUᵢ; 0 in every table of the publication.
    pub uncorrected: i64,
    /// Fweightᵢ: sum of the SL's entry weights after the correction.
    pub final_weight: u64,
    /// Fφᵢ: share after the correction.
    pub final_share: Ratio,
}

/// A table that can be built but does not give a service level the share that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shortfall {
    /// φᵢ < minφᵢ: an entry weighs less than one packet.
    BelowRange(usize),
    /// φᵢ > maxφᵢ: an entry weighs more than M.
    AboveRange(usize),
    /// No entry could take the rest of the correction without falling below MTUᵢ.
    Uncorrected(usize),
}

/// A table that cannot be built, and why.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DTableError {
    /// N, GMTU, w or k is out of range.
    #[error("{0}")]
    Parameter(String),
    /// The distances do not fill the table.
    #[error("{0}")]
    Distances(String),
    /// A share is outside the range that the table can give.
    #[error("{0}")]
    Share(String),
}

/// Builds the table.
///
/// # Errors
/// The errors of [`construct`], or if a share is outside minφ..maxφ.
pub fn build(parameters: &DTableParameters) -> Result<DTableTable, DTableError> {
    let table = construct(parameters)?;
    let mut shortfalls = table.shortfalls().into_iter();
    match shortfalls.find(|s| !matches!(s, Shortfall::Uncorrected(_))) {
        Some(shortfall) => Err(DTableError::Share(table.explain(parameters, &shortfall))),
        None => Ok(table),
    }
}

/// Builds the table also where shares are outside minφ..maxφ; see
/// [`DTableTable::shortfalls`].
///
/// # Errors
/// If the parameters are out of range, the distances do not fill the table exactly, a
/// share is 0, or the shares do not add up to 1.
pub fn construct(parameters: &DTableParameters) -> Result<DTableTable, DTableError> {
    check(parameters)?;
    let n = parameters.entries;
    let pool = u64::from(n) * u64::from(parameters.gmtu) * u64::from(parameters.k);
    let max_entry_weight = u64::from(parameters.gmtu) * u64::from(parameters.w);
    let layout = lay_out(n, &parameters.service_levels)?;

    let mut columns = Vec::with_capacity(parameters.service_levels.len());
    for sl in &parameters.service_levels {
        columns.push(column(sl, n, pool, max_entry_weight)?);
    }
    let uncorrected: Vec<_> = layout
        .iter()
        .map(|&sl| DTableEntry {
            sl,
            weight: columns[usize::from(sl)].entry_weight,
        })
        .collect();
    let weight_sum: u64 = columns.iter().map(|c| c.weight).sum();

    let mut entries = uncorrected.clone();
    for (sl, column) in columns.iter_mut().enumerate() {
        let overflow = || DTableError::Share(format!("share {}: too many digits", column.share));
        column.real_share = Ratio::new(column.weight, weight_sum).unwrap_or(Ratio::ZERO);
        column.correction = correction(column, weight_sum).ok_or_else(overflow)?;
        column.uncorrected = correct(&mut entries, sl as u8, column.correction, column.mtu);
        column.final_weight = weight_of(&entries, sl as u8);
    }
    let final_sum: u64 = columns.iter().map(|c| c.final_weight).sum();
    for column in &mut columns {
        column.final_share = Ratio::new(column.final_weight, final_sum).unwrap_or(Ratio::ZERO);
    }
    Ok(DTableTable {
        slots: n,
        pool,
        max_entry_weight,
        columns,
        weight_sum,
        final_sum,
        uncorrected,
        entries,
    })
}

fn check(p: &DTableParameters) -> Result<(), DTableError> {
    let parameter = |problem: String| Err(DTableError::Parameter(problem));
    if p.entries == 0 || p.entries > MAX_ENTRIES {
        return parameter(format!(
            "entries = {}: must be 1 to {MAX_ENTRIES}",
            p.entries
        ));
    }
    if p.gmtu == 0 || p.gmtu > 1 << 16 {
        return parameter("gmtu must be above 0 and at most 4 MiB".into());
    }
    if p.k == 0 || p.k > p.w || p.w > MAX_W {
        return parameter(format!(
            "k = {}, w = {}: 1 <= k <= w <= {MAX_W} must hold",
            p.k, p.w
        ));
    }
    if p.service_levels.is_empty() || p.service_levels.len() > MAX_LEVELS {
        return parameter(format!(
            "{} service levels; there must be 1 to {MAX_LEVELS}",
            p.service_levels.len()
        ));
    }
    let largest = u64::from(p.gmtu) * u64::from(p.w);
    for DTableSl { name, mtu, .. } in &p.service_levels {
        if *mtu == 0 {
            return parameter(format!("{name}: an MTU of 0 bytes carries nothing"));
        }
        if u64::from(*mtu) > largest {
            return parameter(format!(
                "a packet of {name} takes {mtu} credits of 64 B, more than an entry may weigh \
                 (gmtu x w = {largest}); lower its MTU, or raise gmtu or w"
            ));
        }
    }
    if let Some(sl) = p.service_levels.iter().find(|sl| sl.share.is_zero()) {
        return Err(DTableError::Share(format!(
            "share 0 of {}: its entries would carry nothing; give it a share or take it out",
            sl.name
        )));
    }
    let sum = p
        .service_levels
        .iter()
        .try_fold(Ratio::ZERO, |sum, sl| sum.checked_add(sl.share));
    match sum {
        Some(Ratio::ONE) => Ok(()),
        Some(sum) => Err(DTableError::Share(format!(
            "the shares add up to {sum}; they must add up to 1 (1/3 can be written \"1/3\")"
        ))),
        None => Err(DTableError::Share(
            "the shares have too many digits to be added exactly".into(),
        )),
    }
}

/// SL of every slot: SLs by ascending distance, each from the first free slot on.
fn lay_out(n: u32, sls: &[DTableSl]) -> Result<Vec<u8>, DTableError> {
    let mut order: Vec<usize> = (0..sls.len()).collect();
    order.sort_by_key(|&i| sls[i].distance);
    let mut slots: Vec<Option<u8>> = vec![None; n as usize];
    for sl in order {
        let DTableSl { name, distance, .. } = &sls[sl];
        if *distance == 0 || !n.is_multiple_of(*distance) {
            return Err(DTableError::Distances(format!(
                "distance {distance} of {name} does not divide the {n} entries of the table; \
                 powers of two such as {} do",
                nearest_power(n, *distance)
            )));
        }
        let first = slots
            .iter()
            .position(Option::is_none)
            .unwrap_or(slots.len());
        let mut stride = (first..slots.len()).step_by(*distance as usize);
        let free = first < *distance as usize && stride.all(|slot| slots[slot].is_none());
        if !free {
            return Err(DTableError::Distances(format!(
                "no room for {name} at distance {distance}: the SLs with smaller distances take its entries; \
                 powers of two with 1/distance adding up to 1 always fit"
            )));
        }
        for slot in (first..slots.len()).step_by(*distance as usize) {
            slots[slot] = Some(sl as u8);
        }
    }
    let empty = slots.iter().filter(|s| s.is_none()).count();
    slots.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| {
        DTableError::Distances(format!(
            "the distances leave {empty} of {n} entries empty; 1/distance must add up to 1 over the SLs"
        ))
    })
}

/// The largest power of two that divides `n` and is not above `distance`.
fn nearest_power(n: u32, distance: u32) -> u32 {
    let largest = 1 << n.trailing_zeros().min(16);
    (1 << distance.max(1).ilog2()).min(largest)
}

fn column(
    sl: &DTableSl,
    n: u32,
    pool: u64,
    max_entry_weight: u64,
) -> Result<DTableColumn, DTableError> {
    let count = u64::from(n / sl.distance);
    let ratio = |num: u64, den: u64| Ratio::new(num, den).unwrap_or(Ratio::ZERO);
    let (min_share, max_share) = (
        ratio(count * u64::from(sl.mtu), pool),
        ratio(count * max_entry_weight, pool),
    );
    let DTableSl {
        name, share, mtu, ..
    } = sl;
    let overflow = || DTableError::Share(format!("share {share} of {name} has too many digits"));
    let target_weight = share.checked_mul(Ratio::whole(pool)).ok_or_else(overflow)?;
    let entry_weight = target_weight.num().div_ceil(
        target_weight
            .den()
            .checked_mul(count)
            .ok_or_else(overflow)?,
    );
    let entry_weight = u32::try_from(entry_weight)
        .ok()
        .filter(|&weight| weight <= MAX_DTABLE_WEIGHT)
        .ok_or_else(|| {
            DTableError::Share(format!(
                "an entry of {name} would weigh {entry_weight} credits, more than \
                 {MAX_DTABLE_WEIGHT}; lower k or gmtu, or give it a smaller distance"
            ))
        })?;
    Ok(DTableColumn {
        entries: n / sl.distance,
        entry_share: ratio(count, n.into()),
        mtu: *mtu,
        min_share,
        max_share,
        share: *share,
        target_weight,
        entry_weight,
        weight: count * u64::from(entry_weight),
        real_share: Ratio::ZERO,
        correction: 0,
        uncorrected: 0,
        final_weight: 0,
        final_share: Ratio::ZERO,
    })
}

impl DTableTable {
    /// The service levels whose shares the table does not give as asked for.
    #[must_use]
    pub fn shortfalls(&self) -> Vec<Shortfall> {
        let of = |(i, c): (usize, &DTableColumn)| {
            if c.share < c.min_share {
                Some(Shortfall::BelowRange(i))
            } else if c.share > c.max_share {
                Some(Shortfall::AboveRange(i))
            } else {
                (c.uncorrected != 0).then_some(Shortfall::Uncorrected(i))
            }
        };
        self.columns.iter().enumerate().filter_map(of).collect()
    }

    /// A shortfall in words, with its cure.
    #[must_use]
    pub fn explain(&self, parameters: &DTableParameters, shortfall: &Shortfall) -> String {
        let (Shortfall::BelowRange(i) | Shortfall::AboveRange(i) | Shortfall::Uncorrected(i)) =
            shortfall;
        let (Some(c), Some(sl)) = (self.columns.get(*i), parameters.service_levels.get(*i)) else {
            return format!("service level {i} does not exist");
        };
        let (name, share) = (&sl.name, c.share);
        let outside = || {
            format!(
                "share {share} of {name} is outside {} to {}, the range of its {} entries",
                c.min_share, c.max_share, c.entries
            )
        };
        match shortfall {
            Shortfall::BelowRange(_) => format!(
                "{}; an entry would be smaller than one packet: lower its MTU, raise k or give it \
                 a larger distance",
                outside()
            ),
            Shortfall::AboveRange(_) => format!(
                "{}; raise w, lower k or give it a smaller distance",
                outside()
            ),
            Shortfall::Uncorrected(_) => format!(
                "{name} keeps {} credits too many: its entries cannot fall below its MTU; raise k \
                 or lower the MTU",
                c.uncorrected.unsigned_abs()
            ),
        }
    }

    /// Smallest and largest weight of the corrected entries of service level `sl`.
    #[must_use]
    pub fn final_entry_weights(&self, sl: usize) -> (u32, u32) {
        let weights = || {
            let own = self.entries.iter().filter(|e| usize::from(e.sl) == sl);
            own.map(|e| e.weight)
        };
        (weights().min().unwrap_or(0), weights().max().unwrap_or(0))
    }
}

impl DTableColumn {
    /// Rφᵢ − φᵢ, exact until the last division.
    #[must_use]
    pub fn difference(&self) -> f64 {
        let (a, b) = (
            i128::from(self.real_share.num()),
            i128::from(self.real_share.den()),
        );
        let (c, d) = (i128::from(self.share.num()), i128::from(self.share.den()));
        // Terms of more than 63 bits may not fit.
        let exact = || {
            let num = a.checked_mul(d)?.checked_sub(c.checked_mul(b)?)?;
            Some(num as f64 / b.checked_mul(d)? as f64)
        };
        exact().unwrap_or_else(|| self.real_share.to_f64() - self.share.to_f64())
    }
}

/// Dweight = −round((Rφ − φ) × Σ weight), half away from zero, which is
/// −round(weight − φ × Σ) without a division.
fn correction(column: &DTableColumn, weight_sum: u64) -> Option<i64> {
    let den = i128::from(column.share.den());
    let difference = i128::from(column.weight).checked_mul(den)?
        - i128::from(weight_sum).checked_mul(column.share.num().into())?;
    let magnitude = (2 * difference.abs() + den) / (2 * den);
    i64::try_from(-difference.signum() * magnitude).ok()
}

/// Adds `change` to the entries of `sl`, ±1 in turn from the table's end, never
/// taking an entry below `mtu`. Returns the rest that could not be applied.
fn correct(entries: &mut [DTableEntry], sl: u8, change: i64, mtu: u32) -> i64 {
    let own = (0..entries.len()).rev().filter(|&i| entries[i].sl == sl);
    let own: Vec<usize> = own.collect();
    let mut left = change;
    while left != 0 {
        let before = left;
        for &i in &own {
            let weight = &mut entries[i].weight;
            if left > 0 {
                *weight += 1;
                left -= 1;
            } else if left < 0 && *weight > mtu {
                *weight -= 1;
                left += 1;
            }
        }
        if left == before {
            break;
        }
    }
    left
}

fn weight_of(entries: &[DTableEntry], sl: u8) -> u64 {
    entries
        .iter()
        .filter(|e| e.sl == sl)
        .map(|e| u64::from(e.weight))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 6 of the publication.
    #[test]
    fn table_6_entry_by_entry() {
        let sls = [2, 4, 4].map(|distance| DTableSl {
            name: String::new(),
            distance,
            mtu: 1,
            share: Ratio::ONE,
        });
        let layout = lay_out(8, &sls).unwrap();
        assert_eq!(layout, [0, 1, 0, 2, 0, 1, 0, 2]);
        let weights = [4, 2, 4, 3, 4, 2, 4, 3];
        let mut entries: Vec<_> = layout
            .iter()
            .zip(weights)
            .map(|(&sl, weight)| DTableEntry { sl, weight })
            .collect();
        for (sl, change) in [(0, -3), (1, 1), (2, 2)] {
            assert_eq!(correct(&mut entries, sl, change, 1), 0);
        }
        let corrected: Vec<u32> = entries.iter().map(|e| e.weight).collect();
        assert_eq!(corrected, [4, 2, 3, 4, 3, 3, 3, 4]);
    }

    #[test]
    fn correction_stops_at_the_mtu() {
        let mut entries = vec![
            DTableEntry { sl: 0, weight: 5 },
            DTableEntry { sl: 0, weight: 4 },
        ];
        assert_eq!(correct(&mut entries, 0, -4, 4), -3);
        assert_eq!(entries, [DTableEntry { sl: 0, weight: 4 }; 2]);
    }
}
