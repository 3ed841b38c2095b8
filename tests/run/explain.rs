//! Explanations: their parts add up, and what they blame is what costs the time. Taken away, it is gone.

use crate::common::result_json;
use crate::support::generate;
use flitwise::config::{Plan, load, resolve_text};
use flitwise::explain::{Explanation, LISTED, Part, Parts, Source};
use flitwise::results::{execution_time_ps, summary};
use flitwise::run::{Control, RunResult, Session, Simulation, Status, run_plan};
use proptest::prelude::*;
use std::fmt::Write;
use std::path::Path;
use tempfile::NamedTempFile;

/// Fabrics of 16 NICs, or of 16 on each rail. On the last four messages do not take one path each; on the last two they go
/// in parts, or end with a step inside a node.
const FABRICS: [&str; 9] = [
    "[fabric]\npreset = \"opa-gen1\"\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n",
    "[fabric]\npreset = \"opa-gen1\"\nvirtual_allocation = \"blind\"\n\
     topology = { kind = \"torus\", dimensions = [4, 2], concentration = 2 }\n",
    "[fabric]\npreset = \"ib-qdr\"\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n",
    "[fabric]\npreset = \"opa-gen1\"\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n\
     [congestion_control]\nkind = \"ib\"\n",
    "[fabric]\npreset = \"ib-qdr\"\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n\
     [congestion_control]\nkind = \"ib\"\n",
    "[fabric]\npreset = \"ib-qdr\"\npaths = \"valiant\"\n\
     topology = { kind = \"torus\", dimensions = [4, 2], concentration = 2 }\n",
    "[fabric]\npreset = \"opa-gen1\"\nup_ports = \"least-queued\"\n\
     topology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n",
    "[fabric]\npreset = \"ib-qdr\"\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n\
     [node]\nnics = 4\nrails = 2\nnic_choice = \"stripe\"\nstripe_threshold = \"64B\"\n",
    "[fabric]\npreset = \"opa-gen1\"\ntopology = { kind = \"k-ary-n-tree\", k = 4, n = 2 }\n\
     [node]\nnics = 4\nrails = 2\nfabric = \"all-to-all\"\n",
];
/// Those where messages take the same path each time.
const SAME_PATHS: usize = 5;

fn plan(text: &str) -> Plan {
    let mut plan = resolve_text("test.toml", text, Path::new(""), &[])
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    plan.explain = true;
    plan
}

fn run(plan: &Plan) -> RunResult {
    let result = run_plan(plan, &Control::default(), 1).unwrap();
    assert_eq!(result.main.status, Status::Complete);
    result
}

fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::with_suffix(".vef").unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

/// A token goes from rank to rank: by how much further, how many bytes, and how long its holder computes
/// before, in nanoseconds.
fn token(ranks: u32, hops: &[(u8, u32, u32)]) -> String {
    let mut text = format!("VEF3 {ranks} {} 1 0 0 0 1000\nC0", hops.len() + 1);
    for rank in 0..ranks {
        write!(text, " {rank}").unwrap();
    }
    let (mut holder, mut after) = (0, "0 {} -1".to_owned());
    for (id, &(further, bytes, compute)) in hops.iter().enumerate() {
        let to = (holder + 1 + u32::from(further) % (ranks - 1)) % ranks;
        let kind = if id == 0 { 4 } else { 6 };
        let last = if id == 0 {
            "-1".to_owned()
        } else {
            (id - 1).to_string()
        };
        write!(text, "\n{id} {holder} {to} {bytes} {kind} {compute} {last}").unwrap();
        holder = to;
        after = format!("2 7 {id}");
    }
    let id = hops.len();
    writeln!(text, "\n{id} {holder} {holder} 0 {after}").unwrap();
    text
}

fn hops() -> impl Strategy<Value = Vec<(u8, u32, u32)>> {
    prop::collection::vec((any::<u8>(), 0_u32..20_000, 0_u32..3_000), 1..12)
}

fn sum<'a>(parts: impl Iterator<Item = &'a Parts>) -> u64 {
    parts.map(Parts::total).sum()
}

/// What holds of every explanation.
fn check(explained: &Explanation, run: &Simulation) -> Result<(), TestCaseError> {
    let job = run.jobs[explained.job].as_ref().unwrap();
    let all_ps = job.end_ps - job.start_ps.unwrap();
    prop_assert_eq!(explained.total_ps, all_ps);
    prop_assert_eq!(explained.parts.total(), all_ps);
    prop_assert_eq!(
        sum(explained.ranks.iter().map(|share| &share.parts)),
        all_ps
    );
    prop_assert_eq!(sum(explained.phases.iter()), all_ps);
    for part in Part::ALL {
        let all: u64 = explained.phases.iter().map(|parts| parts.of(part)).sum();
        prop_assert_eq!(all, explained.parts.of(part));
    }
    prop_assert!(explained.late_partners_ps <= explained.total_ps);
    let culprits: u64 = explained.culprits.iter().map(|share| share.ps).sum();
    prop_assert_eq!(culprits, explained.parts.of(Part::Queueing));
    let links: u64 = explained.links.iter().map(|share| share.ps()).sum();
    if explained.links.len() < LISTED {
        prop_assert_eq!(links, explained.parts.delays())
    } else {
        prop_assert!(links <= explained.parts.delays())
    }
    prop_assert!(sum(explained.collectives.iter().map(|share| &share.parts)) <= all_ps);
    Ok(())
}

fn only(run: &Simulation) -> &Explanation {
    &run.explanation.as_ref().unwrap()[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(25))]

    /// One message of the job is under way at a time: all that it waits for is the fault of the others.
    /// Without them the job takes what is left, to the picosecond.
    #[test]
    fn without_what_is_blamed_the_time_falls_as_said(
        hops in hops(), fabric in 0..SAME_PATHS, rate in 1..60, seed in 0..1000,
        by_job in any::<bool>(),
    ) {
        let trace = file(&token(8, &hops));
        let fabric = FABRICS[fabric];
        let job = format!("[[job]]\nname = \"token\"\ntrace = {:?}\n", trace.path());
        let mut burst = "VEF3 8 9 1 0 0 0 1000\nC0 0 1 2 3 4 5 6 7".to_owned();
        for id in 0..8 {
            write!(burst, "\n{id} {id} {} 30000 4 {rate} -1", (id + 3) % 8).unwrap();
        }
        burst.push_str("\n8 0 0 0 2 500 5\n");
        let others = file(&burst);
        let other = if by_job {
            let job = "name = \"other\"\nshare_nics = true\nrepeat = \"until-others-end\"\n";
            format!("[[job]]\ntrace = {:?}\n{job}", others.path())
        } else {
            format!("[[background]]\nrate = {}\n", f64::from(rate) / 100.0)
        };
        let text = |other: &str| format!("seed = {seed}\nbaseline.enabled = false\n{fabric}{job}{other}");
        let beside = run(&plan(&text(&other)));
        let alone = run(&plan(&text("")));
        let (explained, left) = (only(&beside.main), only(&alone.main));
        check(explained, &beside.main)?;
        check(left, &alone.main)?;
        prop_assert_eq!(left.parts.delays(), 0);
        prop_assert_eq!(explained.total_ps - explained.parts.delays(), left.total_ps);
        for part in [Part::Computing, Part::Serialisation, Part::Latency, Part::InsideNodes] {
            prop_assert_eq!(explained.parts.of(part), left.parts.of(part), "{:?}", part);
        }
        for share in &explained.culprits {
            match share.culprit.source {
                Source::Job(job) => prop_assert!(by_job && job == 1, "{:?}", share),
                Source::Background(flow) => prop_assert!(!by_job && flow == 0, "{:?}", share),
                Source::Answers => prop_assert!(fabric.contains("congestion")),
            }
        }
    }

    /// One message is under way at a time, and links go off between messages: all that it waits for is links that
    /// wake. With links that are always on the job takes what is left.
    #[test]
    fn waking_links_are_blamed_for_what_they_cost(
        hops in hops(), fabric in prop::sample::select(&[0, 2]), idle_ns in prop::sample::select(&[100, 2_000, 1_000_000_000]),
    ) {
        let trace = file(&token(8, &hops));
        let job = format!("[[job]]\nname = \"token\"\ntrace = {:?}\n", trace.path());
        let power = format!("[power]\npolicy = \"on-off\"\ndown_after = \"{idle_ns}ns\"\n");
        let text = |power: &str| format!("baseline.enabled = false\n{}{power}{job}", FABRICS[fabric]);
        let saving = run(&plan(&text(&power)));
        let always_on = run(&plan(&text("")));
        let (explained, left) = (only(&saving.main), only(&always_on.main));
        check(explained, &saving.main)?;
        let waited = explained.parts.of(Part::WakingLinks);
        prop_assert_eq!(left.parts.delays(), 0);
        prop_assert_eq!(explained.parts.delays(), waited);
        prop_assert_eq!(explained.total_ps - waited, left.total_ps);
        prop_assert!(waited > 0 || idle_ns > 100, "links go off before the second message");
    }

    /// Any program, with collectives, on any of the fabrics: every picosecond is for something, once.
    #[test]
    fn the_parts_add_up(
        seed in any::<u64>(), ranks in 1_u32..8, fabric in 0..FABRICS.len(), per_node in 1..3,
        sends in prop::sample::select(&["handed", "injected", "rendezvous"]),
    ) {
        let trace = generate(seed, ranks, 60).file();
        let text = format!(
            "saturated_limit = 1000\n{}[[job]]\ntrace = {:?}\nstart = \"3us\"\ncompute_scale = 0.000000001\nranks_per_nic = {per_node}\n\
             send_completion = \"{sends}\"\n[[background]]\nrate = 0.1\n[baseline]\noverrides = {{ background = [] }}\n",
            FABRICS[fabric], trace.path(),
        );
        let plan = plan(&text);
        let result = run(&plan);
        let explained = only(&result.main);
        check(explained, &result.main)?;
        prop_assert_eq!(explained.total_ps, execution_time_ps(&plan.experiment, &result.main));
        let json = result_json(&plan, &result);
        let against = &json["explanation"][0]["against_baseline"];
        let before = only(&result.baselines[0]);
        let more = explained.total_ps as i64 - before.total_ps as i64;
        prop_assert_eq!(against["total_ps"].as_i64(), Some(more));
        let parts = against["parts"].as_object().unwrap().values();
        prop_assert_eq!(parts.map(|part| part.as_i64().unwrap()).sum::<i64>(), more);
        let culprits = against["culprits"].as_array().unwrap().iter();
        let culprits: i64 = culprits.map(|share| share["ps"].as_i64().unwrap()).sum();
        prop_assert_eq!(Some(culprits), against["parts"]["queueing_ps"].as_i64());
        // Explaining changes nothing else, and says the same again.
        let mut plain = plan.clone();
        plain.explain = false;
        let without = run(&plain);
        prop_assert_eq!(&without.main.jobs, &result.main.jobs);
        prop_assert_eq!(&without.main.stats, &result.main.stats);
        prop_assert_eq!(&run(&plan).main.explanation, &result.main.explanation);
    }
}

/// Of a shipped experiment beside a hotspot all kinds of waits are seen, and of whom.
#[test]
fn every_kind_of_wait_occurs() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/ib-hpl-16-hotspot.toml");
    // At this threshold the job's own flows are marked, too.
    let sets = [
        "congestion_control.kind=ib",
        "congestion_control.Threshold=15",
        "job.0.compute_scale=0.0001",
    ];
    let sets = sets.map(String::from);
    let mut plan = load(&file, &sets).unwrap();
    plan.explain = true;
    let result = run(&plan);
    let explained = only(&result.main);
    check(explained, &result.main).unwrap();
    for part in Part::ALL {
        let elsewhere = [Part::Reduction, Part::InsideNodes, Part::WakingLinks];
        let there = !elsewhere.contains(&part);
        assert_eq!(explained.parts.of(part) > 0, there, "{part:?}");
    }
    let sources = explained.culprits.iter().map(|share| share.culprit.source);
    let sources: Vec<Source> = sources.collect();
    for source in [Source::Job(0), Source::Background(0), Source::Background(6)] {
        assert!(sources.contains(&source), "{source:?}: {sources:?}");
    }
    assert!(
        explained
            .collectives
            .iter()
            .all(|share| share.name.ends_with(')'))
    );
    let before = only(&result.baselines[0]);
    assert_eq!(before.parts.of(Part::CreditStalls), 0);
}

/// NICs 1 and 2 send to NIC 3 at the same time: the second message waits for the first one, at the link
/// to NIC 3, and a record of the run says the same.
#[test]
fn two_messages_that_meet_are_told_apart() {
    let trace = file(
        "VEF3 4 5 1 0 0 0 1000\nC0 0 1 2 3\n0 1 3 100000 4 10 -1\n1 2 3 1000 4 11 -1\n2 3 3 0 2 0 0\n3 3 3 0 2 5 1\n4 0 0 0 0 0 -1\n",
    );
    let text = format!(
        "baseline.enabled = false\n[fabric]\ntopology = {{ kind = \"single\", nics = 4 }}\n[[job]]\nname = \"two\"\ntrace = {:?}\n",
        trace.path()
    );
    let plan = plan(&text);
    let result = run(&plan);
    let explained = only(&result.main);
    let [share] = explained.culprits[..] else {
        panic!("{explained:#?}");
    };
    assert_eq!(share.culprit.source, Source::Job(0));
    let link = &explained.links[0];
    assert!(link.queueing_ps > 0, "{explained:#?}");
    let json = result_json(&plan, &result);
    assert_eq!(json["explanation"][0]["links"][0]["to"], "nic 3");
    let said = summary(&plan, &result, true);
    for line in [
        "critical path   local work ",
        "delayed by      job two (",
        "late partners   ",
    ] {
        assert!(said.contains(line), "{line}:\n{said}");
    }
    let dir = tempfile::tempdir().unwrap();
    let kept = |plan: &Plan| {
        let mut session = Session::new(1).with_records(dir.path()).unwrap();
        session.run(plan, &Control::default()).unwrap()
    };
    let mut plain = plan.clone();
    plain.explain = false;
    assert_eq!(kept(&plain).main.explanation, None);
    // The record does not say why: the run is made again, and then it does.
    assert_eq!(kept(&plan).main.explanation, result.main.explanation);
    assert_eq!(kept(&plan).main.explanation, result.main.explanation);
}
