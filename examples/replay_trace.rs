//! Replays an application trace on a torus, by the crates of the fabric and the replay alone.
//! `cargo run --release --example replay_trace -- traces/hpl-16.vef.gz`

use anyhow::ensure;
use flitwise_base::stop::Stop;
use flitwise_fabric::engine::{Engine, RunEnd};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::FabricSpec;
use flitwise_fabric::topology::Topology;
use flitwise_replay::trace::{Reading, check_file};
use flitwise_replay::{JobSpec, Replay, ReplaySpec};
use std::path::PathBuf;

fn main() -> anyhow::Result<()> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.unwrap_or_else(|| "traces/hpl-16.vef.gz".into());
    let trace = check_file(&path, Stop::never())?;

    // A torus of 4 by 4 switches with as many NICs on each as the ranks need.
    let concentration = trace.ranks().div_ceil(16);
    let topology = Topology::cube(&[4, 4], true, concentration, 1, None)?;
    let spec = FabricSpec::opa_gen1(topology)?;

    let program = trace.open(&Reading::default(), Stop::never())?;
    let nics = NicId::all(trace.ranks()).collect();
    let job = JobSpec::new("application", program, nics);
    let mut replay = Replay::new(ReplaySpec::new(&spec, 1, vec![job]))?;
    let end = Engine::new(&spec)?.run(&mut replay);
    if let Some(error) = replay.take_error() {
        return Err(error);
    }
    ensure!(
        end == RunEnd::Finished,
        "{}",
        replay.stall_report().join("\n")
    );

    for job in replay.outcomes() {
        println!(
            "{} ranks, {:.3} ms",
            job.ranks,
            job.execution_ps as f64 / 1e9
        );
    }
    Ok(())
}
