//! The presets carry the publications' numbers, and files mean what they say.

use flitwise::config::experiment::{Part, Placement, SendCompletion};
use flitwise::config::{ConfigError, Plan, experiment_hash, experiment_json, resolve_text};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::hierarchical::{Quota, Scheduler};
use flitwise::fabric::spec::{FabricSpec, Hierarchical, Switch};
use flitwise::units::{Ratio, TickLength};
use std::path::PathBuf;

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments")
}

fn plan_with(text: &str, sets: &[&str]) -> Result<Plan, ConfigError> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    resolve_text("test.toml", text, &corpus(), &sets)
}

fn plan(text: &str) -> Plan {
    plan_with(text, &[]).unwrap()
}

fn switch(fabric: &FabricSpec) -> &Hierarchical {
    fabric.hierarchical().expect("hierarchical switches")
}

const JOB: &str = "job = [{ trace = \"tiny.vef\" }]\n";

#[test]
fn opa_gen1_numbers() {
    let e = plan(JOB).experiment;
    let (u, link) = (e.fabric.units, &e.fabric.link_latency);
    assert_eq!((u.tick, u.flit_bytes), (TickLength::whole(640), 8));
    assert_eq!(u.flits_per_credit, 8);
    let t = &switch(&e.fabric).timing;
    let s = &t.stages;
    let central =
        s.input_store + s.routing + 2 * (s.allocation + s.crossbar) + s.output_store + link.switch;
    let inside =
        s.input_store + s.routing + s.allocation + s.crossbar + s.output_store + link.switch;
    assert_eq!((central, inside), (160, 150));
    assert_eq!((link.nic, t.mport_speedup, t.central_speedup), (8, 3, 4));
    let b = &switch(&e.fabric).buffers;
    assert_eq!(
        (b.input.total, b.output.total, b.central.total),
        (1024, 1024, 1024)
    );
    assert_eq!((b.nic_queue.total, b.nic_sink.total), (512, 512));
    assert_eq!(
        b.input.per_vl,
        [Quota {
            exclusive: 64,
            max: 768
        }; 8]
    );
    assert_eq!(
        b.nic_queue.per_vl,
        [Quota {
            exclusive: 64,
            max: 384
        }; 8]
    );
    assert_eq!(
        b.central.per_vl,
        [Quota {
            exclusive: 16,
            max: 768
        }; 8]
    );
    assert_eq!(e.fabric.topology.nics(), 48);
    assert_eq!(switch(&e.fabric).scheduler, Scheduler::RrVl);
}

#[test]
fn opasim_numbers() {
    let e = plan(&format!("{JOB}[fabric]\npreset = \"opasim\"")).experiment;
    let b = &switch(&e.fabric).buffers;
    assert_eq!((e.fabric.units.flits_per_credit, b.input.total), (4, 64));
    assert_eq!(
        b.input.per_vl,
        [Quota {
            exclusive: 4,
            max: 48
        }; 8]
    );
    assert_eq!(e.fabric.qos.service_levels[0].mtu_bytes, 128);
    assert_eq!(switch(&e.fabric).scheduler, Scheduler::RrVl);
}

#[test]
fn opa_5sl_tables() {
    let e = plan(&format!("{JOB}[qos]\nscheduler = \"dtable\"")).experiment;
    let q = &e.fabric.qos;
    let levels: Vec<_> = q
        .service_levels
        .iter()
        .map(|l| (l.name.as_str(), l.scs.clone(), l.mtu_bytes))
        .collect();
    assert_eq!(levels[0], ("VO", vec![0, 1], 128));
    assert_eq!(levels[2], ("CL", vec![4, 5], 512));
    assert_eq!(levels[4], ("BK", vec![8, 9], 1024));
    assert_eq!(q.vls, 8);
    assert_eq!(
        (q.sc2vl[5], q.sc2vl[8], q.sc2vl[9], q.sc2vl[10]),
        (Some(5), Some(6), Some(7), None)
    );
    assert_eq!(e.dtable.as_ref().map(|t| t.final_sum), Some(4160));
    // The job of a five-level fabric travels as HPC traffic.
    assert_eq!(e.jobs[0].sl, 2);
    let scheduler = |name: &str| {
        let plan = plan(&format!("{JOB}[qos]\nscheduler = \"{name}\""));
        switch(&plan.experiment.fabric).scheduler.clone()
    };
    assert_eq!(
        scheduler("sbt"),
        Scheduler::Sbt {
            weights: vec![10, 30, 50, 5, 5]
        }
    );
    assert_eq!(
        scheduler("rr"),
        Scheduler::Sbt {
            weights: vec![20; 5]
        }
    );
}

/// Every topology of the publication holds its queues with the default quotas.
#[test]
fn published_fabrics_are_valid() {
    for topology in [
        "{ kind = \"torus\", dimensions = [8, 8], concentration = 8, trunk = 10 }",
        "{ kind = \"torus\", dimensions = [8, 8, 4], concentration = 4, trunk = 4 }",
        "{ kind = \"torus\", dimensions = [4, 4], concentration = 8, trunk = 10 }",
        "{ kind = \"k-ary-n-tree\", k = 8, n = 3 }",
        "{ kind = \"k-ary-n-tree\", k = 24, n = 2 }",
        "{ kind = \"k-ary-n-tree\", k = 8, n = 2 }",
    ] {
        let text = format!("{JOB}[qos]\npreset = \"opa-5sl\"\n[fabric]\ntopology = {topology}");
        assert!(
            plan_with(&text, &[]).is_ok(),
            "{topology}: {}",
            plan_with(&text, &[]).unwrap_err()
        );
    }
    let torus = format!("{JOB}[fabric]\ntopology = {{ kind = \"torus\", dimensions = [4, 4] }}");
    assert_eq!(
        plan(&torus).experiment.fabric.qos.service_levels[0].scs,
        [0, 1]
    );
}

/// `qos.mtu` wins over the preset, in every service level.
#[test]
fn one_mtu_for_all_levels_of_a_preset() {
    let mtus = |mtu: &str| -> Vec<u32> {
        let text = format!("{JOB}[qos]\npreset = \"opa-5sl\"\n{mtu}");
        let levels = plan(&text).experiment.fabric.qos.service_levels;
        levels.iter().map(|level| level.mtu_bytes).collect()
    };
    assert_eq!(mtus(""), [128, 256, 512, 1024, 1024]);
    assert_eq!(mtus("mtu = \"128B\""), [128; 5]);
}

#[test]
fn a_job_says_everything() {
    let text = r#"
        seed = 7
        [qos]
        preset = "opa-5sl"
        [[vfabric]]
        name = "hpc"
        tc = 4
        hosts = [3, 1, 2]
        applications = ["a"]
        [[job]]
        name = "a"
        trace = "tiny.vef"
        vfabric = "hpc"
        placement = "random"
        tasks_per_node = 2
        start = "1.5us"
        send_completion = "rendezvous"
        eager_threshold = "12KiB"
        compute_scale = 0.05
        intra_node_latency = "300ns"
        intra_node_bandwidth = "100Gb/s"
        reduction_cost = "0.25ns/B"
        [[background]]
        sl = "BK"
        rate = 0.05
        message = "1024B"
        pattern = "uniform"
    "#;
    let e = plan(text).experiment;
    let j = &e.jobs[0];
    assert_eq!(
        (e.seed, j.sl, j.ranks_per_nic, j.start_ps),
        (7, 4, 2, 1_500_000)
    );
    assert_eq!(j.hosts.as_deref(), Some(&[1, 2, 3].map(NicId::new)[..]));
    let (part, seed) = (Part::Nic, None);
    assert_eq!(j.placement, Placement::Random { part, seed });
    assert_eq!(
        j.send_completion,
        SendCompletion::Rendezvous {
            eager_threshold: 12_288
        }
    );
    assert_eq!(Some(j.compute_scale), Ratio::new(1, 20));
    assert_eq!(j.intra_node_bandwidth, Ratio::whole(12_500_000_000));
    assert_eq!(j.reduction_cost_ps_per_byte, Ratio::whole(250));
    assert_eq!(
        (e.background[0].rate, &e.background[0].sizes[..]),
        (Ratio::new(1, 20).unwrap(), &[(1024, 1)][..])
    );
}

#[test]
fn overrides_change_one_thing() {
    let text = "[qos]\npreset = \"opa-5sl\"\n[[job]]\ntrace = \"tiny.vef\"\n";
    let e = plan_with(
        text,
        &[
            "job.0.sl=BK",
            "seed = 9",
            "fabric.link_latency=\"100ns\"",
            "qos.dtable.w=12",
            "qos.dtable.k=3",
        ],
    )
    .unwrap()
    .experiment;
    assert_eq!(
        (e.jobs[0].sl, e.seed, e.fabric.link_latency.switch),
        (4, 9, 157)
    );
    // An override of a file without [qos] does not bring in five service levels.
    let e = plan_with(JOB, &["qos.scheduler=rr-vl"]).unwrap().experiment;
    assert_eq!(e.fabric.qos.service_levels.len(), 1);
}

/// Service levels laid over a file replace the preset that it only implies.
#[test]
fn service_levels_replace_the_implied_preset() {
    let names = |e: &flitwise::config::Experiment| -> Vec<String> {
        let levels = e.fabric.qos.service_levels.iter();
        levels.map(|l| l.name.clone()).collect()
    };
    let levels = "[{ name = \"X\", scs = [0] }, { name = \"Y\", scs = [1] }]";
    let job = "[[job]]\ntrace = \"tiny.vef\"\n";
    for head in ["", "[qos]\nscheduler = \"rr\"\n"] {
        let text = format!("{head}{job}sl = \"X\"\n");
        for set in [
            format!("qos.service_levels={levels}"),
            format!(" qos.service_levels = {levels}"),
            format!("qos={{ service_levels = {levels} }}"),
        ] {
            let plan = plan_with(&text, &[&set]).unwrap();
            assert_eq!(names(&plan.experiment), ["X", "Y"], "{head}{set}");
            assert_eq!(
                names(&plan.baselines[0].experiment),
                ["X", "Y"],
                "{head}{set}"
            );
        }
    }

    let main = "[qos]\nscheduler = \"rr\"\n[[job]]\ntrace = \"tiny.vef\"\n";
    for overrides in [
        format!("{{ \"qos.service_levels\" = {levels}, \"job.0.sl\" = \"Y\" }}"),
        format!("{{ qos = {{ service_levels = {levels} }}, \"job.0.sl\" = \"Y\" }}"),
    ] {
        let plan = plan(&format!("{main}[baseline]\noverrides = {overrides}\n"));
        assert_eq!(plan.experiment.fabric.qos.service_levels.len(), 5);
        assert_eq!(
            names(&plan.baselines[0].experiment),
            ["X", "Y"],
            "{overrides}"
        );
    }

    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(corpus().join("tiny.vef"), dir.path().join("tiny.vef")).unwrap();
    let base = "[qos]\nservice_levels = [{ name = \"CL\", scs = [0] }]\n";
    std::fs::write(dir.path().join("base.toml"), base).unwrap();
    let text = format!("{main}[baseline]\nfile = \"base.toml\"\n");
    let plan = resolve_text("test.toml", &text, dir.path(), &[]).unwrap();
    assert_eq!(plan.experiment.fabric.qos.service_levels.len(), 5);
    assert_eq!(names(&plan.baselines[0].experiment), ["CL"]);
}

/// Two service levels may share VLs on a torus, class by class.
#[test]
fn service_levels_may_share_vl_classes() {
    let with = |topology: &str, sc2vl: &str| {
        let text = format!(
            "[fabric]\ntopology = {topology}\n[qos]\nsc2vl = {sc2vl}\nservice_levels = \
             [{{ name = \"A\", scs = [0, 1] }}, {{ name = \"B\", scs = [2, 3] }}]\n\
             [[job]]\ntrace = \"tiny.vef\"\nsl = \"A\"\n"
        );
        plan_with(&text, &[]).map(|_| ())
    };
    let torus = "{ kind = \"torus\", dimensions = [4, 4] }";
    assert_eq!(
        with(torus, "[0, 1, 0, 1]").err().map(|e| e.to_string()),
        None
    );
    assert!(with(torus, "[0, 1, 1, 2]").is_err());
    let mesh = "{ kind = \"mesh\", dimensions = [4, 4] }";
    assert_eq!(
        with(mesh, "[0, 1, 1, 0]").err().map(|e| e.to_string()),
        None
    );
}

#[test]
fn baselines() {
    let text = "[qos]\nscheduler = \"dtable\"\n[[job]]\ntrace = \"tiny.vef\"\n[[job]]\ntrace = \"tiny.vef\"\nsl = \"BK\"\n\
                [[background]]\nrate = 0.1\n";
    let two = plan(text);
    assert_eq!(two.experiment.jobs[1].name, "tiny-1");
    assert_eq!(two.baselines.len(), 2);
    let second = &two.baselines[1];
    assert_eq!(second.jobs, [(1, 1)]);
    assert_eq!(
        second
            .experiment
            .jobs
            .iter()
            .map(|j| j.enabled)
            .collect::<Vec<_>>(),
        [false, true]
    );
    assert!(second.experiment.background.is_empty());
    assert_eq!(
        switch(&second.experiment.fabric).scheduler,
        Scheduler::Sbt {
            weights: vec![20; 5]
        }
    );

    let off = plan(&format!("{text}[baseline]\nenabled = false"));
    assert!(off.baselines.is_empty());
    let own = plan(&format!(
        "{text}[baseline]\nalone = false\noverrides = {{ background = [], \"qos.scheduler\" = \"sbt\" }}"
    ));
    assert_eq!(own.baselines[0].jobs, [(0, 0), (1, 1)]);
    assert_eq!(
        switch(&own.baselines[0].experiment.fabric).scheduler,
        Scheduler::Sbt {
            weights: vec![10, 30, 50, 5, 5]
        }
    );
}

#[test]
fn equal_experiments_have_equal_hashes() {
    let hash = |text: &str| experiment_hash(&plan(text).experiment);
    assert_eq!(
        hash(JOB),
        hash(&format!(
            "seed = 1\n{JOB}[fabric]\npreset = \"opa-gen1\"\nlink_latency = \"8 ticks\""
        ))
    );
    assert_ne!(hash(JOB), hash(&format!("seed = 2\n{JOB}")));
    let json = experiment_json(&plan(JOB).experiment).to_string();
    assert_eq!(json, experiment_json(&plan(JOB).experiment).to_string());
    assert!(json.contains("\"tick_ps\":640"));
}

/// Fabrics that libraries make by hand keep the sums of the schedulers in range.
#[test]
fn weights_have_bounds() {
    let fabric = plan(&format!("{JOB}[qos]\nscheduler = \"dtable\""))
        .experiment
        .fabric;
    let problem = |scheduler: Scheduler| {
        let mut fabric = fabric.clone();
        let Switch::Hierarchical(switch) = &mut fabric.switch else {
            panic!("not hierarchical");
        };
        switch.scheduler = scheduler;
        fabric
            .validate()
            .err()
            .map(|e| format!("{}: {}", e.key, e.problem))
    };
    let sbt = |weights: [u32; 5]| {
        problem(Scheduler::Sbt {
            weights: weights.to_vec(),
        })
    };
    assert_eq!(sbt([u32::MAX, 0, 0, 0, 0]), None);
    assert_eq!(
        sbt([u32::MAX, 1, 0, 0, 0]).unwrap(),
        "qos.scheduler: the SBT weights add up to 4294967296; at most 4294967295 is supported"
    );

    let Scheduler::DTable { entries } = &switch(&fabric).scheduler else {
        panic!("{:?}", switch(&fabric).scheduler);
    };
    let first = |weight: u32| {
        let mut entries = entries.clone();
        entries[0].weight = weight;
        problem(Scheduler::DTable { entries })
    };
    assert_eq!(first(1 << 30), None);
    let message = first((1 << 30) + 1).unwrap();
    assert!(
        message
            .starts_with("qos.dtable: entry 0 gives VO a weight of 1073741825; at most 1073741824"),
        "{message}"
    );
}

#[test]
fn a_baseline_may_be_a_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(corpus().join("tiny.vef"), dir.path().join("tiny.vef")).unwrap();
    std::fs::write(
        dir.path().join("base.toml"),
        "[fabric]\nlink_latency = \"16 ticks\"\n",
    )
    .unwrap();
    let text = format!("{JOB}[baseline]\nfile = \"base.toml\"");
    let plan = resolve_text("test.toml", &text, dir.path(), &[]).unwrap();
    assert_eq!(plan.experiment.fabric.link_latency.switch, 8);
    assert_eq!(plan.baselines[0].experiment.fabric.link_latency.switch, 16);

    std::fs::write(
        dir.path().join("base.toml"),
        "[fabric]\nlink_latency = 16\n",
    )
    .unwrap();
    let message = resolve_text("test.toml", &text, dir.path(), &[])
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("base.toml:2:16: fabric.link_latency: `16` has no unit"),
        "{message}"
    );
}

#[test]
fn any_text_is_answered_without_panic() {
    let deep = format!("{}=1", "a.".repeat(5000));
    for set in [
        "",
        "=",
        ".=1",
        "job.0.=1",
        "job.9.sl=CL",
        "job=1",
        "seed=[",
        "fabric.topology.k=\u{e9}",
        &deep,
    ] {
        let _ = plan_with(JOB, &[set]);
    }
    for text in [
        "",
        "\u{0}",
        "[[job]]",
        "job = 3",
        "qos = 1",
        "fabric = []",
        "[baseline]\noverrides = 1\n[[job]]\ntrace='tiny.vef'",
    ] {
        assert!(plan_with(text, &[]).is_err(), "{text}");
    }
}

/// Two ranks of a node exchange a short message no slower than two NICs of a switch, with any preset.
#[test]
fn sharing_a_node_is_not_slower_than_a_switch() {
    use flitwise::fabric::analysis::path::path_via;
    use flitwise::fabric::ids::NicPair;
    let inside = plan(JOB).experiment.jobs[0].intra_node_latency_ps;
    for preset in [
        "opa-gen1", "opa-400", "opasim", "ib-qdr", "ib-fdr", "ib-edr", "ib-hdr", "ib-ndr", "ib-xdr",
    ] {
        let sets = [
            format!("fabric.preset={preset}"),
            "fabric.topology={ kind = \"single\", nics = 2 }".to_owned(),
        ];
        let spec = plan_with(JOB, &[&sets[0], &sets[1]])
            .unwrap()
            .experiment
            .fabric;
        let (src, dst) = (NicId::new(0), NicId::new(1));
        let path = path_via(&spec, &spec, NicPair { src, dst }, src, 0, 8).unwrap();
        let through = spec.units.tick.ns(path.tail.into());
        assert!(inside as f64 / 1000.0 <= through, "{preset}: {through} ns");
    }
}
