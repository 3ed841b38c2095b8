//! Resolves `[[background]]` and `[measure]`.

use crate::config::background::Background;
use crate::config::background::message::too_fine;
use crate::config::document::{ConfigError, given, refused};
use crate::fabric::spec::{FabricSpec, Tick};
use crate::units::{Latency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most loads in one experiment.
const MAX_LOADS: usize = 10_000;

/// Most ticks of a warm-up or a window: ten minutes at 640 ps.
const MAX_TICKS: Tick = 1 << 40;

/// Most batches that must agree.
const MAX_BATCHES: u32 = 1000;

/// Defaults of `[measure]` in picoseconds: warm-up, its end at the latest, batch, window.
const WARM_UP_PS: u64 = 20_000_000;

const MAX_WARM_UP_PS: u64 = 500_000_000;

const BATCH_PS: u64 = 5_000_000;

const WINDOW_PS: u64 = 50_000_000;

const BATCHES: u32 = 4;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawMeasure {
    /// Factors on the rates of all flows, a run for each.
    ///
    /// If the rates add up to 1, a factor is the load in flits per cycle and NIC. A load of 0 is an idle fabric, which
    /// is steady at `warm_up`.
    #[schemars(extend("default" = [1]))]
    pub loads: Option<Vec<Ratio>>,
    /// Least time before the window.
    #[schemars(extend("default" = "20us"))]
    pub warm_up: Option<Latency>,
    /// Most time before the window; if equal to `warm_up`, fixed.
    ///
    /// Flitwise then does not look for a steady fabric.
    #[schemars(extend("x-default" = "`\"500us\"`, at least `warm_up`"))]
    pub max_warm_up: Option<Latency>,
    /// Length of the batches that are compared.
    ///
    /// They are parts of the warm-up.
    #[schemars(extend("x-default" = "`\"5us\"`, at most `warm_up` / `batches`"))]
    pub batch: Option<Latency>,
    /// Number of agreeing batches, at least 2.
    ///
    /// Together they are no longer than `warm_up`.
    #[schemars(extend("default" = BATCHES))]
    pub batches: Option<u32>,
    /// Largest difference of such batches, at most 1.
    ///
    /// Flitwise checks at `warm_up`, and then at the end of each further batch. The fabric is steady if three things
    /// hold for the last `batches` batches: the numbers of flits delivered differ by at most `tolerance` × their mean
    /// (largest less smallest); so do the mean network latencies of the packets delivered; and each batch delivered a
    /// packet.
    #[schemars(extend("default" = "5%"))]
    pub tolerance: Option<Ratio>,
    /// Length of the window.
    ///
    /// Offered load: flits of the messages created in the window. Accepted load: flits of the packets delivered in it.
    /// End-to-end latency: of the messages delivered in it, from creation to the arrival of the last tail. Network
    /// latency: of the packets delivered in it, from the header leaving the NIC to the tail arriving. The time of their
    /// creation does not matter; at saturation the end-to-end latency grows with warm-up and window.
    #[schemars(extend("default" = "50us"))]
    pub window: Option<Latency>,
}

/// A measurement of synthetic traffic: warm-up until the fabric is steady, then a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[non_exhaustive]
pub struct Measure {
    /// Factors on the rates of all flows, a run for each; at least one.
    pub loads: Vec<Ratio>,
    /// Least ticks before the window.
    #[serde(rename = "warm_up_ticks")]
    pub warm_up: Tick,
    /// Most ticks before the window, at least `warm_up`; if equal, nothing is detected.
    #[serde(rename = "max_warm_up_ticks")]
    pub max_warm_up: Tick,
    /// Ticks of a batch, at least 1.
    #[serde(rename = "batch_ticks")]
    pub batch: Tick,
    /// Batches that must agree, at least 2; together at most `warm_up`.
    pub batches: u32,
    /// The largest difference of batches that agree, relative to their mean.
    #[schemars(extend("unit" = "fraction"))]
    pub tolerance: Ratio,
    /// Ticks of the window, at least 1.
    #[serde(rename = "window_ticks")]
    pub window: Tick,
}

/// The measurement of an experiment without a job.
pub(crate) fn measure(
    raw: &RawMeasure,
    fabric: &FabricSpec,
    flows: &[Background],
) -> Result<Measure, ConfigError> {
    let tick = fabric.units.tick;
    let ticks = |name: &str, given: Option<Latency>, default_ps: u64, least: Tick| {
        let ticks = given.unwrap_or(Latency::Time(default_ps)).ticks(tick);
        if (least..=MAX_TICKS).contains(&ticks) {
            return Ok(ticks);
        }
        refused(
            format!("measure.{name}"),
            format!("{ticks} ticks; it must be {least} to 2^40 ticks"),
        )
    };
    let warm_up = ticks("warm_up", raw.warm_up, WARM_UP_PS, 0)?;
    let batches = raw.batches.unwrap_or(BATCHES);
    if !(2..=MAX_BATCHES).contains(&batches) {
        return refused(
            "measure.batches",
            format!("is {batches}; at least 2 and at most {MAX_BATCHES} batches are compared"),
        );
    }
    let latest = Latency::Time(MAX_WARM_UP_PS).ticks(tick).max(warm_up);
    let max_warm_up = match raw.max_warm_up {
        None => latest,
        given => ticks("max_warm_up", given, 0, warm_up)?,
    };
    // If the file gives no batch, a shorter warm-up has shorter batches.
    let share = warm_up / Tick::from(batches);
    let default = Latency::Time(BATCH_PS).ticks(tick).min(share).max(1);
    let batch = match raw.batch {
        None => default,
        given => ticks("batch", given, 0, 1)?,
    };
    if max_warm_up > warm_up && batch.saturating_mul(batches.into()) > warm_up {
        return refused(
            "measure.warm_up",
            format!(
                "{warm_up} ticks are shorter than {batches} batches of {batch} ticks; take \
                 a longer warm-up, or max_warm_up = warm_up for none to be compared"
            ),
        );
    }
    let tolerance = raw.tolerance.or(Ratio::new(1, 20)).unwrap_or(Ratio::ZERO);
    if tolerance > Ratio::ONE {
        let problem = format!("{tolerance}: it must be at most 1, such as \"5%\"");
        return refused("measure.tolerance", problem);
    }
    Ok(Measure {
        loads: loads(raw, flows)?,
        warm_up,
        max_warm_up,
        batch,
        batches,
        tolerance,
        window: ticks("window", raw.window, WINDOW_PS, 1)?,
    })
}

/// The loads to measure, with which no rate of `flows` may exceed its range.
fn loads(raw: &RawMeasure, flows: &[Background]) -> Result<Vec<Ratio>, ConfigError> {
    let loads = raw.loads.clone().unwrap_or_else(|| vec![Ratio::ONE]);
    if loads.is_empty() || loads.len() > MAX_LOADS {
        let problem = format!("lists {} loads; list 1 to {MAX_LOADS}", loads.len());
        return refused("measure.loads", problem);
    }
    for (i, &load) in loads.iter().enumerate() {
        let key = format!("measure.loads.{i}");
        if loads[..i].contains(&load) {
            let problem = format!("the load {load} is listed twice; remove one");
            return refused(key, problem);
        }
        for flow in flows {
            let rate = flow.rate.checked_mul(load).ok_or_else(|| too_fine(&key))?;
            if rate > Ratio::ONE {
                return refused(
                    key,
                    format!(
                        "a rate of {} times {load} is {rate} flits per cycle and NIC; it must be \
                         at most 1",
                        flow.rate
                    ),
                );
            }
        }
    }
    Ok(loads)
}

/// How the fabric is judged where no warm-up is.
pub(crate) fn unused(
    given: Option<&RawMeasure>,
    meant: Option<&Measure>,
) -> Result<(), ConfigError> {
    let (Some(given), Some(meant)) = (given, meant) else {
        return Ok(());
    };
    if given.max_warm_up.is_some() || meant.max_warm_up > meant.warm_up {
        return Ok(());
    }
    match given!(given, batch, batches, tolerance).next() {
        None => Ok(()),
        Some(name) => refused(
            format!("measure.{name}"),
            "a warm-up of this length is not checked, because max_warm_up is as long; give a longer `max_warm_up` \
             or remove this key",
        ),
    }
}
