//! A study: a base experiment, and the properties that vary.

pub(super) mod base;
pub(super) mod file;
pub(super) mod keys;
pub(super) mod range;
mod written;

use crate::config::document::{ConfigError, Texts, VARY, check_name, refused, suggestion};
use crate::config::study::base::{Base, Override};
use crate::config::study::range::{seeds, values_of};
use crate::figure::tables::TableFormat;
use crate::units::Ratio;
use flitwise_base::quote::{cut, quoted};
use hashbrown::HashSet;

/// Most combinations of the values of all axes.
pub(crate) const MAX_POINTS: usize = 1_000_000;

/// Most seeds of a point with `until_ci`, unless the study says otherwise.
pub(crate) const MAX_SEEDS: u64 = 30;

/// One place on an axis: a value or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Its name in tables, unique on its axis.
    pub label: String,
    /// The values that it sets.
    pub overrides: Vec<Override>,
}

/// A property that varies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Axis {
    /// Its name in tables, unique among the axes.
    pub name: String,
    /// Its values or variants, at least one.
    pub settings: Vec<Setting>,
    /// Index of the setting that the others are compared with.
    pub reference: usize,
}

/// Seeds are added until the interval of a point is small enough.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct UntilCi {
    /// Half the interval, at most, as a part of the mean.
    pub part: f64,
    /// Most seeds of a point.
    pub max_seeds: u64,
}

/// A base experiment, and the properties that vary (`docs/reference/study.md`).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Study {
    /// Its name.
    pub name: String,
    /// The question that it answers.
    pub description: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The base experiment.
    pub base: Base,
    /// The settings of all runs, in this order.
    pub sets: Vec<Override>,
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// Combinations left out: per exclusion pairs of an axis and the indices on it that it names.
    pub excluded: Vec<Vec<(usize, Vec<usize>)>>,
    /// Seeds of every point, each once; none: the seed of the experiment.
    pub seeds: Vec<u64>,
    /// When seeds are added.
    pub until_ci: Option<UntilCi>,
    /// Whether the jobs are also replayed on better networks.
    pub split: bool,
    /// Files of the tables.
    pub format: TableFormat,
    /// Whether baselines of jobs that repeat until the others end are left out.
    pub without_endless_baselines: bool,
}

impl Study {
    /// A study of one point with the experiment's own seed.
    #[must_use]
    pub fn of(name: &str, base: Base) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            tags: Vec::new(),
            base,
            sets: Vec::new(),
            axes: Vec::new(),
            excluded: Vec::new(),
            seeds: Vec::new(),
            until_ci: None,
            split: true,
            format: TableFormat::Csv,
            without_endless_baselines: false,
        }
    }

    /// Sets a key for all runs, as `--set a.b=c` does.
    pub fn set(&mut self, text: &str) {
        self.sets.push(Override::typed(text));
    }

    /// Replaces the seeds: `1..5` with both ends, or `1,2,7`.
    ///
    /// # Errors
    /// If the text has another form.
    pub fn set_seeds(&mut self, text: &str) -> Result<(), ConfigError> {
        self.seeds = seeds(text).map_err(|problem| ConfigError::new("--seeds", problem))?;
        Ok(())
    }

    /// Adds seeds until intervals are at most `text` (such as `2%`) of the mean on both sides.
    ///
    /// # Errors
    /// If the text is no part between 0 and 1.
    pub fn set_until_ci(&mut self, text: &str, max_seeds: u64) -> Result<(), ConfigError> {
        let part = part(text).map_err(|problem| ConfigError::new("--until-ci", problem))?;
        self.until_ci = Some(UntilCi { part, max_seeds });
        Ok(())
    }

    /// Adds the axis `KEY=v1,v2,…` or `KEY=A..B:C`. Messages show it behind `--vary`.
    ///
    /// # Errors
    /// If the text has another form, or another axis has the key.
    pub fn vary(&mut self, text: &str) -> Result<(), ConfigError> {
        let mut texts = Texts::default();
        let index = texts.add(VARY, text);
        let place = |from: usize, to: usize| {
            let base = texts.base(index);
            texts.locate(base + from..base + to)
        };
        let error = |problem: &str| {
            let mut error = ConfigError::new("", problem);
            error.location = place(0, text.len());
            error
        };
        let Some((key, list)) = text.split_once('=') else {
            let problem = format!(
                "must have the form KEY=v1,v2 or KEY=A..B:C: write {}=v1,v2",
                cut(text.trim())
            );
            return Err(error(&problem));
        };
        let start = key.len() + 1;
        let key = key.trim();
        if key.is_empty() {
            return Err(error("has no key; write KEY=v1,v2 or KEY=A..B:C"));
        }
        let values = values_of(list).map_err(|problem| error(&problem))?;
        let settings = values.into_iter().map(|(value, span)| Setting {
            label: label(&value),
            overrides: vec![Override {
                text: format!("{key}={value}"),
                place: place(start + span.start, start + span.end),
                key_place: place(0, key.len()),
                dir: None,
            }],
        });
        let axis = Axis {
            name: key.to_owned(),
            settings: settings.collect(),
            reference: 0,
        };
        self.add(axis, Some(key)).map_err(|mut e| {
            e.location = e.location.or(place(0, text.len()));
            e
        })
    }

    /// Adds an axis, if its names are unique. `key` is the key that it sets, if it sets a single one.
    pub(crate) fn add(&mut self, axis: Axis, key: Option<&str>) -> Result<(), ConfigError> {
        let error = |problem: String| refused("", problem);
        if key == Some("seed") {
            return error("`seed` is no axis; give the seeds as `seeds` (--seeds)".to_owned());
        }
        if axis.name.trim().is_empty() {
            return error("the name of an axis is empty; tables need one".to_owned());
        }
        check_name(&axis.name, String::new)?;
        if self.axes.iter().any(|other| other.name == axis.name) {
            return error(format!(
                "another axis is called {}; give one of them another name",
                quoted(&axis.name)
            ));
        }
        if let Some(label) = twice(&axis.settings, key.is_some()) {
            return error(format!(
                "{} is listed twice, as a text or a number; remove one",
                quoted(label)
            ));
        }
        self.axes.push(axis);
        let points = self.axes.iter().try_fold(1_usize, |product, axis| {
            product
                .checked_mul(axis.settings.len())
                .filter(|&product| product <= MAX_POINTS)
        });
        match points {
            Some(_) => Ok(()),
            None => error(format!(
                "gives more than {MAX_POINTS} combinations; remove values or axes"
            )),
        }
    }

    /// The axis with this name, or an error that suggests another name.
    pub(crate) fn axis_named(&self, name: &str) -> Result<usize, String> {
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        (names.iter().position(|other| *other == name)).ok_or_else(|| {
            format!(
                "no axis is called {}{}",
                quoted(name),
                suggestion(name, &names)
            )
        })
    }
}

/// The first label that another setting before it has; of `values`, also in another form of the same number.
fn twice(settings: &[Setting], values: bool) -> Option<&str> {
    let mut seen = HashSet::new();
    let again = settings.iter().find(|setting| {
        let set = setting.overrides.first().filter(|_| values);
        let number = set.and_then(|set| number(&set.value()));
        let other = number.filter(|number| *number != setting.label);
        // Both go in, so that each form is seen.
        !seen.insert(setting.label.clone()) | other.is_some_and(|number| !seen.insert(number))
    });
    again.map(|setting| setting.label.as_str())
}

/// The one form of a number; `None` if `value` is none.
fn number(value: &str) -> Option<String> {
    let digits = value.replace('_', "");
    let exact = digits.parse::<Ratio>().map(|ratio| ratio.to_string()).ok();
    exact.or_else(|| Some(digits.parse::<f64>().ok()?.to_string()))
}

impl Axis {
    /// The setting with this label, or an error that suggests another label.
    pub(crate) fn labelled(&self, label: &str) -> Result<usize, String> {
        let labels: Vec<&str> = self.settings.iter().map(|s| s.label.as_str()).collect();
        labels
            .iter()
            .position(|other| *other == label)
            .ok_or_else(|| {
                let (name, near) = (quoted(&self.name), suggestion(label, &labels));
                format!("axis {name} has no {}{near}", quoted(label))
            })
    }
}

/// The name of a written value in tables.
pub(crate) fn label(written: &str) -> String {
    let text = written.trim();
    let bare = ['"', '\''].iter().find_map(|&quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains([quote, '\\'])).then_some(inner)
    });
    let words = bare.unwrap_or(text).split_whitespace();
    words.collect::<Vec<_>>().join(" ")
}

/// A part of a mean, such as `2%` or `0.02`.
pub(crate) fn part(text: &str) -> Result<f64, String> {
    let ratio = text.trim().parse::<Ratio>();
    let part = ratio.map_err(|e| e.to_string())?.to_f64();
    if part > 0.0 && part < 1.0 {
        Ok(part)
    } else {
        Err(format!(
            "{} is not a part between 0 and 1; write for example \"2%\"",
            quoted(text)
        ))
    }
}
