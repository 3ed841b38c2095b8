//! The parts of a page that are no figures: the overview, the configuration, the commands.

use super::congestion;
use super::section::{Section, Table, Text};
use crate::report::charts::details;
use crate::report::source::{RunSource, Source, StudySource};
use crate::results::{EXPERIMENT_FILE, RESULT_FILE, scheduler_name};
use crate::units::{human_time, number};
use serde_json::Value;

/// Longest configuration that is shown as a whole.
const LONGEST: usize = 60_000;

pub(super) fn overview(sources: &[Source]) -> Section {
    let mut section = Section {
        id: "overview".to_owned(),
        title: "At a glance".to_owned(),
        ..Section::default()
    };
    let mut runs = Vec::new();
    for source in sources {
        match source {
            Source::Run(run) => {
                if let Some(text) = run.result["about"]["description"].as_str() {
                    section.lead.push(format!("{}: {text}", run.label));
                }
                runs.push(run_row(run));
            }
            Source::Study(study) => {
                section.lead.extend(study_words(study));
                section.tables.push(axes(study));
            }
            Source::Congestion(analysis) => congestion::overview(analysis, &mut section),
        }
    }
    if !runs.is_empty() {
        let head = [
            "run",
            "status",
            "execution time",
            "slowdown",
            "fabric",
            "seed",
        ];
        section.tables.push(Table {
            caption: "Runs".to_owned(),
            head: head.map(str::to_owned).to_vec(),
            rows: runs,
        });
    }
    section
}

fn run_row(run: &RunSource) -> Vec<String> {
    let result = &run.result;
    let time = result["execution_time_ps"]
        .as_u64()
        .map_or_else(|| "–".to_owned(), human_time);
    let slowdown = result["slowdown"]
        .as_f64()
        .map_or_else(|| "–".to_owned(), number);
    vec![
        run.label.clone(),
        result["status"].as_str().unwrap_or_default().to_owned(),
        time,
        slowdown,
        fabric(result),
        result["seed"].to_string(),
    ]
}

/// `k-ary-n-tree, 64 NICs, destro, dtable`.
fn fabric(result: &Value) -> String {
    let experiment = &result["experiment"];
    let (fabric, text) = (&experiment["fabric"], |value: &Value| {
        value.as_str().unwrap_or_default().to_owned()
    });
    let nics = fabric["topology"]["nics"].to_string();
    let parts = [
        text(&fabric["topology"]["kind"]),
        format!("{nics} NICs"),
        text(&fabric["routing"]),
        scheduler_name(&experiment["qos"]["scheduler"]),
    ];
    parts.join(", ")
}

fn study_words(study: &StudySource) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(text) = study.study["description"].as_str() {
        words.push(format!("{}: {text}", study.label));
    }
    let count = |key: &str| study.study[key].as_u64().unwrap_or(0);
    let mut done = format!("{} runs of {} points.", count("runs"), count("points"));
    for (key, what) in [("failed", "failed"), ("missing", "are not done yet")] {
        if count(key) > 0 {
            done += &format!(" {} {what}; runs.csv says which.", count(key));
        }
    }
    words.push(done);
    words
}

fn axes(study: &StudySource) -> Table {
    let axes = study.study["axes"].as_array().into_iter().flatten();
    let row = |axis: &Value| {
        let settings = axis["settings"].as_array().into_iter().flatten();
        let labels: Vec<&str> = settings
            .filter_map(|setting| setting["label"].as_str())
            .collect();
        let text = |key: &str| axis[key].as_str().unwrap_or_default().to_owned();
        vec![text("name"), labels.join(", "), text("reference")]
    };
    Table {
        caption: format!("What varies: {}", study.label),
        head: ["axis", "settings", "reference"]
            .map(str::to_owned)
            .to_vec(),
        rows: axes.map(row).collect(),
    }
}

pub(super) fn configuration(sources: &[Source]) -> Section {
    let mut section = Section {
        id: "configuration".to_owned(),
        title: "Configuration".to_owned(),
        lead: vec![
            "Each experiment with all settings of its command line. `flitwise run DIR` repeats it."
                .to_owned(),
        ],
        ..Section::default()
    };
    for run in details(sources) {
        let (file, text) = match &run.experiment {
            Some(text) => (EXPERIMENT_FILE, text.clone()),
            None => (RESULT_FILE, format!("{:#}", run.result["experiment"])),
        };
        let hash = run.result["experiment_hash"].as_str().unwrap_or_default();
        section.texts.push(Text {
            title: format!("{} (experiment {hash})", run.label),
            text: if text.len() > LONGEST {
                let end = (0..=LONGEST).rev().find(|&end| text.is_char_boundary(end));
                let kept = &text[..end.unwrap_or(0)];
                format!("{kept}\n… (the rest is in {}/{file})", run.dir.display())
            } else {
                text
            },
            closed: true,
        });
    }
    for source in sources {
        if let Source::Study(study) = source {
            section.texts.push(Text {
                title: format!("{}: axes and what they set (study.json)", study.label),
                text: format!("{:#}", study.study),
                closed: true,
            });
        }
    }
    section
}

pub(super) fn commands(sources: &[Source]) -> Section {
    let one = |source: &Source| {
        let title = format!("{} ({})", source.label(), source.dir().display());
        let unknown = "not known: the directory is from a version that kept no command.txt";
        let text = |title, command: Option<&String>| Text {
            title,
            text: command.map_or_else(|| unknown.to_owned(), String::clone),
            closed: false,
        };
        match source {
            Source::Run(run) => vec![text(title, run.command.as_ref())],
            Source::Congestion(analysis) => vec![text(title, analysis.command.as_ref())],
            Source::Study(study) => {
                let mut texts = vec![text(title, study.command.as_ref())];
                let detail = study.detail.as_ref();
                if let Some(command) = detail.and_then(|run| run.command.as_ref()) {
                    let what =
                        "its slowest run alone, with the critical path and what the ranks do";
                    texts.push(text(format!("{}: {what}", source.label()), Some(command)));
                }
                texts
            }
        }
    };
    Section {
        id: "commands".to_owned(),
        title: "Commands".to_owned(),
        lead: vec![
            "The same command gives the same numbers, on any machine and any number of threads."
                .to_owned(),
        ],
        texts: sources.iter().flat_map(one).collect(),
        ..Section::default()
    }
}
