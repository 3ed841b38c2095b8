//! The samples of a run, and when they are due.

use super::blocks;
use super::blocks::cut::Cut;
use super::kernel::{self, SwitchModel};
use crate::series::{LinkSampling, Sample, Sampling};
use crate::spec::Tick;
use crate::stats::LinkStats;

/// The receiver of the samples of a run.
enum Take<'a> {
    Series(&'a mut dyn FnMut(&Sample)),
    Links(&'a mut dyn FnMut(Tick, &[LinkStats])),
}

/// The samples of one kind that are still to come.
struct Sampler<'a> {
    /// Tick of the next sample.
    next: Tick,
    interval: Tick,
    take: Take<'a>,
}

/// The samplers of a run.
pub(super) struct Samplers<'a> {
    all: Vec<Sampler<'a>>,
    /// Tick of the first sample of any; never if there is none.
    pub next: Tick,
}

impl<'a> Samplers<'a> {
    /// Samples from the end of tick `earliest` on.
    pub(super) fn new(
        series: Option<Sampling<'a>>,
        links: Option<LinkSampling<'a>>,
        earliest: Tick,
    ) -> Self {
        let series = series.map(|series| (series.interval, Take::Series(series.take)));
        let links = links.map(|links| (links.interval, Take::Links(links.take)));
        let sampler = |(interval, take): (Tick, Take<'a>)| {
            let interval = interval.max(1);
            let next = (earliest / interval + 1).saturating_mul(interval) - 1;
            Sampler {
                next,
                interval,
                take,
            }
        };
        let all: Vec<_> = series.into_iter().chain(links).map(sampler).collect();
        let next = first(&all);
        Self { all, next }
    }

    /// Lets the blocks collect the data for a series, if there is one.
    pub(super) fn start<M: SwitchModel>(&self, blocks: &mut [&mut M]) {
        let is_series = |sampler: &Sampler| matches!(sampler.take, Take::Series(_));
        if self.all.iter().any(is_series) {
            for block in blocks {
                kernel::start_series(*block);
            }
        }
    }

    /// Takes the samples that are due at the end of tick `tick`, the one of the next sample, of all `blocks`.
    pub(super) fn take<M: SwitchModel>(
        &mut self,
        tick: Tick,
        blocks: &mut [&mut M],
        cut: Option<&Cut>,
    ) {
        for sampler in self.all.iter_mut().filter(|sampler| sampler.next == tick) {
            match &mut sampler.take {
                Take::Series(take) => take(&blocks::sample(blocks, tick)),
                Take::Links(take) => {
                    take(tick, &blocks::links(&blocks::read(blocks), cut));
                }
            }
            sampler.next = sampler.next.saturating_add(sampler.interval);
        }
        self.next = first(&self.all);
    }
}

/// Tick of the first sample of any; never if there is none.
fn first(samplers: &[Sampler<'_>]) -> Tick {
    let next = samplers.iter().map(|sampler| sampler.next);
    next.min().unwrap_or(Tick::MAX)
}
