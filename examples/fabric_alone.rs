//! Sixteen NICs of an Omni-Path tree send to NIC 0 at once, by the crate of the fabric alone: how long does this take, and
//! where do packets wait? `cargo run --release --example fabric_alone`

use flitwise_fabric::engine::{Engine, RunEnd};
use flitwise_fabric::ids::NicId;
use flitwise_fabric::spec::{FabricSpec, SpecError, Tick};
use flitwise_fabric::topology::Topology;
use flitwise_fabric::workload::{Message, Workload};

/// One message from every other NIC to NIC 0.
struct Incast {
    senders: u32,
    due: Option<Tick>,
    left: u32,
}

impl Workload for Incast {
    fn next_tick(&mut self) -> Option<Tick> {
        self.due
    }

    fn act(&mut self, now: Tick, out: &mut Vec<Message>) {
        self.due = None;
        let senders = (1..=self.senders).map(NicId::new);
        out.extend(senders.map(|nic| Message::new(nic, NicId::new(0), 0, 64 << 10, now)));
    }

    fn delivered(&mut self, _now: Tick, _token: u64) {
        self.left -= 1;
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}

fn main() -> Result<(), SpecError> {
    let spec = FabricSpec::opa_gen1(Topology::k_ary_n_tree(4, 2, None)?)?;
    let senders = spec.topology.nics() - 1;
    let mut engine = Engine::new(&spec)?;
    let mut incast = Incast {
        senders,
        due: Some(0),
        left: senders,
    };
    assert_eq!(engine.run(&mut incast), RunEnd::Finished);
    let stats = engine.stats();
    let us = spec.units.tick.ps(stats.end_tick) as f64 / 1e6;
    println!("{senders} messages of 64 KiB to one NIC: {us:.1} us");
    let longest = stats.links.iter().max_by_key(|link| link.queue_wait_ticks);
    if let Some(link) = longest {
        println!(
            "packets waited longest for the link from {:?} to {:?}",
            link.from, link.to
        );
    }
    Ok(())
}
