//! Several jobs at once: where they run, how often, and how much they slow one another.

use crate::common::result_json;
use flitwise::config::experiment::Experiment;
use flitwise::config::{ConfigError, Plan, experiment_hash, experiment_json, resolve_text};
use flitwise::fabric::ids::NicId;
use flitwise::results::{run_warnings, summary};
use flitwise::run::{Control, RunResult, Status, run_plan};
use serde_json::{Value, json};
use std::path::Path;

/// One message of 1 KiB from rank 0 to rank 1: alone 285 ticks of 640 ps.
const TINY_PS: u64 = 182_400;
const FABRIC: &str = "[fabric]\ntopology = { kind = \"single\", nics = 8 }\n";

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/experiments")
}

fn resolve(text: &str, sets: &[&str]) -> Result<Plan, ConfigError> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    resolve_text("test.toml", &format!("{FABRIC}{text}"), &corpus(), &sets)
}

fn run(plan: &Plan, threads: usize) -> RunResult {
    let control = Control::default();
    run_plan(plan, &control, threads).unwrap()
}

/// The document without the part that may differ.
fn result(text: &str) -> Value {
    let plan = resolve(text, &[]).unwrap();
    let result = run(&plan, 1);
    assert_eq!(result.main.status, Status::Complete);
    let document = |result: &RunResult| {
        let mut json = result_json(&plan, result);
        json.as_object_mut().unwrap().remove("engine");
        json
    };
    let json = document(&result);
    let again = document(&run(&plan, 2));
    assert_eq!(json.to_string(), again.to_string(), "threads matter");
    json
}

fn job(more: &str) -> String {
    format!("[[job]]\ntrace = \"tiny.vef\"\n{more}\n")
}

#[test]
fn a_job_that_repeats_is_compared_with_itself() {
    let json = result(&job("repeat = 3\nstart = \"6400ps\""));
    let only = &json["jobs"][0];
    assert_eq!(only["repetitions"], 3);
    assert_eq!(
        only["repetition_times_ps"],
        json!([TINY_PS, TINY_PS, TINY_PS])
    );
    assert_eq!(only["execution_time_ps"], TINY_PS);
    // From its start on.
    assert_eq!(json["execution_time_ps"], 3 * TINY_PS);
    assert_eq!(json["baseline_time_ps"], 3 * TINY_PS);
    assert_eq!(only["slowdown"], 1.0);
    assert_eq!(only["messages"], 3);
}

#[test]
fn a_neighbour_that_repeats_does_not_hold_up_the_run() {
    // Job `long` is sent at 6 × 640 ps + 5 repetitions, so in tick 6 + 1425.
    let start = format!("name = \"long\"\nstart = \"{}ps\"", 6 * 640 + 5 * TINY_PS);
    let text = job(&start) + &job("repeat = \"until-others-end\"");
    let json = result(&text);
    assert_eq!(json["execution_time_ps"], TINY_PS);
    assert_eq!(json["baseline_time_ps"], TINY_PS);
    let neighbour = &json["jobs"][1];
    assert_eq!(neighbour["repetitions"], 6);
    assert_eq!(neighbour["complete"], true);
    assert_eq!(neighbour["execution_time_ps"], TINY_PS);
    // Alone it runs once.
    assert_eq!(neighbour["baseline_time_ps"], TINY_PS);
    assert_eq!(neighbour["slowdown"], 1.0);
    assert_eq!(json["baselines"][1]["execution_time_ps"], TINY_PS);
    assert_eq!(json["baselines"][1]["experiment"]["jobs"][1]["repeat"], 1);
    let plan = resolve(&text, &[]).unwrap();
    let text = summary(&plan, &run(&plan, 1), true);
    assert!(text.contains("bytes  runs\n"), "{text}");
    // The job that ended last, not its neighbour.
    let goes =
        "where it goes   computing 0.0 %, the rest network and waiting for partners of long\n";
    assert!(text.contains(goes), "{text}");
}

#[test]
fn a_neighbour_that_did_not_end_has_run_until_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let calc = |name: &str, ns: u64| {
        let text = format!("num_ranks 1\nrank 0 {{\nl1: calc {ns}\n}}\n");
        std::fs::write(dir.path().join(name), text).unwrap();
    };
    calc("short.goal", 64);
    calc("long.goal", 640);
    let neighbour = |more: &str| {
        let repeat = "repeat = \"until-others-end\"";
        let job = "[[job]]\ntrace = \"short.goal\"\n[[job]]\ntrace = \"long.goal\"";
        let text = format!("{FABRIC}{job}\n{repeat}\n{more}\n");
        let plan = resolve_text("test.toml", &text, dir.path(), &[]).unwrap();
        let result = run(&plan, 1);
        let json = result_json(&plan, &result)["jobs"][1].clone();
        assert_eq!(json["complete"], false);
        let warning = run_warnings(&plan, &result)[0].text.clone();
        (json, warning)
    };
    // It computes all the time, and has no event after its start.
    for (more, start_ps) in [("", 0), ("start = \"6400ps\"", 6400)] {
        let (job, warning) = neighbour(more);
        assert_eq!(job["start_ps"], start_ps);
        for key in ["execution_time_ps", "compute_ps"] {
            assert_eq!(job[key], 64_000 - start_ps, "{key}");
        }
        assert!(
            warning.contains("the time shown for it ends with them"),
            "{warning}"
        );
    }
    let (job, warning) = neighbour("start = \"1us\"");
    assert_eq!(job["start_ps"], Value::Null);
    assert_eq!(job["execution_time_ps"], 0);
    assert!(
        warning.contains("did not start before the others ended"),
        "{warning}"
    );
}

#[test]
fn a_baseline_that_is_the_experiment_is_not_simulated_again() {
    let walls = |more: &str| {
        let plan = resolve(&(job("") + more), &[]).unwrap();
        let result = run(&plan, 2);
        assert_eq!(
            result.baselines[0].stats.end_tick,
            result.main.stats.end_tick
        );
        assert_eq!(result.baselines[0].jobs[0], result.main.jobs[0]);
        result.baselines[0].wall.is_zero()
    };
    assert!(walls(""));
    // Another configuration, though it makes no difference here.
    assert!(!walls("[qos]\nscheduler = \"dtable\""));
}

/// Two messages of 128 flits leave one NIC one after the other.
#[test]
fn jobs_on_the_same_nics_slow_one_another() {
    let text = job("") + &job("share_nics = true\nplacement = { list = [0, 1] }");
    let json = result(&text);
    assert_eq!(json["jobs"][0]["slowdown"], 1.0);
    let second = TINY_PS + 128 * 640;
    assert_eq!(json["jobs"][1]["execution_time_ps"], second);
    assert_eq!(json["jobs"][1]["baseline_time_ps"], TINY_PS);
    let slowdown = second as f64 / TINY_PS as f64;
    assert_eq!(json["jobs"][1]["slowdown"], slowdown);
    assert_eq!(json["slowdown"], slowdown);
}

fn placed(text: &str, sets: &[&str]) -> Result<Vec<Vec<u32>>, String> {
    let experiment: Experiment = resolve(text, sets).unwrap().experiment;
    let ranks = vec![2; experiment.jobs.len()];
    let placed = experiment.place(&ranks).map_err(|e| e.to_string())?;
    let numbers = |nics: Vec<NicId>| nics.into_iter().map(NicId::get).collect();
    Ok(placed.into_iter().map(numbers).collect())
}

#[test]
fn jobs_take_what_is_left() {
    let list = |more: &str| job("") + &job(&format!("placement = {{ list = [3, 1] }}{more}"));
    assert_eq!(
        placed(&list(""), &[]).unwrap_err(),
        "job.1.placement: NIC 1 belongs to job `tiny`; list other NICs, or set share_nics = true \
         for this job"
    );
    let shared = placed(&list("\nshare_nics = true"), &[]).unwrap();
    assert_eq!(shared, [[0, 1], [3, 1]]);
    // The other way round there is room.
    let text = job("placement = { list = [3, 1] }") + &job("") + &job("share_nics = true");
    assert_eq!(placed(&text, &[]).unwrap(), [[3, 1], [0, 2], [0, 1]]);
    let many = (0..5).map(|_| job("")).collect::<String>();
    let error = placed(&many, &[]).unwrap_err();
    let expected = "job.4.placement: `tiny.vef`: 2 ranks at 1 per NIC need 2 NICs, but 0 are left";
    assert!(error.starts_with(expected), "{error}");
    let one = resolve(&job(""), &[]).unwrap().experiment;
    assert!(one.place(&[8]).is_ok());
    let error = one.place(&[9]).unwrap_err().to_string();
    assert!(error.contains("9 ranks at 1 per NIC need 9 NICs, but 8 are left"));
}

/// A list that names a NIC twice puts two ranks on one node, as ranks_per_nic does: their messages
/// skip the fabric.
#[test]
fn ranks_of_one_nic_share_a_node() {
    let listed = job("placement = { list = [3, 3] }");
    assert_eq!(placed(&listed, &[]).unwrap(), [[3, 3]]);
    let json = result(&listed);
    assert_eq!(json["traffic"]["messages"], 0);
    assert_eq!(json["jobs"][0]["intra_node_messages"], 1);
    let together = result(&job("ranks_per_nic = 2"));
    for field in ["execution_time_ps", "intra_node_messages", "messages"] {
        assert_eq!(
            json["jobs"][0][field], together["jobs"][0][field],
            "{field}"
        );
    }
}

#[test]
fn random_placement_goes_by_seed_and_job() {
    let text = job("placement = \"random\"") + &job("placement = { random = 7 }");
    let of = |seed: u64| placed(&text, &[&format!("seed={seed}")]).unwrap();
    let drawn: Vec<_> = (0..20).map(of).collect();
    let differing = |job: usize| drawn.iter().filter(|p| p[job] != drawn[0][job]).count();
    assert!(differing(0) > 10, "{drawn:?}");
    // A seed of its own: it moves only when the other job has its NICs.
    assert!(differing(1) < differing(0), "{drawn:?}");
    for nics in &drawn {
        let mut all = nics.concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4, "{nics:?}");
    }
    assert_eq!(of(3), of(3));
    let alone = job("placement = { random = 7 }");
    let of = |seed: &str| placed(&alone, &[seed]).unwrap();
    assert_eq!(of("seed=1"), of("seed=2"));
}

/// Algorithms of collectives are chosen per job or for all, and recorded.
#[test]
fn jobs_choose_their_collectives() {
    let names = [
        ("bcast", &["binomial", "scatter-allgather", "chain"][..]),
        ("reduce", &["binomial", "reduce-scatter-gather"]),
        ("allreduce", &["recursive-doubling", "ring", "rabenseifner"]),
        ("gather", &["binomial", "linear"]),
        ("scatter", &["binomial", "linear"]),
        ("allgather", &["ring", "recursive-doubling", "bruck"]),
        ("alltoall", &["pairwise", "linear", "bruck"]),
        ("barrier", &["dissemination", "recursive-doubling"]),
        ("reduce_scatter", &["ring", "recursive-halving"]),
        ("scan", &["recursive-doubling"]),
        ("exscan", &["recursive-doubling"]),
    ];
    let docs = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/reference/experiment.md"
    ));
    let docs = docs.unwrap();
    let two = job("") + &job("");
    let plain = experiment_hash(&resolve(&two, &[]).unwrap().experiment);
    for (operation, algorithms) in names {
        let row = docs
            .lines()
            .find(|l| l.starts_with(&format!("| `{operation}` |")));
        let row =
            row.unwrap_or_else(|| panic!("docs/reference/experiment.md: no row for {operation}"));
        for algorithm in algorithms {
            assert!(
                row.contains(&format!("`\"{algorithm}\"`")),
                "{row}: {algorithm}"
            );
            let chosen = |set: &str| {
                let set = format!("{set}collectives.{operation}={algorithm}");
                let e = resolve(&two, &[&set]).unwrap().experiment;
                assert_ne!(experiment_hash(&e), plain);
                let json = experiment_json(&e);
                [0, 1].map(|job| json["jobs"][job]["collectives"][operation].clone())
            };
            assert_eq!(chosen("job.0."), [json!(algorithm), Value::Null]);
            assert_eq!(chosen(""), [json!(algorithm), json!(algorithm)]);
        }
    }
}

#[test]
fn a_choice_of_the_job_comes_before_that_for_all() {
    let text = "[collectives]\nbcast = \"chain\"\nchain_segment = \"4KiB\"\nbarrier = \"recursive-doubling\"\n";
    let text = text.to_owned() + &job("") + &job("collectives.bcast = \"binomial\"");
    let json = experiment_json(&resolve(&text, &[]).unwrap().experiment);
    let collectives = |job: usize| json["jobs"][job]["collectives"].clone();
    let first = json!({
        "bcast": "chain", "chain_segment_bytes": 4096, "barrier": "recursive-doubling"
    });
    assert_eq!(collectives(0), first);
    let second = json!({ "bcast": "binomial", "barrier": "recursive-doubling" });
    assert_eq!(collectives(1), second);
}

/// Both trees of a long reduction carry segments all the time: it takes little longer than round a ring, which moves as much.
#[test]
fn two_trees_stay_busy() {
    let dir = tempfile::tempdir().unwrap();
    let mut list = String::new();
    for rank in 0..16 {
        let calls = format!("{rank} init\n{rank} allreduce 1000000 0 0\n{rank} finalize\n");
        std::fs::write(dir.path().join(format!("{rank}.ti")), calls).unwrap();
        list += &format!("{rank}.ti\n");
    }
    std::fs::write(dir.path().join("all.txt"), list).unwrap();
    let time = |collectives: &str| {
        let text = format!(
            "baseline.enabled = false\n[fabric]\npreset = \"ib-hdr\"\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n\
             [[job]]\ntrace = \"all.txt\"\ncollectives = {{ {collectives} }}\n"
        );
        let plan = resolve_text("test.toml", &text, dir.path(), &[]).unwrap();
        run(&plan, 1).main.jobs[0].as_ref().unwrap().execution_ps as f64
    };
    let ring = time("allreduce = \"ring\"");
    let trees = time("allreduce = \"double-tree\", tree_segment = \"64KiB\"");
    assert!(trees < ring * 1.2, "{trees} and {ring} ps");
}

/// Jobs of this GOAL schedule with noise, as a result has them.
fn noisy(schedule: &str, jobs: &[&str], sets: &[&str]) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("noisy.goal"), schedule).unwrap();
    let job = |more| format!("[[job]]\ntrace = \"noisy.goal\"\ncompute_noise = 0.5\n{more}\n");
    let text = FABRIC.to_owned() + &jobs.iter().map(job).collect::<String>();
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let mut plan = resolve_text("test.toml", &text, dir.path(), &sets).unwrap();
    plan.split = true;
    let result = result_json(&plan, &run(&plan, 1));
    result["jobs"].as_array().unwrap().clone()
}

#[test]
fn noise_does_not_depend_on_the_jobs_that_a_run_leaves_out() {
    let calc = "num_ranks 1\nrank 0 {\nl1: calc 1000000\n}\n";
    let jobs = ["name = \"a\"", "name = \"b\"", "name = \"c\""];
    let all = noisy(calc, &jobs, &[]);
    let times: Vec<&Value> = all.iter().map(|job| &job["execution_time_ps"]).collect();
    assert!(times[0] != times[1] && times[1] != times[2], "{times:?}");
    for job in &all {
        assert_eq!(job["slowdown"], 1.0, "{job:#}");
        assert_eq!(job["time_split"]["computing_ps"], job["execution_time_ps"]);
    }
    for set in ["job.0.enabled=false", "job.0.repeat=\"until-others-end\""] {
        let rest = noisy(calc, &jobs, &[set]);
        for (job, time) in rest[rest.len() - 2..].iter().zip(&times[1..]) {
            assert_eq!(job["execution_time_ps"], **time, "{set}: {job:#}");
            assert_eq!(job["time_split"]["computing_ps"], **time, "{set}");
        }
    }
}

#[test]
fn noise_does_not_depend_on_the_order_of_execution() {
    let schedule = "num_ranks 3\n\
        rank 0 {\nl0: recv 1000000b from 1 tag 1\nl1: recv 8b from 2 tag 2\nl2: calc 1000\nl3: calc 1000000\n\
        l2 requires l0\nl3 requires l1\n}\n\
        rank 1 {\nl0: send 1000000b to 0 tag 1\n}\n\
        rank 2 {\nl0: calc 50000\nl1: send 8b to 0 tag 2\nl1 requires l0\n}\n";
    let compute = |sets: &[&str]| {
        let jobs = noisy(schedule, &["eager_threshold = \"1GB\""], sets);
        let job = &jobs[0];
        let of_ideal = 3 * job["time_split"]["computing_ps"].as_u64().unwrap();
        // Means over the ranks are rounded.
        assert!(of_ideal.abs_diff(3 * job["compute_ps"].as_u64().unwrap()) <= 3);
        job["compute_ps"].clone()
    };
    assert_eq!(compute(&[]), compute(&["fabric.link_rate=\"1250GB/s\""]));
    assert_ne!(compute(&[]), compute(&["seed=2"]));
}
