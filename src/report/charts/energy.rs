//! The energy of runs, by the parts that draw it, and of studies.

use super::bars;
use super::measures::{Measure, Of, Unit};
use super::subject::{Heading, Subject};
use super::title::titled;
use crate::figure::{Axis, Chart, Figure, Stack, Stacks};
use crate::report::source::{RunSource, Source, runs};
use crate::results::energy::against_always_up;
use crate::units::number;
use serde_json::Value;

pub(super) const SUBJECT: Subject = Subject {
    name: "energy",
    heading: Heading::of_runs("energy", "Energy"),
    needs: (
        "energy, which needs [power]",
        "flitwise run EXP.toml --set power.policy=on-off --out DIR",
    ),
    has_axes: true,
    draw: |sources, choice| {
        let bars = bars::figures(&[PER_BIT, IN_ALL, SAVED], sources, choice)?;
        Ok([bars, figures(sources)].concat())
    },
};

const IN_ALL: Measure = Measure {
    title: "Energy",
    axis: "energy",
    column: "energy_j",
    // Runs have a figure of their parts instead.
    field: "",
    base: 0.0,
    signed: false,
    unit: Unit::As("J"),
    of: Of::Jobs,
};
const PER_BIT: Measure = Measure {
    title: "Energy for each bit delivered",
    column: "energy_pj_per_bit",
    unit: Unit::As("pJ/bit"),
    of: Of::Loads,
    ..IN_ALL
};
const SAVED: Measure = Measure {
    title: "Energy of links that their power states save",
    axis: "saved",
    column: "link_energy_saved",
    unit: Unit::Share,
    of: Of::All,
    ..IN_ALL
};

/// States of links, as fields and as people call them.
const STATES: [(&str, &str); 4] = [
    ("up", "links up"),
    ("down", "links down"),
    ("waking", "links waking"),
    ("sleeping", "links sleeping"),
];
/// The series of parts with constant power.
const ALWAYS: &str = "always the same";
/// Links by class, and the field of each.
const LINKS: [(&str, &str); 2] = [
    ("switch_links", "links between switches"),
    ("host_links", "links of NICs"),
];
/// The devices without states, and the field of each.
const DEVICES: [(&str, &str); 2] = [("switches_j", "switches"), ("nics_j", "NICs")];

/// The energy of each run by the parts that draw it, and, of several runs, these side by side.
fn figures(sources: &[Source]) -> Vec<Figure> {
    let each: Vec<(&RunSource, Vec<Stack>)> = runs(sources)
        .filter_map(|run| Some((run, parts(&run.result["energy"])?)))
        .collect();
    let beside = (each.len() > 1).then(|| side_by_side(&each));
    let each = each.into_iter().map(|(run, stacks)| of_run(run, stacks));
    beside.into_iter().chain(each).collect()
}

/// A stack for each part of the fabric that draws something, in joules; `None` without energy.
fn parts(energy: &Value) -> Option<Vec<Stack>> {
    let stack = |name: &str, parts: Vec<f64>| Stack {
        name: name.to_owned(),
        parts,
    };
    let mut stacks = Vec::new();
    for (field, name) in LINKS {
        let joules = &energy[field]["energy_by_state_j"];
        let states = STATES.iter().map(|(state, _)| joules[*state].as_f64());
        // No power of links is constant.
        let states = states.chain([Some(0.0)]);
        stacks.push(stack(name, states.collect::<Option<Vec<f64>>>()?));
    }
    for (field, name) in DEVICES {
        let mut parts = vec![0.0; STATES.len()];
        parts.push(energy[field].as_f64()?);
        stacks.push(stack(name, parts));
    }
    stacks.retain(|stack| stack.parts.iter().any(|joules| *joules > 0.0));
    Some(stacks)
}

fn of_run(run: &RunSource, stacks: Vec<Stack>) -> Figure {
    let states = STATES.iter().map(|(_, name)| *name);
    let names: Vec<String> = states.chain([ALWAYS]).map(str::to_owned).collect();
    Figure {
        title: titled("Energy by what draws it", &run.label),
        note: note(&run.result),
        chart: chart(names, stacks),
    }
}

/// Runs below each other, with the energy of each part.
fn side_by_side(runs: &[(&RunSource, Vec<Stack>)]) -> Figure {
    let names = LINKS.iter().chain(&DEVICES).map(|(_, name)| *name);
    let names: Vec<String> = names.map(str::to_owned).collect();
    let stack = |(run, stacks): &(&RunSource, Vec<Stack>)| {
        let of = |name: &String| {
            let stack = stacks.iter().find(|stack| stack.name == *name);
            stack.map_or(0.0, |stack| stack.parts.iter().sum())
        };
        Stack {
            name: run.label.clone(),
            parts: names.iter().map(of).collect(),
        }
    };
    let stacks = runs.iter().map(stack).collect();
    Figure {
        title: "Energy".to_owned(),
        note: String::new(),
        chart: chart(names, stacks),
    }
}

/// Leaves out parts without energy. The unit is chosen so that the longest stack has few digits.
fn chart(names: Vec<String>, mut stacks: Vec<Stack>) -> Chart {
    let longest = stacks.iter().map(|stack| stack.parts.iter().sum());
    let (factor, unit) = energy_unit(longest.fold(0.0, f64::max));
    let some = |part: &usize| stacks.iter().any(|stack| stack.parts[*part] > 0.0);
    let kept: Vec<usize> = (0..names.len()).filter(some).collect();
    for stack in &mut stacks {
        stack.parts = kept
            .iter()
            .map(|part| stack.parts[*part] * factor)
            .collect();
    }
    Chart::Stacks(Stacks {
        axis: Axis::new("energy", unit),
        parts: kept.iter().map(|part| names[*part].clone()).collect(),
        stacks,
    })
}

/// A factor from joules, and the unit, in which `joules` has few digits.
fn energy_unit(joules: f64) -> (f64, &'static str) {
    match joules {
        j if j >= 1e3 => (1e-3, "kJ"),
        j if j >= 1.0 || j <= 0.0 => (1.0, "J"),
        j if j >= 1e-3 => (1e3, "mJ"),
        _ => (1e6, "µJ"),
    }
}

/// The note on the energy of the whole run and the energy that the states of its links saved.
fn note(result: &Value) -> String {
    let energy = &result["energy"];
    let total = energy["total_j"].as_f64().unwrap_or(0.0);
    let (factor, unit) = energy_unit(total);
    let mut note = format!("In all {} {unit}", number(total * factor));
    if let Some(pj) = energy["pj_per_bit"].as_f64() {
        note += &format!(", {} pJ for each bit delivered", number(pj));
    }
    if let (Some(saved), Some(policy)) = (energy["links_saved"].as_f64(), energy["policy"].as_str())
    {
        note += &format!("; links take {} ({policy})", against_always_up(saved));
    }
    let loads = result["curve"].as_array().map_or(&[][..], Vec::as_slice);
    if let [_, .., last] = loads {
        note += &format!("; at load {}", last["load"].as_str().unwrap_or_default());
    }
    note + "."
}
