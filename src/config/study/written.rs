//! A study as a study file, with its base experiment and all that the command line changed.

use crate::config::document::{ConfigError, quoted_key, quoted_text};
use crate::config::load::written;
use crate::config::origin::{Origin, Written};
use crate::config::study::base::Override;
use crate::config::study::{Axis, Setting, Study, label};
use crate::figure::tables::TableFormat;
use std::fmt::Write;
use toml::de::DeValue;

/// The table of the base experiment.
const BASE: &str = "experiment";

impl Study {
    /// The base experiment without overrides, as it is written in a study file.
    ///
    /// # Errors
    /// If its text is no experiment.
    pub fn base_written(&self) -> Result<Written, ConfigError> {
        written(&self.base, BASE, &[])
    }

    /// Returns the study file of this study. `base` is its base experiment, and `origin` tells where that comes from.
    #[must_use]
    pub fn written(&self, base: &Written, origin: &Origin) -> String {
        let mut text = String::new();
        let mut put = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        put("name", quoted_text(&self.name));
        if let Some(description) = &self.description {
            put("description", quoted_text(description));
        }
        if !self.tags.is_empty() {
            put("tags", list(self.tags.iter().map(|tag| quoted_text(tag))));
        }
        if !self.seeds.is_empty() {
            put("seeds", list(self.seeds.iter().map(u64::to_string)));
        }
        if let Some(until) = &self.until_ci {
            put("until_ci", quoted_text(&until.part.to_string()));
            put("max_seeds", until.max_seeds.to_string());
        }
        if !self.split {
            put("split", "false".to_owned());
        }
        if self.format != TableFormat::default() {
            put("format", quoted_text(self.format.name()));
        }
        if self.without_endless_baselines {
            put("endless_baselines", "false".to_owned());
        }
        if !self.sets.is_empty() {
            let _ = write!(text, "\n[set]\n{}", pairs(&self.sets));
        }
        for axis in &self.axes {
            text += &axis.written();
        }
        for exclusion in &self.excluded {
            text += "\n[[exclude]]\n";
            for (axis, settings) in exclusion {
                let axis = &self.axes[*axis];
                let labels = settings
                    .iter()
                    .map(|&at| quoted_text(&axis.settings[at].label));
                let _ = writeln!(text, "{} = {}", quoted_key(&axis.name), list(labels));
            }
        }
        let origin = origin.text(&format!("{BASE}.origin"));
        format!("{text}\n{}\n{origin}", base.text)
    }
}

impl Axis {
    /// The axis as a list of values of its key, where that has the same labels, or else as variants.
    fn written(&self) -> String {
        let mut text = format!("\n[[axis]]\nname = {}\n", quoted_text(&self.name));
        if self.reference != 0 {
            let reference = &self.settings[self.reference].label;
            let _ = writeln!(text, "reference = {}", quoted_text(reference));
        }
        let key = self.settings.first().and_then(Setting::only_key);
        let is_list = self.settings.iter().all(|setting| {
            let value = setting.overrides.first().map(Override::value);
            setting.only_key() == key
                && value.is_some_and(|value| labelled(&value) == setting.label)
        });
        match key.filter(|_| is_list) {
            Some(key) => {
                let values = self
                    .settings
                    .iter()
                    .flat_map(|s| &s.overrides)
                    .map(Override::value);
                let _ = writeln!(
                    text,
                    "key = {}\nvalues = {}",
                    quoted_text(key),
                    list(values)
                );
            }
            None => {
                for Setting { label, overrides } in &self.settings {
                    let (name, pairs) = (quoted_key(label), pairs(overrides));
                    let _ = write!(text, "\n[axis.variants.{name}]\n{pairs}");
                }
            }
        }
        text
    }
}

impl Setting {
    /// The key that it sets, if it sets a single one.
    fn only_key(&self) -> Option<&str> {
        match &self.overrides[..] {
            [only] => Some(only.key()),
            _ => None,
        }
    }
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// The name that a study file gives to a value of a list.
fn labelled(value: &str) -> String {
    match DeValue::parse(value).map(toml::Spanned::into_inner) {
        Ok(DeValue::String(text)) => text.into_owned(),
        _ => label(value),
    }
}

/// The overrides as keys of a table. Of several for one key the last one counts, and a table has it once.
fn pairs(sets: &[Override]) -> String {
    let mut text = String::new();
    for (at, set) in sets.iter().enumerate() {
        if !sets[at + 1..].iter().any(|later| later.key() == set.key()) {
            let _ = writeln!(text, "{} = {}", quoted_text(set.key()), set.value());
        }
    }
    text
}
