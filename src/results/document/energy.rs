//! `energy` of `result.json`.

use super::link::ByState;
use super::schema::in_unit;
use crate::config::Experiment;
use crate::results::energy::{Energy, LinkEnergy};
use crate::results::measures::end_ps;
use crate::run::{Simulation, Status};
use schemars::JsonSchema;
use serde::Serialize;

/// The energy of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Energy")]
#[non_exhaustive]
pub struct EnergyUse {
    /// The power policy.
    #[schemars(extend("enum" = ["always-on", "on-off", "high-low"]))]
    pub policy: &'static str,
    /// Links, switches and NICs.
    pub total_j: f64,
    /// Links.
    pub links_j: f64,
    /// Switches without their links.
    pub switches_j: f64,
    /// NICs without their links.
    pub nics_j: f64,
    /// Links if they were up for the same time.
    pub links_always_up_j: f64,
    /// The part of `links_always_up_j` that link states save.
    #[schemars(extend("unit" = "fraction"))]
    pub links_saved: f64,
    /// `total_j` over the counted time.
    pub mean_watts: f64,
    /// The payload of delivered messages.
    pub delivered_bits: f64,
    /// `total_j` over `delivered_bits` (energy/data); null if nothing was delivered.
    #[schemars(extend("unit" = "pJ/bit"))]
    pub pj_per_bit: Option<f64>,
    /// `total_j` times the last job's end; null without a job or if not complete.
    #[schemars(extend("unit" = "J s"))]
    pub energy_delay_js: Option<f64>,
    /// Time in which links carried nothing, mean over all links.
    ///
    /// A part of the counted time. Packets on low lanes take their longer time.
    pub idle_share: f64,
    /// Links between switches.
    pub switch_links: LinkEnergyUse,
    /// As `energy.switch_links`, of links of NICs.
    pub host_links: LinkEnergyUse,
}

/// The energy of some links.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "LinkEnergy")]
#[non_exhaustive]
pub struct LinkEnergyUse {
    /// Directions of links.
    pub links: u64,
    /// Energy in all states.
    pub energy_j: f64,
    /// Energy in each state.
    #[schemars(transform = in_unit("J"))]
    pub energy_by_state_j: ByState,
    /// Part of the counted time in each state, mean over the links.
    #[schemars(transform = in_unit("fraction"))]
    pub share_of_time: ByState,
    /// Number of times that links had to go up.
    pub wakes: u64,
    /// Time in which these links carried nothing.
    ///
    /// A part of the counted time.
    pub idle_share: f64,
}

impl EnergyUse {
    /// The energy of `run`; `None` without `[power]`.
    pub(super) fn of(experiment: &Experiment, run: &Simulation) -> Option<Self> {
        let energy = Energy::of(experiment, run)?;
        let policy = experiment.power.as_ref()?.policy;
        let is_whole = run.status == Status::Complete && !experiment.jobs.is_empty();
        let time_s = end_ps(experiment, run) as f64 * 1e-12;
        Some(Self {
            policy: policy.name(),
            total_j: energy.total_j(),
            links_j: energy.links_j(),
            switches_j: energy.switches_j,
            nics_j: energy.nics_j,
            links_always_up_j: energy.always_up_j,
            links_saved: energy.links_saved(),
            mean_watts: energy.mean_watts(),
            delivered_bits: energy.delivered_bits,
            pj_per_bit: energy.pj_per_bit(),
            energy_delay_js: is_whole.then(|| energy.total_j() * time_s),
            idle_share: energy.idle_share(),
            switch_links: (&energy.switch_links).into(),
            host_links: (&energy.host_links).into(),
        })
    }
}

impl From<&LinkEnergy> for LinkEnergyUse {
    fn from(energy: &LinkEnergy) -> Self {
        let [up, down, waking, sleeping] = energy.joules;
        let ticks = energy.ticks;
        let all = (ticks.up + ticks.down + ticks.waking + ticks.sleeping).max(1) as f64;
        Self {
            links: energy.links,
            energy_j: energy.total_j(),
            energy_by_state_j: ByState {
                up,
                down,
                waking,
                sleeping,
            },
            share_of_time: ByState::of(ticks, |ticks| ticks as f64 / all),
            wakes: ticks.wakes,
            idle_share: energy.idle_share,
        }
    }
}
