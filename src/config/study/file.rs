//! Reads study files. Every value keeps the place where it was written.

use crate::config::about::About;
use crate::config::document::{ConfigError, Document, Texts, TypeName, read};
use crate::config::study::base::{Base, Override};
use crate::config::study::keys::{ListOrRange, RawAxis, RawBase, RawStudy};
use crate::config::study::range::{distinct, range, seeds};
use crate::config::study::{Axis, MAX_SEEDS, Setting, Study, UntilCi, label, part};
use flitwise_base::quote::quoted;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Study {
    /// Reads a study file.
    ///
    /// # Errors
    /// The first problem found, with its place and a cure. What the values mean to the experiment shows
    /// when a point is resolved.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let dir = path.parent().unwrap_or(Path::new(""));
        parse(&path.display().to_string(), &name, &read(path)?, dir)
    }
}

/// The study of a text called `shown` in messages; `dir` is where its experiment is looked for.
pub(crate) fn parse(shown: &str, name: &str, text: &str, dir: &Path) -> Result<Study, ConfigError> {
    let mut texts = Texts::default();
    let index = texts.add(shown, text);
    let document = Document::parse(&texts, index)?;
    let raw: RawStudy = document.read()?;
    let file = File {
        document: &document,
        dir,
    };
    let base = match &raw.experiment {
        RawBase::File(path) => {
            Base::of_file(&dir.join(path)).map_err(|e| file.error("experiment", e.problem))?
        }
        RawBase::Inline(_) => Base {
            key: Some("experiment".to_owned()),
            ..Base::of_text(shown, text, dir)
        },
    };
    let mut study = Study::of(raw.name.as_deref().unwrap_or(name), base);
    study.description.clone_from(&raw.description);
    study.tags.clone_from(&raw.tags);
    study.split = raw.split.unwrap_or(true);
    study.format = raw.format.unwrap_or_default();
    study.without_endless_baselines = raw.endless_baselines == Some(false);
    if let Some(given) = raw.seeds {
        let seeds = match given {
            ListOrRange::List(list) => distinct(list),
            ListOrRange::Range(text) => seeds(&text),
        };
        study.seeds = seeds.map_err(|problem| file.error("seeds", problem))?;
    }
    let about = About {
        name: raw.name.clone(),
        description: raw.description.clone(),
        tags: raw.tags.clone(),
    };
    about.check().map_err(|e| document.locate(e))?;
    if name_of_place(&study.name) {
        let problem =
            "is also the name of the study's directory, so it has no slashes; leave them out";
        return Err(file.error("name", problem));
    }
    study.until_ci = file.until_ci(raw.until_ci.as_deref(), raw.max_seeds)?;
    match document.get("set") {
        None => {}
        Some(DeValue::Table(set)) => study.sets = file.overrides("", set)?,
        Some(_) => return Err(file.error("set", "must be a table of keys, such as { seed = 2 }")),
    }
    if raw.interference.is_some() {
        file.interference(&mut study)?;
    }
    for (at, axis) in raw.axis.iter().enumerate() {
        file.axis(&mut study, at, axis)?;
    }
    file.exclusions(&mut study)?;
    Ok(study)
}

/// Whether a directory of this name would lie in another one.
fn name_of_place(name: &str) -> bool {
    name.contains(['/', '\\']) || [".", ".."].contains(&name)
}

/// A study file.
struct File<'a, 't> {
    document: &'a Document<'t>,
    /// Its directory.
    dir: &'a Path,
}

impl<'t> File<'_, 't> {
    fn error(&self, key: &str, problem: impl Into<String>) -> ConfigError {
        self.document.locate(ConfigError::new(key, problem))
    }

    /// The precision for which points get further seeds.
    fn until_ci(
        &self,
        text: Option<&str>,
        max_seeds: Option<u64>,
    ) -> Result<Option<UntilCi>, ConfigError> {
        match (max_seeds, text) {
            (Some(0), _) => Err(self.error("max_seeds", "is 0; a point has at least 1 seed")),
            (Some(_), None) => {
                let problem = "limits the seeds that `until_ci` adds, but `until_ci` is missing; add it, or list the seeds as `seeds`";
                Err(self.error("max_seeds", problem))
            }
            (None, None) => Ok(None),
            (max_seeds, Some(text)) => {
                let part = part(text).map_err(|problem| self.error("until_ci", problem))?;
                let max_seeds = max_seeds.unwrap_or(MAX_SEEDS);
                Ok(Some(UntilCi { part, max_seeds }))
            }
        }
    }

    /// A value at the key that it is set for, which is written at `of_key`.
    fn at_key(
        &self,
        key: &str,
        of_key: Range<usize>,
        value: &Spanned<DeValue<'t>>,
    ) -> Result<Override, ConfigError> {
        let texts = self.document.texts();
        let place = texts.locate(value.span());
        let written = texts.written(&value.span());
        match DeValue::parse(written.trim()) {
            Ok(_) => Ok(Override {
                text: format!("{key}={written}"),
                place,
                key_place: texts.locate(of_key),
                dir: Some(self.dir.to_owned()),
            }),
            Err(_) => Err(ConfigError {
                location: place,
                key: key.to_owned(),
                problem: "must be written as one value: a list in [ ], tables in { }".to_owned(),
            }),
        }
    }

    /// The overrides in a table. Tables with a header or dotted keys are merged, values in braces replace.
    fn overrides(&self, prefix: &str, table: &DeTable<'t>) -> Result<Vec<Override>, ConfigError> {
        let mut all = Vec::new();
        for (key, value) in table {
            let path = match prefix {
                "" => key.get_ref().to_string(),
                prefix => format!("{prefix}.{}", key.get_ref()),
            };
            let written = self.document.texts().written(&value.span());
            match value.get_ref() {
                DeValue::Table(inner) if !written.trim_start().starts_with('{') => {
                    all.extend(self.overrides(&path, inner)?);
                }
                _ => all.push(self.at_key(&path, key.span(), value)?),
            }
        }
        Ok(all)
    }

    fn axis(&self, study: &mut Study, at: usize, raw: &RawAxis) -> Result<(), ConfigError> {
        let path = |key: &str| format!("axis.{at}.{key}");
        let error = |key: &str, problem: &str| self.error(&path(key), problem);
        let settings = match (&raw.key, &raw.values, &raw.variants) {
            (Some(key), Some(_), None) => self.values(key, at)?,
            (None, None, Some(_)) => self.variants(&path("variants"))?,
            (Some(_), None, None) => return Err(error("key", "needs `values`: a list or a range")),
            (None, Some(_), None) => {
                return Err(error("values", "need `key`, the key that varies"));
            }
            (None, None, None) => {
                return Err(error("name", "needs `key` and `values`, or `variants`"));
            }
            (_, _, Some(_)) => {
                let problem = "set keys of their own; remove `key` and `values`, or the variants";
                return Err(error("variants", problem));
            }
        };
        let Some(name) = raw.name.clone().or_else(|| raw.key.clone()) else {
            return Err(error(
                "variants",
                "need `name`, the name of the axis in tables",
            ));
        };
        let mut axis = Axis {
            name,
            settings,
            reference: 0,
        };
        if let Some(value) = self.value(&path("reference")) {
            let label = self.label(value);
            let found = axis.labelled(&label);
            axis.reference = found.map_err(|problem| error("reference", &problem))?;
        }
        let place = if raw.name.is_some() { "name" } else { "key" };
        let added = study.add(axis, raw.key.as_deref());
        added.map_err(|e| error(place, &e.problem))
    }

    /// The value at a path, with its place.
    fn value(&self, path: &str) -> Option<&Spanned<DeValue<'t>>> {
        let (table, key) = path.rsplit_once('.')?;
        match self.document.get(table)? {
            DeValue::Table(table) => table.get(key),
            _ => None,
        }
    }

    /// The name of a value in tables.
    fn label(&self, value: &Spanned<DeValue<'t>>) -> String {
        match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            _ => label(self.document.texts().written(&value.span())),
        }
    }

    /// The settings of a list or a range of values.
    fn values(&self, key: &str, at: usize) -> Result<Vec<Setting>, ConfigError> {
        let path = &format!("axis.{at}.values");
        let Some(value) = self.value(path) else {
            return Err(self.error(path, "is missing"));
        };
        let of_key = self.value(&format!("axis.{at}.key"));
        let of_key = of_key.map_or(0..0, Spanned::span);
        let settings = match value.get_ref() {
            DeValue::Array(list) => {
                let one = |value: &Spanned<DeValue<'t>>| {
                    self.at_key(key, of_key.clone(), value).map(|set| Setting {
                        label: self.label(value),
                        overrides: vec![set],
                    })
                };
                list.iter().map(one).collect::<Result<Vec<_>, _>>()?
            }
            DeValue::String(text) => {
                let values = range(text).unwrap_or_else(|| {
                    Err(format!(
                        "{} is no range such as \"0..0.2 step 0.05\"",
                        quoted(text)
                    ))
                });
                let values = values.map_err(|problem| self.error(path, problem))?;
                let texts = self.document.texts();
                let (place, key_place) = (texts.locate(value.span()), texts.locate(of_key));
                let one = |text: String| Setting {
                    overrides: vec![Override {
                        place: place.clone(),
                        key_place: key_place.clone(),
                        ..Override::typed(&format!("{key}={text}"))
                    }],
                    label: text,
                };
                values.into_iter().map(one).collect()
            }
            other => {
                let problem = format!("is {}, not a list or a range", other.type_name());
                return Err(self.error(path, problem));
            }
        };
        if settings.is_empty() {
            Err(self.error(path, "is empty; give at least one value"))
        } else {
            Ok(settings)
        }
    }

    /// The settings of a table of variants.
    fn variants(&self, path: &str) -> Result<Vec<Setting>, ConfigError> {
        let Some(DeValue::Table(variants)) = self.document.get(path) else {
            return Err(self.error(path, "must be a table with a table for each variant"));
        };
        let mut settings = Vec::new();
        for (name, value) in variants {
            let DeValue::Table(table) = value.get_ref() else {
                let key = format!("{path}.{}", name.get_ref());
                let problem =
                    "must be a table of keys, such as { \"job.0.placement\" = \"linear\" }";
                return Err(self.error(&key, problem));
            };
            settings.push(Setting {
                label: name.get_ref().to_string(),
                overrides: self.overrides("", table)?,
            });
        }
        if settings.is_empty() {
            Err(self.error(path, "is empty; give at least one variant"))
        } else {
            Ok(settings)
        }
    }

    fn exclusions(&self, study: &mut Study) -> Result<(), ConfigError> {
        let Some(DeValue::Array(list)) = self.document.get("exclude") else {
            return Ok(());
        };
        for (at, entry) in list.iter().enumerate() {
            let DeValue::Table(table) = entry.get_ref() else {
                return Err(self.error("exclude", "must be tables: [[exclude]]"));
            };
            let mut exclusion = Vec::new();
            for (name, value) in table {
                let error_at = |span: Range<usize>, problem: String| {
                    let mut error = ConfigError::new(format!("exclude.{at}"), problem);
                    error.location = self.document.texts().locate(span);
                    error
                };
                let error = |problem| error_at(value.span(), problem);
                let axis =
                    (study.axis_named(name.get_ref())).map_err(|e| error_at(name.span(), e))?;
                let labels: Vec<String> = match value.get_ref() {
                    DeValue::Array(values) => values.iter().map(|v| self.label(v)).collect(),
                    _ => vec![self.label(value)],
                };
                let indices = labels.iter().map(|label| study.axes[axis].labelled(label));
                let indices = indices.collect::<Result<Vec<_>, _>>().map_err(error)?;
                exclusion.push((axis, indices));
            }
            study.excluded.push(exclusion);
        }
        Ok(())
    }

    /// The axes `job` and `beside`: the first entry of `[[job]]` becomes each job, the second one as well,
    /// and repeats until the first has ended.
    fn interference(&self, study: &mut Study) -> Result<(), ConfigError> {
        let key = "interference.jobs";
        let Some(DeValue::Table(jobs)) = self.document.get(key) else {
            return Err(self.error(key, "must be a table with a table for each job"));
        };
        let axis = |name: &str, entry: usize, fixed: &[&str]| -> Result<Axis, ConfigError> {
            let mut settings = Vec::new();
            for (job, value) in jobs {
                let DeValue::Table(table) = value.get_ref() else {
                    let key = format!("{key}.{}", job.get_ref());
                    return Err(self.error(&key, "must be a table with the keys of a [[job]]"));
                };
                let mut overrides = self.overrides(&format!("job.{entry}"), table)?;
                // They come after the job's own, which they replace.
                overrides.extend(fixed.iter().map(|text| Override::typed(text)));
                settings.push(Setting {
                    label: job.get_ref().to_string(),
                    overrides,
                });
            }
            Ok(Axis {
                name: name.to_owned(),
                settings,
                reference: 0,
            })
        };
        let beside = ["job.1.name=\"beside\"", "job.1.repeat=\"until-others-end\""];
        for axis in [
            axis("job", 0, &["job.0.name=\"job\""])?,
            axis("beside", 1, &beside)?,
        ] {
            if axis.settings.is_empty() {
                return Err(self.error(key, "is empty; give at least one job"));
            }
            study
                .add(axis, None)
                .map_err(|e| self.error(key, e.problem))?;
        }
        study.without_endless_baselines = true;
        Ok(())
    }
}
