//! Many runs of a pattern, each with hosts of its own: the Monte Carlo of ORCS, on any number of threads.

use super::cables::{CableCounts, Cables};
use super::delay::{DelayPaths, Delays};
use super::fair::FairShares;
use super::graph::{EdgeId, Graph, HostId};
use super::histogram::Histogram;
use super::mapping::Mapping;
use super::network::Network;
use super::pattern::{Level, Pattern};
use super::walker::{PathChoice, Walker};
use flitwise_base::random::{Purpose, Stream};
use flitwise_base::stop::{Stop, Stopped};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Levels of a run that one thread counts at a time. Part of the results, as sums of fractions depend on it.
const LEVELS_AT_A_TIME: u32 = 64;

/// The settings of an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The pairs.
    pub pattern: Pattern,
    /// Which rank is where.
    pub mapping: Mapping,
    /// Seed of all draws.
    pub seed: u64,
    /// Only this level.
    pub level: Option<u32>,
    /// The choice among several addresses of a host.
    pub path: PathChoice,
    /// Computes fair bandwidths too.
    pub fair: bool,
    /// Computes the longest path through the levels too, unless `None`.
    pub delay: DelayPaths,
    /// How the loads of cables are counted.
    pub cables: CableCounts,
}

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RunFigures {
    /// Sum over levels of the largest congestion of a pair (`sum_max_cong`): pairs, or bytes.
    pub sum_max_cong: u64,
    /// Sum over levels of the largest load of a host link, in the same unit. No routing can avoid this load.
    pub sum_max_hosts: u64,
    /// Congestions of the pairs (`hist_max_cong`); empty for patterns with bytes.
    pub histogram: Histogram,
    /// Mean share of the bandwidth, 1/congestion (`hist_acc_band`); of patterns with bytes own bytes over those on the
    /// fullest edge.
    pub bandwidth: f64,
    /// Mean and smallest max-min fair bandwidth, as a share of the fastest edge, if asked for.
    pub fair: Option<Fair>,
    /// Longest path through the levels of the examined pairs, if asked for (`dep_max_delay`).
    pub delay: Option<u64>,
    /// Connections: pairs of different ranks that have a route.
    pub connections: u64,
    /// Pairs without a route.
    pub lost: u64,
}

/// Max-min fair bandwidths of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fair {
    /// Mean over connections.
    pub mean: f64,
    /// Smallest.
    pub least: f64,
}

/// All runs so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    /// By run.
    pub runs: Vec<RunFigures>,
    /// The loads of cables, over all runs.
    pub cables: Cables,
}

/// Part of a run: some of its levels.
#[derive(Debug, Clone, Default)]
struct Part {
    figures: RunFigures,
    /// Sums of shares over connections.
    shares: f64,
    fair_sum: f64,
}

/// A piece of work.
#[derive(Debug, Clone)]
struct Unit {
    run: u64,
    levels: Range<u32>,
}

impl Settings {
    /// Whether the pattern and the mapping fit the graph of a network, and ranks send to others.
    ///
    /// # Errors
    /// As [`Self::fits`], or if no rank of the examined pattern sends to another one.
    pub fn check(&self, graph: &Graph) -> Result<(), String> {
        self.fits(graph)?;
        match self.pattern.silence(self.level, self.mapping.ranks) {
            Some(cure) => Err(format!(
                "{} with {} ranks has no rank that sends to another one; {cure}",
                self.pattern, self.mapping.ranks
            )),
            None => Ok(()),
        }
    }

    /// Whether the pattern and the mapping fit the graph of a network.
    ///
    /// # Errors
    /// If there are fewer than two ranks or fewer hosts than ranks, the pattern does not take this number of ranks, or it has no such level.
    pub fn fits(&self, graph: &Graph) -> Result<(), String> {
        self.mapping.check(graph)?;
        self.pattern.check(self.mapping.ranks)?;
        if self.mapping.ranks < 2 {
            return Err("one rank sends nothing; give at least 2 hosts and ranks".to_owned());
        }
        let levels = self.pattern.levels(self.mapping.ranks);
        match self.level {
            Some(level) if level >= levels => Err(format!(
                "there is no level {level}: {} with {} ranks has {levels}, counted from 0",
                self.pattern, self.mapping.ranks
            )),
            _ => Ok(()),
        }
    }

    /// Numbers of the levels that are analysed.
    #[must_use]
    pub fn levels(&self) -> Range<u32> {
        match self.level {
            Some(level) => level..level + 1,
            None => 0..self.pattern.levels(self.mapping.ranks),
        }
    }

    /// Writes the pairs of a level in a run to `level`.
    pub fn fill(&self, run: u64, number: u32, level: &mut Level) {
        let component = [run, u64::from(number)];
        let mut stream = Stream::new(self.seed, Purpose::StaticPattern, component);
        self.pattern
            .fill(number, self.mapping.ranks, &mut stream, level);
    }
}

impl Analysis {
    /// Adds runs up to number `runs` on `threads` threads. When the user stops it, which it checks within
    /// every level of a run, it keeps the first runs that are complete, and no loads of cables: they are
    /// counted over all runs, so the loads of the others are among them.
    pub fn extend(
        &mut self,
        network: &Network,
        settings: &Settings,
        runs: u64,
        threads: usize,
        stop: Stop<'_>,
    ) {
        let done = self.runs.len() as u64;
        let units = units(settings, done..runs);
        let pool = settings.mapping.pool(&network.graph, settings.seed);
        let next = AtomicUsize::new(0);
        let parts = Mutex::new(vec![None; units.len()]);
        let cables = Mutex::new(std::mem::take(&mut self.cables));
        let work = || {
            let mut worker = Worker::new(network, settings, &pool, stop);
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(unit) = units.get(at) else { break };
                let Ok(part) = worker.part(unit) else { break };
                if let Ok(mut parts) = parts.lock() {
                    parts[at] = Some(part);
                }
                if stop.is_set() {
                    break;
                }
            }
            if let Ok(mut cables) = cables.lock() {
                cables.merge(&worker.cables);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(units.len()) {
                scope.spawn(work);
            }
            work();
        });
        let parts = parts.into_inner().unwrap_or_default();
        if parts.iter().all(Option::is_some) {
            self.cables = cables.into_inner().unwrap_or_default();
        }
        let mut last: Option<(u64, Part)> = None;
        for (unit, part) in units.iter().zip(parts) {
            let Some(part) = part else { return };
            match &mut last {
                Some((run, sum)) if *run == unit.run => sum.add(part),
                _ => {
                    let before = last.replace((unit.run, part));
                    self.runs.extend(before.map(|(_, part)| part.figures()));
                }
            }
        }
        self.runs.extend(last.map(|(_, part)| part.figures()));
    }

    /// Congestions of all pairs of all runs.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut all = Histogram::default();
        for run in &self.runs {
            all.merge(&run.histogram);
        }
        all
    }

    /// Pairs without a route, over all runs.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.runs.iter().map(|run| run.lost).sum()
    }
}

/// The parts of runs, in the order of runs and levels.
fn units(settings: &Settings, runs: Range<u64>) -> Vec<Unit> {
    let levels = settings.levels();
    // The longest path needs all levels, one after the other.
    let step = match settings.delay {
        DelayPaths::None => LEVELS_AT_A_TIME,
        DelayPaths::All | DelayPaths::AsOrcs(_) => u32::MAX,
    };
    let of_run = |run| {
        let levels = levels.clone();
        let begins = levels.clone().step_by(step as usize);
        let blocks = begins.map(move |begin| {
            let end = begin.saturating_add(step).min(levels.end);
            Unit {
                run,
                levels: begin..end,
            }
        });
        // A pattern without a level has a run nonetheless.
        let empty = levels.is_empty().then_some(Unit { run, levels: 0..0 });
        blocks.chain(empty)
    };
    runs.flat_map(of_run).collect()
}

impl Part {
    fn add(&mut self, other: Self) {
        let (own, more) = (&mut self.figures, &other.figures);
        own.sum_max_cong = own.sum_max_cong.saturating_add(more.sum_max_cong);
        own.sum_max_hosts = own.sum_max_hosts.saturating_add(more.sum_max_hosts);
        own.histogram.merge(&more.histogram);
        own.connections += more.connections;
        own.lost += more.lost;
        if let (Some(own), Some(more)) = (&mut own.fair, more.fair) {
            own.least = own.least.min(more.least);
        }
        self.shares += other.shares;
        self.fair_sum += other.fair_sum;
    }

    fn figures(self) -> RunFigures {
        let Self {
            mut figures,
            shares,
            fair_sum,
        } = self;
        let connections = figures.connections.max(1) as f64;
        // Levels with bytes are in no histogram.
        figures.bandwidth = match figures.histogram.connections() {
            0 => shares / connections,
            _ => figures.histogram.bandwidth(),
        };
        if let Some(fair) = &mut figures.fair {
            fair.mean = fair_sum / connections;
            if figures.connections == 0 {
                fair.least = 0.0;
            }
        }
        figures
    }
}

/// The state of a thread.
struct Worker<'a> {
    network: &'a Network,
    settings: &'a Settings,
    pool: &'a [HostId],
    walker: Walker<'a>,
    fair: Option<FairShares<'a>>,
    shares: Vec<f64>,
    delays: Delays,
    level: Level,
    hosts: Vec<HostId>,
    /// The run to which `hosts` belong.
    drawn: Option<u64>,
    cables: Cables,
}

impl<'a> Worker<'a> {
    fn new(
        network: &'a Network,
        settings: &'a Settings,
        pool: &'a [HostId],
        stop: Stop<'a>,
    ) -> Self {
        let counted = settings.cables != CableCounts::None;
        let edges = if counted {
            network.graph.edges().len()
        } else {
            0
        };
        Self {
            network,
            settings,
            pool,
            walker: Walker::new(network, settings.path).stopped_by(stop),
            fair: settings
                .fair
                .then(|| FairShares::new(network).stopped_by(stop)),
            shares: Vec::new(),
            delays: Delays::default(),
            level: Level::default(),
            hosts: Vec::new(),
            drawn: None,
            cables: Cables {
                loads: vec![Default::default(); edges],
            },
        }
    }

    fn part(&mut self, unit: &Unit) -> Result<Part, Stopped> {
        if self.drawn != Some(unit.run) {
            let mapping = &self.settings.mapping;
            mapping.draw(self.pool, self.settings.seed, unit.run, &mut self.hosts);
            self.drawn = Some(unit.run);
        }
        let mut part = Part::default();
        part.figures.fair = self.settings.fair.then_some(Fair {
            mean: 0.0,
            least: f64::INFINITY,
        });
        let paths = self.settings.delay;
        let ranks = match paths {
            DelayPaths::None => 0,
            _ => self.settings.mapping.ranks,
        };
        self.delays.restart(paths, ranks);
        let lost_before = self.walker.lost();
        for number in unit.levels.clone() {
            let mut level = std::mem::take(&mut self.level);
            self.settings.fill(unit.run, number, &mut level);
            self.walker.count(&level, &self.hosts)?;
            self.count_cables(&level, (unit.run, number))?;
            self.see(&level, &mut part)?;
            self.count_fair(&level, &mut part)?;
            self.level = level;
        }
        part.figures.lost = self.walker.lost() - lost_before;
        part.figures.delay = (paths != DelayPaths::None).then(|| self.delays.longest());
        Ok(part)
    }

    /// Adds the experience of the pairs of a level.
    fn see(&mut self, level: &Level, part: &mut Part) -> Result<(), Stopped> {
        let mut most = 0;
        let most_hosts = self.busiest_host();
        let (figures, delays) = (&mut part.figures, &mut self.delays);
        let shares = &mut part.shares;
        self.walker.each(level, &self.hosts, |seen| {
            most = most.max(seen.congestion);
            figures.connections += u64::from(seen.congestion > 0);
            match level.weights.get(seen.at) {
                Some(&bytes) if seen.congestion > 0 => {
                    *shares += bytes as f64 / seen.congestion as f64
                }
                Some(_) => {}
                None => figures.histogram.add(seen.congestion),
            }
            let pair = level.pairs[seen.at];
            if delays.examines(pair.from, pair.to, seen.at < level.counted) {
                delays.message(pair.from, pair.to, seen.congestion);
            }
        })?;
        self.delays.end_level();
        figures.sum_max_cong = figures.sum_max_cong.saturating_add(most);
        figures.sum_max_hosts = figures.sum_max_hosts.saturating_add(most_hosts);
        Ok(())
    }

    /// Largest load of a host link, either direction.
    fn busiest_host(&self) -> u64 {
        let (graph, load) = (&self.network.graph, self.walker.load());
        let of = |&host: &HostId| {
            let out = graph.injection(host);
            load[out.index()].max(load[graph.edge(out).reverse.index()])
        };
        self.hosts.iter().map(of).max().unwrap_or(0)
    }

    fn count_cables(&mut self, level: &Level, at: (u64, u32)) -> Result<(), Stopped> {
        if self.settings.cables == CableCounts::None {
            return Ok(());
        }
        let load = self.walker.load();
        for (cable, &load) in self.cables.loads.iter_mut().zip(load) {
            if load > 0 {
                cable.add(load, at);
                if self.settings.cables == CableCounts::PerLevel {
                    cable.sum = cable.sum.saturating_add(load);
                }
            }
        }
        if self.settings.cables == CableCounts::AsOrcs {
            let (pairs, loads) = (level.pairs.len(), &mut self.cables.loads);
            self.walker.each(level, &self.hosts, |seen| {
                for edge in seen.route {
                    loads[edge.index()].sum += (pairs - seen.at) as u64;
                }
            })?;
        }
        Ok(())
    }

    fn count_fair(&mut self, level: &Level, part: &mut Part) -> Result<(), Stopped> {
        let Some(fair) = &mut self.fair else {
            return Ok(());
        };
        let mut routes: Vec<EdgeId> = Vec::new();
        let mut ends = Vec::with_capacity(level.pairs.len());
        self.walker.each(level, &self.hosts, |seen| {
            routes.extend_from_slice(seen.route);
            ends.push(routes.len());
        })?;
        let mut begin = 0;
        let routes: Vec<&[EdgeId]> = ends
            .into_iter()
            .map(|end| &routes[std::mem::replace(&mut begin, end)..end])
            .collect();
        fair.of(self.network, &routes, &mut self.shares)?;
        for (share, route) in self.shares.iter().zip(&routes) {
            if !route.is_empty() {
                part.fair_sum += share;
                if let Some(fair) = &mut part.figures.fair {
                    fair.least = fair.least.min(*share);
                }
            }
        }
        Ok(())
    }
}
