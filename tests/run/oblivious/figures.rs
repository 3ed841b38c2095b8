//! Figures and tables of an analysis.

use flitwise::figure::{Chart, Figure};
use flitwise::oblivious::{
    Analysis, Distributions, RunFigures, bandwidth_figure, congestion_figure, delay_figure,
};
use std::collections::BTreeSet;

fn analysis(bandwidths: &[f64], delay: Option<u64>) -> Analysis {
    let run = |&bandwidth: &f64| {
        let mut run = RunFigures::default();
        (run.bandwidth, run.delay) = (bandwidth, delay);
        run.histogram.add(3);
        // Of a rank that sends to itself.
        run.histogram.add(0);
        run
    };
    Analysis {
        runs: bandwidths.iter().map(run).collect(),
        ..Analysis::default()
    }
}

fn distributions(analysis: &Analysis) -> Distributions<'_> {
    Distributions {
        label: "a",
        bandwidth_bins: analysis.bandwidth_bins(),
        congestions: analysis.histogram().of_connections().collect(),
        delays: analysis.delays(),
    }
}

fn points(figure: &Figure) -> Vec<(f64, f64)> {
    let Chart::Curves(curves) = &figure.chart else {
        panic!("no curves")
    };
    let points = &curves.panels[0].lines[0].points;
    points.iter().map(|p| (p.x, p.y)).collect()
}

#[test]
fn runs_are_in_the_bin_of_their_bandwidth() {
    let runs = analysis(&[0.1, 0.5, 0.6, 1.0], Some(7));
    let bins = runs.bandwidth_bins();
    assert_eq!(distributions(&runs).congestions, [(3, 4)]);
    let used: Vec<usize> = (0..bins.len()).filter(|&bin| bins[bin] > 0).collect();
    assert_eq!(used, [2, 10, 12, 19]);
    let points = points(&bandwidth_figure(&[distributions(&runs)]).unwrap());
    let expected = [(5.0, 0.0), (10.0, 0.0), (10.0, 25.0), (15.0, 25.0)];
    assert_eq!(points[3..7], expected);
}

#[test]
fn whole_numbers_are_in_the_middle_of_their_bins() {
    let runs = analysis(&[0.5, 0.5], Some(7));
    for (figure, at) in [
        (delay_figure(&[distributions(&runs)]), 7.0),
        (congestion_figure(&[distributions(&runs)]), 3.0),
    ] {
        let full: Vec<f64> = (points(&figure.unwrap()).iter())
            .filter(|point| point.1 == 100.0)
            .map(|point| point.0)
            .collect();
        assert_eq!(full, [at - 0.5, at + 0.5]);
    }
    // A bin holds several numbers where there are too many.
    let long = analysis(&[0.5], Some(12_000));
    let points = points(&delay_figure(&[distributions(&long)]).unwrap());
    let bins: BTreeSet<u64> = points.iter().map(|point| point.0.to_bits()).collect();
    assert!(bins.len() <= 101 && points.iter().any(|point| point.0 >= 12_000.0));
}

#[test]
fn nothing_is_no_figure() {
    let none = Analysis::default();
    assert_eq!(bandwidth_figure(&[distributions(&none)]), None);
    assert_eq!(congestion_figure(&[]), None);
    let runs = analysis(&[0.5], None);
    assert_eq!(delay_figure(&[distributions(&runs)]), None);
}
