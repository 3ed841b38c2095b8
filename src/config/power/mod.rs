//! Resolves `[power]`: the states of links for the fabric, and what they cost for the results
//! (`docs/model/energy.md`).

pub(super) mod keys;

use crate::config::document::{ConfigError, refused};
use crate::config::power::keys::{PowerPolicy, PowerPreset, RawPower, Watts, WattsPer};
use crate::fabric::spec::{DownState, FabricSpec, LinkPower, LowState};
use crate::units::{Latency, Ratio};
use schemars::JsonSchema;
use serde::Serialize;

/// Most watts of a part of the fabric: far beyond any hardware, while sums over a fabric stay in range.
const MAX_WATTS: f64 = 1e9;

/// The power of the parts of a fabric, in watts (`docs/model/energy.md`). It serialises, with the states of links, as
/// `experiment.power` in `docs/reference/result.md`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Power {
    /// When links go down.
    // With the states of links.
    #[serde(skip)]
    pub policy: PowerPolicy,
    /// One direction of a link that is up.
    pub up_watts: f64,
    /// One direction of a link that is down.
    pub down_watts: f64,
    /// One direction of a link that goes up or down.
    pub transition_watts: f64,
    /// A switch without its links.
    pub switch_watts: f64,
    /// A NIC without its link.
    pub nic_watts: f64,
    /// Keys of `[power]` in the file that only another policy uses; a command that runs it tells of them.
    #[serde(skip)]
    pub unused_keys: Vec<&'static str>,
}

/// The values of a preset; `None`: follows from others.
struct Defaults {
    transition_ps: u64,
    sleep_ps: u64,
    /// Time before a link goes down, as the transition over this.
    rho: Ratio,
    lanes: u32,
    low_lanes: u32,
    link_watts: f64,
    /// `None`: a lane's part of `link_watts` for each low lane.
    low_watts: Option<f64>,
    off_watts: f64,
    /// Watts of a switch without its links.
    switch_watts: f64,
}

/// The values of 003, Table I, and what it says beside: lanes are always 12 with 96 Gb/s, ρ is 90 %.
/// Watts: 42.7 pJ/bit at 96 Gb/s, with links at four fifths of a switch with seven ports.
fn sauron() -> Defaults {
    Defaults {
        transition_ps: 10_000_000,
        sleep_ps: 0,
        rho: Ratio::new(9, 10).unwrap_or(Ratio::ONE),
        lanes: 12,
        low_lanes: 1,
        link_watts: 4.1,
        low_watts: None,
        off_watts: 0.0,
        switch_watts: 7.2,
    }
}

fn defaults(preset: Option<PowerPreset>) -> Defaults {
    match preset {
        None | Some(PowerPreset::Sauron) => sauron(),
        // IEEE 802.3bj, 100 Gb/s: times are of the order that studies of it use.
        Some(PowerPreset::EeeDeepSleep) => Defaults {
            transition_ps: 5_500_000,
            sleep_ps: 2_000_000,
            low_watts: Some(0.41),
            off_watts: 0.41,
            ..sauron()
        },
        Some(PowerPreset::EeeFastWake) => Defaults {
            transition_ps: 300_000,
            sleep_ps: 200_000,
            low_watts: Some(2.05),
            off_watts: 2.05,
            ..sauron()
        },
    }
}

/// Gives `fabric` the power states of its links, if `[power]` asks for some.
pub(crate) fn states(raw: Option<&RawPower>, fabric: &mut FabricSpec) -> Result<(), ConfigError> {
    let Some(raw) = raw else { return Ok(()) };
    // Keys that nothing uses, because links are always on, are checked too.
    let states = link_power(raw, &defaults(raw.preset), fabric)?;
    fabric.link_power = match raw.policy {
        None | Some(PowerPolicy::AlwaysOn) => None,
        Some(PowerPolicy::OnOff | PowerPolicy::HighLow) => Some(Box::new(states)),
    };
    Ok(())
}

fn link_power(raw: &RawPower, d: &Defaults, fabric: &FabricSpec) -> Result<LinkPower, ConfigError> {
    let tick = fabric.units.tick;
    let time =
        |given: Option<Latency>, default| given.unwrap_or(Latency::Time(default)).ticks(tick);
    let wake = time(raw.transition, d.transition_ps);
    let down_after = match (raw.down_after, raw.rho) {
        (Some(_), Some(_)) => {
            let problem = "has the same meaning as power.down_after; remove one of the two";
            return refused("power.rho", problem);
        }
        (Some(time), None) => time.ticks(tick),
        (None, rho) => over(wake, rho.unwrap_or(d.rho))?,
    };
    let low = LowState {
        lanes: raw.lanes.unwrap_or(d.lanes),
        low_lanes: raw.low_lanes.unwrap_or(d.low_lanes),
        switch_threshold_bytes: 0,
        nic_threshold_bytes: 0,
    };
    Ok(LinkPower {
        down: match raw.policy {
            Some(PowerPolicy::HighLow) => DownState::Low(thresholds(raw, low, wake, fabric)?),
            None | Some(PowerPolicy::AlwaysOn | PowerPolicy::OnOff) => DownState::Off,
        },
        wake,
        sleep: time(raw.sleep, d.sleep_ps),
        down_after,
        wake_ahead: match raw.policy {
            // How much waits decides when its links go up; another run may use the key.
            Some(PowerPolicy::HighLow) => 0,
            None | Some(PowerPolicy::AlwaysOn | PowerPolicy::OnOff) => raw.wake_ahead.unwrap_or(0),
        },
        links: raw.links.unwrap_or_default(),
    })
}

/// `wake` over `rho`, rounded up: the time before a link goes down.
fn over(wake: u64, rho: Ratio) -> Result<u64, ConfigError> {
    if rho.num() == 0 || rho > Ratio::ONE {
        let problem = format!("{rho}: it must be above 0 and at most 1, such as 0.9");
        return refused("power.rho", problem);
    }
    let ticks = (u128::from(wake) * u128::from(rho.den())).div_ceil(rho.num().into());
    Ok(u64::try_from(ticks).unwrap_or(u64::MAX))
}

/// The thresholds of `low`: given, or the backlog from which on it pays to wait for the transition.
fn thresholds(
    raw: &RawPower,
    low: LowState,
    wake: u64,
    fabric: &FabricSpec,
) -> Result<LowState, ConfigError> {
    let pays = backlog(low, wake, fabric.switch_link_rate(), fabric);
    let nic_pays = backlog(low, wake, fabric.host_link_rate(), fabric);
    let bytes = |credits: u32| {
        let units = fabric.units;
        u64::from(credits) * u64::from(units.flits_per_credit) * u64::from(units.flit_bytes)
    };
    let largest = bytes(fabric.largest_packet_credits());
    let vl = fabric.input_credits().max().map_or(0, bytes);
    let nic = bytes(fabric.switch.kind().nic_queue_credits());
    let fits = |pays: u64, buffer: u64| pays.min(buffer.saturating_sub(largest));
    Ok(LowState {
        switch_threshold_bytes: raw.threshold.map_or(fits(pays, vl), |bytes| bytes.0),
        nic_threshold_bytes: raw
            .nic_threshold
            .map_or(fits(nic_pays, nic), |bytes| bytes.0),
        ..low
    })
}

/// B* = wake · r · r_low / (r − r_low), in whole bytes: what a link of rate r sends on its low lanes
/// while it would take as long to go up and send the same (`docs/model/link-power.md` §4).
fn backlog(low: LowState, wake: u64, rate: Ratio, fabric: &FabricSpec) -> u64 {
    let (lanes, few) = (u128::from(low.lanes), u128::from(low.low_lanes));
    if lanes <= few {
        // The check of the fabric refuses it.
        return 0;
    }
    let full = u128::from(wake) * u128::from(rate.num()) * u128::from(fabric.units.flit_bytes);
    let bytes = full.saturating_mul(few) / (u128::from(rate.den()) * (lanes - few)).max(1);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The power of the parts of the fabric; `None` without a table `[power]`.
pub(crate) fn watts(raw: Option<&RawPower>) -> Result<Option<Power>, ConfigError> {
    let Some(raw) = raw else { return Ok(None) };
    let d = defaults(raw.preset);
    let given = |key: &'static str, given: Option<Watts>, default: f64| match given {
        Some(Watts(watts)) if !(0.0..=MAX_WATTS).contains(&watts) => {
            // Printed as written: the full decimal number would have up to 300 digits.
            let problem = format!("{watts:?} W; it must be from 0 to {MAX_WATTS} W");
            refused(format!("power.{key}"), problem)
        }
        _ => Ok(given.map_or(default, |Watts(watts)| watts)),
    };
    let link = given("link_watts", raw.link_watts, d.link_watts)?;
    let lanes = f64::from(raw.lanes.unwrap_or(d.lanes)).max(1.0);
    let part = f64::from(raw.low_lanes.unwrap_or(d.low_lanes)) / lanes;
    let low = given(
        "low_watts",
        raw.low_watts,
        d.low_watts.unwrap_or(link * part),
    )?;
    let off = given("off_watts", raw.off_watts, d.off_watts)?;
    let transition = given("transition_watts", raw.transition_watts, link)?;
    let per_direction = match raw.watts_per.unwrap_or_default() {
        WattsPer::Port => 1.0,
        WattsPer::Cable => 0.5,
    };
    let policy = raw.policy.unwrap_or(PowerPolicy::AlwaysOn);
    Ok(Some(Power {
        policy,
        up_watts: link * per_direction,
        down_watts: per_direction
            * if policy == PowerPolicy::HighLow {
                low
            } else {
                off
            },
        transition_watts: transition * per_direction,
        switch_watts: given("switch_watts", raw.switch_watts, d.switch_watts)?,
        nic_watts: given("nic_watts", raw.nic_watts, 0.0)?,
        unused_keys: raw.unused(),
    }))
}

/// Settings of power states that no `policy` switches on or off.
pub(crate) fn unused(raw: Option<&RawPower>) -> Result<(), ConfigError> {
    let Some(raw) = raw.filter(|raw| raw.policy.is_none()) else {
        return Ok(());
    };
    match raw.first_of_states() {
        None => Ok(()),
        Some(key) => refused(
            format!("power.{key}"),
            "links are always on; add policy = \"on-off\" or \"high-low\", or policy = \
             \"always-on\" to keep the settings for another run",
        ),
    }
}

/// `[power]`: the states of links, if they have any but up, and what they cost.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(deny_unknown_fields)]
pub(crate) enum PowerForm<'a> {
    /// Links are always up.
    Up {
        /// As in the file.
        policy: PowerPolicy,
        #[serde(flatten)]
        watts: &'a Power,
    },
    /// Links go down.
    States {
        #[serde(flatten)]
        states: &'a LinkPower,
        #[serde(flatten)]
        watts: &'a Power,
    },
}

impl<'a> PowerForm<'a> {
    pub fn of(watts: &'a Power, fabric: &'a FabricSpec) -> Self {
        match fabric.link_power.as_deref() {
            None => Self::Up {
                policy: watts.policy,
                watts,
            },
            Some(states) => Self::States { states, watts },
        }
    }
}
