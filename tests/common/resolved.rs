//! Experiments as resolved.

use super::data::own;
use flitwise::config::{ConfigError, Plan, resolve_text};
use flitwise::fabric::spec::congestion::{CctControl, Marker, PortVlMarker, SourceControl};
use flitwise::fabric::spec::{CongestionControl, FabricSpec, Voq};
use flitwise::units::Ratio;
use std::path::PathBuf;

pub fn corpus() -> PathBuf {
    own("tests/corpus/experiments")
}

/// An experiment with some traffic, and `text`.
pub fn plan_with(text: &str, sets: &[&str]) -> Result<Plan, ConfigError> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let sl = if text.contains("name = \"A\"") {
        ", sl = \"A\""
    } else {
        ""
    };
    let text = format!("background = [{{ rate = 0.1{sl} }}]\n{text}");
    resolve_text("test.toml", &text, &corpus(), &sets)
}

pub fn fabric(text: &str) -> FabricSpec {
    let plan = plan_with(text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.experiment.fabric
}

pub fn voq(spec: &FabricSpec) -> &Voq {
    spec.voq().expect("voq switches")
}

pub fn control(spec: &FabricSpec) -> &CongestionControl {
    spec.congestion_control.as_deref().expect("switched on")
}

/// The thresholds and the like, where there are such.
pub fn port_vl(control: &CongestionControl) -> &PortVlMarker {
    match &control.marker {
        Marker::PortVl(marker) => marker,
        Marker::None => panic!("nothing marks"),
    }
}

/// The table and the like, where there is one.
pub fn cct(control: &CongestionControl) -> &CctControl {
    match &control.source {
        SourceControl::Cct(control) => control,
        SourceControl::None => panic!("sources do nothing"),
    }
}

pub fn refused(text: &str) -> String {
    match plan_with(text, &[]) {
        Ok(_) => panic!("accepted: {text}"),
        Err(e) => e.to_string(),
    }
}

pub fn ratio(num: u64, den: u64) -> Ratio {
    Ratio::new(num, den).unwrap()
}
