//! The templates: experiments and studies of `configs/` with the files that they name, all inside the program.

use super::super::schema::{EXPERIMENT_SCHEMA_FILE, STUDY_SCHEMA_FILE};
use flitwise::units::human_bytes;
use std::path::Path;

/// A file of the repository.
#[derive(Debug)]
pub(in crate::cli) struct Shipped {
    /// Its path in the repository.
    pub path: &'static str,
    pub bytes: &'static [u8],
}

/// An experiment or a study to start from.
#[derive(Debug)]
pub(super) struct Template {
    pub name: &'static str,
    pub main: Shipped,
    /// The other files, which the main file names.
    pub others: &'static [Shipped],
}

/// The template that is made for a trace of the user.
pub(super) const MY_TRACE: &str = "my-trace";

macro_rules! shipped {
    ($path:expr) => {
        Shipped {
            path: $path,
            bytes: include_bytes!(concat!("../../../", $path)),
        }
    };
}

macro_rules! templates {
    ($($name:literal: $main:literal with [$($other:literal),*];)*) => {
        /// All templates, in the order in which they are listed.
        pub(super) static TEMPLATES: &[Template] = &[$(Template {
            name: $name,
            main: shipped!($main),
            others: &[$(shipped!($other)),*],
        }),*];
    };
}

templates! {
    "hpl-tree": "configs/hpl-16-tree.toml" with ["traces/hpl-16.vef.gz"];
    "my-trace": "configs/templates/my-trace.toml" with ["traces/randomaccess-16.vef.gz"];
    "torus": "configs/hpl-16-torus.toml" with ["traces/hpl-16.vef.gz"];
    "two-jobs": "configs/two-jobs.toml" with ["traces/lammps_melt-16.vef.gz", "traces/randomaccess-16.vef.gz"];
    "formats": "configs/formats.toml" with [
        "traces/dumpi/nas_is_S-16.tar.gz", "traces/goal/alltoall-linear-32-4k.goal.gz", "traces/ti/nas_dt_SH_W-32.tar.gz"
    ];
    "dragonfly": "configs/dragonfly.toml" with [];
    "load-curve": "configs/templates/load-curve.toml" with [];
    "cc-hotspot": "configs/ib-hpl-16-hotspot.toml" with ["traces/hpl-16.vef.gz"];
    "ib-from-dump": "configs/templates/ib-from-dump.toml" with [
        "traces/hpl-16.vef.gz", "configs/templates/ibnetdiscover.txt", "configs/templates/opensm-lfts.dump"
    ];
    "power": "configs/hpl-16-power.toml" with ["traces/hpl-16.vef.gz"];
    "scheduler-study": "configs/templates/scheduler-study.toml" with ["configs/hpl-16-tree.toml", "traces/hpl-16.vef.gz"];
}

/// The application and the number of ranks of each trace.
const RECORDED: &[(&str, &str, u32)] = &[
    ("hpl-16.vef.gz", "HPL", 16),
    ("lammps_melt-16.vef.gz", "LAMMPS, a melt", 16),
    ("randomaccess-16.vef.gz", "RandomAccess", 16),
    ("nas_is_S-16.tar.gz", "NAS IS, class S, in DUMPI", 16),
    (
        "alltoall-linear-32-4k.goal.gz",
        "one all-to-all of 4 KiB, in GOAL",
        32,
    ),
    (
        "nas_dt_SH_W-32.tar.gz",
        "NAS DT, graph SH, class W, in TI",
        32,
    ),
];

/// Returns a line for each trace inside the program: its name, and its application, ranks, size and templates.
pub(in crate::cli) fn traces() -> Vec<(&'static str, String)> {
    let one = |&(name, application, ranks): &(&'static str, &str, u32)| {
        let holds =
            |template: &&'static Template| template.traces().any(|file| file.last() == name);
        let templates: Vec<&str> = (TEMPLATES.iter().filter(holds))
            .map(|template| template.name)
            .collect();
        let mut files = TEMPLATES.iter().flat_map(Template::traces);
        let bytes = files
            .find(|file| file.last() == name)
            .map_or(0, |file| file.bytes.len() as u64);
        let size = human_bytes(bytes);
        let templates = templates.join(", ");
        let text = format!("{application}, {ranks} ranks, {size}; init {templates}");
        (name, text)
    };
    RECORDED.iter().map(one).collect()
}

impl Shipped {
    /// Whether it is a trace.
    pub fn is_trace(&self) -> bool {
        self.path.starts_with("traces/")
    }

    /// The name of the file that is written; the main file has the name of its template.
    pub fn name(&self) -> String {
        let template = TEMPLATES
            .iter()
            .find(|template| template.main.path == self.path);
        match template {
            Some(template) => format!("{}.toml", template.name),
            None => self.last().to_owned(),
        }
    }

    /// The name of the file in the repository.
    fn last(&self) -> &'static str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The text of an experiment or a study as it is in the repository.
    fn text(&self) -> &'static str {
        std::str::from_utf8(self.bytes).unwrap_or_default()
    }

    fn is_text(&self) -> bool {
        Path::new(self.path)
            .extension()
            .is_some_and(|e| e == "toml")
    }
}

impl Template {
    /// Returns the template of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.name == name)
    }

    /// The question that it answers: the `description` of its file.
    pub fn question(&self) -> String {
        let table: toml::Table = self.main.text().parse().unwrap_or_default();
        let question = table.get("description").and_then(toml::Value::as_str);
        question.unwrap_or_default().to_owned()
    }

    /// Whether it is a study.
    pub fn is_study(&self) -> bool {
        is_study(&self.main)
    }

    /// All files but the schemas.
    fn files(&'static self) -> impl Iterator<Item = &'static Shipped> {
        std::iter::once(&self.main).chain(self.others)
    }

    /// The main file and its base, if it is a study, with the files that they name beside them, and their schemas on top.
    pub fn texts(&'static self) -> Vec<(String, String)> {
        let texts = self.files().filter(|file| file.is_text());
        texts.map(|file| (file.name(), self.moved(file))).collect()
    }

    /// The traces of its jobs.
    pub fn traces(&'static self) -> impl Iterator<Item = &'static Shipped> {
        self.others.iter().filter(|file| file.is_trace())
    }

    /// The keys of its tree, and the comment behind them, if it has a tree.
    pub fn tree(&'static self) -> Option<String> {
        let texts = self.files().filter(|file| file.is_text());
        let mut lines = texts.flat_map(|file| file.text().lines());
        let line = lines.find_map(|line| line.split_once("kind = \"k-ary-n-tree\", "));
        line.map(|(_, keys)| keys.to_owned())
    }

    /// The files that are copied as they are.
    pub fn copies(&'static self) -> impl Iterator<Item = &'static Shipped> {
        self.others.iter().filter(|file| !file.is_text())
    }

    /// The text of `file` for a directory that holds all files of the template.
    fn moved(&'static self, file: &Shipped) -> String {
        let mut text = file.text().replace("\"../../", "\"").replace("\"../", "\"");
        for other in self.files() {
            let name = other.name();
            text = text.replace(other.path, &name);
            text = text.replace(&format!("\"{}\"", other.last()), &format!("\"{name}\""));
        }
        let schema = if is_study(file) {
            STUDY_SCHEMA_FILE
        } else {
            EXPERIMENT_SCHEMA_FILE
        };
        format!("#:schema ./{schema}\n{text}")
    }

    /// The commands at the head of the main file, whose place is `place`.
    pub fn commands(&self, place: &str) -> Vec<String> {
        let typed = |line: &str| {
            let command = line.strip_prefix("#   ")?;
            let command = command.split("   #").next().unwrap_or(command);
            Some(command.replace(self.main.path, place))
        };
        self.main.text().lines().filter_map(typed).collect()
    }
}

/// Whether the file is a study: it has a base experiment.
fn is_study(file: &Shipped) -> bool {
    let table: toml::Table = file.text().parse().unwrap_or_default();
    table.contains_key("experiment")
}

#[cfg(test)]
mod tests {
    use super::super::ranks;
    use super::*;

    #[test]
    fn traces_are_listed_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let all: Vec<&Shipped> = TEMPLATES.iter().flat_map(Template::traces).collect();
        for file in &all {
            let path = dir.path().join(file.name());
            std::fs::write(&path, file.bytes).unwrap();
            let listed = RECORDED.iter().find(|(name, ..)| *name == file.last());
            let (_, _, count) = listed.unwrap_or_else(|| panic!("{}", file.path));
            assert!(ranks(&path).unwrap().is_ok_and(|ranks| ranks == *count));
        }
        assert!(
            RECORDED
                .iter()
                .all(|(name, ..)| all.iter().any(|file| file.last() == *name))
        );
    }
}
