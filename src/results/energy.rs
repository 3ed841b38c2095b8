//! The energy of a run (`docs/model/energy.md`), from the time that links spent in each power state and the watts of the
//! experiment.

use super::measures::utilisation;
use crate::config::Experiment;
use crate::config::experiment::Power;
use crate::fabric::stats::{FabricStats, LinkEnd, LinkStateTicks, LinkStats};
use crate::run::Simulation;
use crate::units::percent;

/// Shares below this one come from rounding.
const ROUNDING: f64 = 1e-12;

/// Energy of a run, or of its window, in joules, and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Energy {
    /// Links between switches, both directions.
    pub switch_links: LinkEnergy,
    /// Links between NICs and switches, both directions.
    pub host_links: LinkEnergy,
    /// Joules of switches without their links.
    pub switches_j: f64,
    /// Joules of NICs without their links.
    pub nics_j: f64,
    /// Joules of the links if they were up for all of the counted time.
    pub always_up_j: f64,
    /// Seconds that were counted.
    pub seconds: f64,
    /// Payload bits delivered.
    pub delivered_bits: f64,
}

/// Energy and states of some links.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct LinkEnergy {
    /// Directions of links.
    pub links: u64,
    /// Joules while up, down, waking and sleeping.
    pub joules: [f64; 4],
    /// Ticks in each state, summed over the links.
    pub ticks: LinkStateTicks,
    /// Mean share of the time in which the links carry nothing.
    pub idle_share: f64,
}

impl LinkEnergy {
    /// Joules in all states.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.joules.iter().sum()
    }

    fn of<'a>(
        links: impl Iterator<Item = &'a LinkStats>,
        power: &Power,
        experiment: &Experiment,
        stats: &FabricStats,
    ) -> Self {
        let mut all = Self::default();
        let mut used = 0.0;
        for link in links {
            all.links += 1;
            all.ticks += link.states.unwrap_or(LinkStateTicks {
                up: stats.ticks(),
                ..LinkStateTicks::default()
            });
            used += utilisation(experiment, stats, link);
        }
        let tick_s = experiment.fabric.units.tick.ns(1) * 1e-9;
        let LinkStateTicks {
            up,
            down,
            waking,
            sleeping,
            ..
        } = all.ticks;
        let (high, low, change) = (power.up_watts, power.down_watts, power.transition_watts);
        all.joules = [
            (up, high),
            (down, low),
            (waking, change),
            (sleeping, change),
        ]
        .map(|(ticks, watts)| ticks as f64 * tick_s * watts);
        all.idle_share = 1.0 - used / all.links.max(1) as f64;
        all
    }
}

impl Energy {
    /// The mean power in watts.
    #[must_use]
    pub fn mean_watts(&self) -> f64 {
        self.total_j() / self.seconds.max(f64::MIN_POSITIVE)
    }

    /// The energy of `run` of `experiment`; `None` without `[power]`.
    #[must_use]
    pub fn of(experiment: &Experiment, run: &Simulation) -> Option<Self> {
        let (power, stats) = (experiment.power.as_ref()?, &run.stats);
        let of_host = |link: &&LinkStats| {
            [link.from, link.to]
                .iter()
                .any(|end| matches!(end, LinkEnd::Nic(_)))
        };
        let links =
            |host: bool| cables(experiment, stats).filter(move |link| of_host(link) == host);
        let some = |host| LinkEnergy::of(links(host), power, experiment, stats);
        let seconds = experiment.fabric.units.tick.ns(stats.ticks().into()) * 1e-9;
        let topology = &experiment.fabric.topology;
        let levels = stats.service_levels.iter();
        let bytes: u64 = levels.map(|sl| sl.to_nics().bytes).sum();
        Some(Self {
            switch_links: some(false),
            host_links: some(true),
            switches_j: f64::from(topology.switches()) * power.switch_watts * seconds,
            nics_j: f64::from(topology.nics()) * power.nic_watts * seconds,
            always_up_j: cables(experiment, stats).count() as f64 * power.up_watts * seconds,
            seconds,
            delivered_bits: 8.0 * bytes as f64,
        })
    }

    /// Joules of all links.
    #[must_use]
    pub fn links_j(&self) -> f64 {
        self.switch_links.total_j() + self.host_links.total_j()
    }

    /// Joules of everything.
    #[must_use]
    pub fn total_j(&self) -> f64 {
        self.links_j() + self.switches_j + self.nics_j
    }

    /// Picojoules for a bit of payload delivered; `None` if none was.
    #[must_use]
    pub fn pj_per_bit(&self) -> Option<f64> {
        (self.delivered_bits > 0.0).then(|| self.total_j() * 1e12 / self.delivered_bits)
    }

    /// Share of the energy of links that their states save: 0 if they are always up, negative if the states draw more.
    #[must_use]
    pub fn links_saved(&self) -> f64 {
        if self.always_up_j <= 0.0 {
            return 0.0;
        }
        let saved = 1.0 - self.links_j() / self.always_up_j;
        // Both are sums of rounded products: the difference of equal sums is no saving.
        if saved.abs() < ROUNDING { 0.0 } else { saved }
    }

    /// Mean share of the time in which links carry nothing.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        let (switch, host) = (&self.switch_links, &self.host_links);
        let sum = switch.idle_share * switch.links as f64 + host.idle_share * host.links as f64;
        sum / (switch.links + host.links).max(1) as f64
    }

    /// Energy of a job of the run that took `execution_ps`, in joules: the mean power of the whole
    /// fabric for as long.
    #[must_use]
    pub fn of_job_j(&self, execution_ps: u64) -> f64 {
        if self.seconds > 0.0 {
            self.total_j() * execution_ps as f64 * 1e-12 / self.seconds
        } else {
            0.0
        }
    }
}

/// `45.0 % less than links that are up for the same time`, of links that save this share.
pub(crate) fn against_always_up(saved: f64) -> String {
    let than = if saved < 0.0 { "more" } else { "less" };
    format!(
        "{} {than} than links that are up for the same time",
        percent(saved.abs())
    )
}

/// Mean share of the time in which the links of a run carry nothing.
#[must_use]
pub fn idle_share(experiment: &Experiment, stats: &FabricStats) -> f64 {
    let used = cables(experiment, stats).map(|link| utilisation(experiment, stats, link));
    let links = cables(experiment, stats).count();
    1.0 - used.sum::<f64>() / links.max(1) as f64
}

/// The directions of the links that leave a switch or a NIC: all but those inside switches.
fn cables<'a>(
    experiment: &'a Experiment,
    stats: &'a FabricStats,
) -> impl Iterator<Item = &'a LinkStats> {
    let links = stats.links.iter();
    links.filter(|link| !link.is_inside(&experiment.fabric.topology))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links that cost `up` joules, and would cost `always_up_j` if they were always up.
    fn saved(up: f64, always_up_j: f64) -> f64 {
        let links = LinkEnergy {
            joules: [up, 0.0, 0.0, 0.0],
            ..LinkEnergy::default()
        };
        let energy = Energy {
            switch_links: links,
            host_links: LinkEnergy::default(),
            switches_j: 0.0,
            nics_j: 0.0,
            always_up_j,
            seconds: 1.0,
            delivered_bits: 0.0,
        };
        energy.links_saved()
    }

    #[test]
    fn rounding_saves_nothing() {
        assert_eq!(saved(0.001_311_999_999_999_999_8, 0.001_312), 0.0);
        assert_eq!(saved(0.001_312, 0.001_311_999_999_999_999_8), 0.0);
        assert_eq!(saved(0.0, 0.0), 0.0);
        assert_eq!(saved(1.0, 4.0), 0.75);
    }
}
