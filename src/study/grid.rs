//! The points of a study: every combination of the settings of its axes that is not excluded.

use super::hidden;
use crate::config::{ConfigError, Override, ParsedBase, Plan, Study, Texts, resolve_parsed};

/// Most points that a message tries.
const MOST_TRIED: usize = 64;

/// A combination of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Point {
    /// Per axis the index of its setting.
    pub choice: Vec<usize>,
}

/// A study with its points.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Grid {
    /// The study.
    pub study: Study,
    /// Its points, at least one; the last axis varies fastest.
    pub points: Vec<Point>,
}

impl Grid {
    /// The points of a study.
    ///
    /// # Errors
    /// If all combinations are excluded, a setting has no effect, or two points are the same run.
    pub fn of(study: Study) -> Result<Self, ConfigError> {
        let mut points = Vec::new();
        let mut choice = vec![0; study.axes.len()];
        loop {
            if !is_excluded(&study, &choice) {
                points.push(Point {
                    choice: choice.clone(),
                });
            }
            // The next combination.
            let more = (0..choice.len()).rev().find(|&axis| {
                choice[axis] = (choice[axis] + 1) % study.axes[axis].settings.len();
                choice[axis] > 0
            });
            if more.is_none() {
                break;
            }
        }
        if points.is_empty() {
            let problem = "leaves out every combination; remove an exclusion";
            Err(ConfigError::new("exclude", problem))
        } else {
            let grid = Self { study, points };
            hidden::check(&grid)?;
            Ok(grid)
        }
    }

    /// The name of the setting of `point` on `axis` in tables.
    #[must_use]
    pub fn label(&self, point: usize, axis: usize) -> &str {
        let setting = self.points[point].choice[axis];
        &self.study.axes[axis].settings[setting].label
    }

    /// `rate = 0.1, scheduler = rr`.
    #[must_use]
    pub fn name(&self, point: usize) -> String {
        let axes = self.study.axes.iter().enumerate();
        let parts = axes.map(|(at, axis)| format!("{} = {}", axis.name, self.label(point, at)));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The point that differs from `point` in `axis` alone and has the reference there; `None` if
    /// `point` has it, or the other is excluded.
    #[must_use]
    pub fn reference(&self, point: usize, axis: usize) -> Option<usize> {
        let reference = self.study.axes[axis].reference;
        let mut choice = self.points[point].choice.clone();
        if choice[axis] == reference {
            return None;
        }
        choice[axis] = reference;
        self.points.iter().position(|other| other.choice == choice)
    }

    /// The plan of a point with a seed; without one, with the seed of the experiment.
    ///
    /// # Errors
    /// The first problem found, with its place and the point.
    pub fn plan(&self, point: usize, seed: Option<u64>) -> Result<Plan, ConfigError> {
        let mut texts = Texts::default();
        self.plan_of(&ParsedBase::of(&self.study.base, &mut texts), point, seed)
    }

    /// The same, with the text of the base experiment parsed before.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub(super) fn plan_of(
        &self,
        base: &ParsedBase<'_>,
        point: usize,
        seed: Option<u64>,
    ) -> Result<Plan, ConfigError> {
        let study = &self.study;
        let mut overrides = self.overrides(point);
        let seed = seed.map(|seed| Override::typed(&format!("seed={seed}")));
        overrides.extend(&seed);
        let mut plan = resolve_parsed(base, &overrides).map_err(|mut e| {
            // No combination knows the key or takes the value.
            if !study.axes.is_empty() && !e.is_unknown() {
                let exclusion = if study.axes.len() > 1 && self.has_good_points(base) {
                    "; [[exclude]] leaves out combinations that cannot be"
                } else {
                    ""
                };
                e.problem = format!("{} (with {}{exclusion})", e.problem, self.name(point));
            }
            e
        })?;
        plan.split = study.split && plan.experiment.congestion.is_none();
        if study.without_endless_baselines {
            plan.leave_out_endless_baselines();
        }
        Ok(plan)
    }

    /// The overrides of a point.
    pub(super) fn overrides(&self, point: usize) -> Vec<&Override> {
        let study = &self.study;
        let mut overrides: Vec<&Override> = study.sets.iter().collect();
        for (axis, &setting) in study.axes.iter().zip(&self.points[point].choice) {
            overrides.extend(&axis.settings[setting].overrides);
        }
        overrides
    }

    /// Whether one of the first points is an experiment.
    fn has_good_points(&self, base: &ParsedBase<'_>) -> bool {
        let mut points = (0..self.points.len()).take(MOST_TRIED);
        points.any(|point| resolve_parsed(base, &self.overrides(point)).is_ok())
    }

    /// The seeds of every point.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn seeds(&self) -> Result<Vec<u64>, ConfigError> {
        if self.study.seeds.is_empty() {
            Ok(vec![self.plan(0, None)?.experiment.seed])
        } else {
            Ok(self.study.seeds.clone())
        }
    }
}

fn is_excluded(study: &Study, choice: &[usize]) -> bool {
    let applies = |exclusion: &Vec<(usize, Vec<usize>)>| {
        let mut parts = exclusion.iter();
        parts.all(|(axis, settings)| settings.contains(&choice[*axis]))
    };
    study.excluded.iter().any(applies)
}
