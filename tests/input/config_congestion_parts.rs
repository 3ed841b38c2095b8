//! Marker and source control in `[congestion_control]`: each may be left out
//! (`docs/reference/experiment.md`).

use crate::common::resolved::{control, plan_with, refused};
use flitwise::config::experiment::SeriesKind;
use flitwise::config::experiment_json;
use flitwise::fabric::spec::congestion::{Marker, SourceControl};

const QUIET: &str = "fabric.preset = \"ib-ddr-testbed\"\n[congestion_control]\n";

#[test]
fn marker_and_source_control_may_be_left_out() {
    let text = |keys: &str| format!("{QUIET}kind = \"ib\"\n{keys}\n");
    let with = |keys: &str| {
        let plan = plan_with(&text(keys), &[]).unwrap();
        let json = experiment_json(&plan.experiment)["congestion_control"].clone();
        (control(&plan.experiment.fabric).clone(), json)
    };
    let (both, json) = with("");
    assert_eq!(
        with("marker = \"port-vl\"\nsource = \"cct\""),
        (both.clone(), json)
    );
    let (c, json) = with("marker = \"none\"\nThreshold = 3");
    assert_eq!((&c.marker, &c.source), (&Marker::None, &both.source));
    assert_eq!(
        (&json["marker"], &json["source"]),
        (&"none".into(), &"cct".into())
    );
    assert!(json.get("host_ports").is_none() && json["CCTI_Limit"] == 127);
    let (c, json) = with("source = \"none\"\nCCTI_Min = 3");
    assert_eq!((&c.marker, &c.source), (&both.marker, &SourceControl::None));
    assert_eq!(
        (&json["marker"], &json["source"]),
        (&"port-vl".into(), &"none".into())
    );
    assert!(json.get("CCT").is_none() && json["host_ports"]["Threshold"] == 12);
    // What is left out is checked all the same.
    let message = refused(&text("marker = \"none\"\nThreshold = 16"));
    assert!(
        message.contains("congestion_control.Threshold"),
        "{message}"
    );
    let message = refused(&text("source = \"none\"\nCCTI_Timer = 0"));
    assert!(
        message.contains("congestion_control.CCTI_Timer"),
        "{message}"
    );
    let message = refused(&text("source = \"dctcp\""));
    assert!(message.contains("valid here: none, cct"), "{message}");
}

/// By default that is recorded which there is.
#[test]
fn series_follow_marker_and_source_control() {
    let recorded = |fabric: &str, keys: &str| {
        let text = format!(
            "fabric.preset = \"{fabric}\"\n[congestion_control]\nkind = \"ib\"\n{keys}\n\
             [series]\ninterval = \"1us\"\n"
        );
        let plan = plan_with(&text, &[]).unwrap();
        plan.series.unwrap().record
    };
    use SeriesKind::{Flows, PortVls, Sources};
    let (hierarchical, voq) = ("opa-gen1", "ib-ddr-testbed");
    assert_eq!(recorded(hierarchical, ""), [Flows, PortVls, Sources]);
    assert_eq!(
        recorded(hierarchical, "marker = \"none\""),
        [Flows, Sources]
    );
    assert_eq!(
        recorded(voq, "marker = \"none\""),
        [Flows, PortVls, Sources]
    );
    assert_eq!(recorded(voq, "source = \"none\""), [Flows, PortVls]);
}
