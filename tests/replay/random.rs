//! Random programs replay as the naive replay says.

use crate::naive::random::{Recipe, case};
use crate::naive::{Case, End, Features, NICS, Outcome, compare};
use flitwise::replay::SendCompletion;
use flitwise::units::TickLength;
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::cell::RefCell;

/// What the random programs must contain. Names of the naive replay.
const WANTED: &[&str] = &[
    "busy after a receive",
    "busy before a send",
    "computation in a region with a factor",
    "collective of known sizes",
    "collective through several switches",
    "complete request freed",
    "probe that finds a message at once",
    "probe that waits",
    "request freed before it is complete",
    "collective that blocks",
    "collective with a request",
    "collective with an id",
    "complete with active requests",
    "complete with pending requests",
    "eager send",
    "envelope that overtakes",
    "gatherv",
    "linear alltoallv",
    "long buffered send",
    "message inside a node",
    "message by a named NIC",
    "message in parts",
    "message that takes no time",
    "message that waits for a link of a node",
    "message with a last step",
    "message through the fabric",
    "message to oneself",
    "message with an id",
    "operation after a collective",
    "operation after a message",
    "operation after a start",
    "operation after an end",
    "operation after several events",
    "pairwise alltoallv",
    "receive from any source",
    "receive with any tag",
    "reduction that takes time",
    "rendezvous",
    "replay that leaves unmatched messages",
    "request used again",
    "scatterv",
    "segment in the network that waits for a result",
    "several clears to send answered at one time",
    "several envelopes taken up at one time",
    "several posted receives fit",
    "short buffered send",
    "short synchronous send",
    "unexpected message",
    "unexpected message matched",
    "unexpected messages of several sources fit",
    "unexpected messages of several tags fit",
    "unexpected rendezvous matched",
    "wait for active and inactive requests",
    "wait for all",
    "wait for any",
    "wait for any of several complete",
    "wait for some",
    "wait that leaves requests active",
    "wait that takes some",
    "wait whose requests were taken",
    "wait without active requests",
];

/// Counts what a program has beside the features of its replay.
fn count(features: &mut Features, case: &Case, outcome: &Outcome) {
    let mut add = |there: bool, feature| *features.entry(feature).or_default() += u64::from(there);
    add(outcome.end == End::Complete, "job that completes");
    add(outcome.end == End::Stalled, "job that stalls");
    add(matches!(outcome.end, End::Error(_)), "job with an error");
    add(
        case.repeat > 1 && outcome.end == End::Complete,
        "job that runs twice",
    );
    add(case.nics.contains(&(NICS - 1)), "stamped job");
    add(case.tick == TickLength::whole(1), "tick of a picosecond");
    add(case.tick.length_ps().den() > 1, "tick of a fraction");
    let completion = match case.send_completion {
        SendCompletion::Handed => "sends done when handed",
        SendCompletion::Injected => "sends done when injected",
        SendCompletion::Rendezvous { .. } => "sends done on arrival",
    };
    add(true, completion);
    for &feature in WANTED {
        add(outcome.features.contains_key(feature), feature);
    }
}

/// Recipes of at most `most` pieces.
fn recipes(most: usize) -> impl Strategy<Value = Recipe> {
    let pieces = prop::collection::vec(any::<[u8; 24]>(), 1..=most);
    let settings = (any::<[u8; 32]>(), any::<[u8; 8]>());
    (settings, pieces).prop_map(|((job, network), pieces)| Recipe {
        job,
        network,
        pieces,
    })
}

#[test]
fn random_programs_agree_and_contain_everything() {
    let default = ProptestConfig::default();
    let config = ProptestConfig {
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource(
            "proptest-regressions",
        ))),
        // `PROPTEST_CASES` may ask for more.
        cases: default.cases.max(4_000),
        ..default
    };
    let cases = u64::from(config.cases);
    let features = RefCell::new(Features::new());
    let result = TestRunner::new(config).run(&recipes(20), |recipe| {
        let case = case(&recipe);
        let outcome = compare(&case).map_err(TestCaseError::fail)?;
        count(&mut features.borrow_mut(), &case, &outcome);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let features = features.into_inner();
    for (feature, count) in &features {
        println!("{count:6} {feature}");
    }
    let missing: Vec<_> = features.iter().filter(|(_, count)| **count == 0).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(features["job that completes"] > cases / 2);
}
