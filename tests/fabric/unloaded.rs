//! A fabric without load: each message takes as long as it does alone in a new engine.

use crate::common::random::{Kind, config, fabric, table_fabric};
use crate::common::random_infiniband;
use crate::common::specs::{opa_gen1, opasim};
use flitwise::fabric::engine::{Engine, RunEnd};
use flitwise::fabric::ids::NicId;
use flitwise::fabric::spec::hierarchical::{CentralLink, Scheduler, VirtualAllocation};
use flitwise::fabric::spec::{FabricSpec, Paths, Switch, Tick, TrunkSelection};
use flitwise::fabric::topology::Topology;
use flitwise::fabric::unloaded::{Times, Unloaded};
use flitwise::fabric::workload::{Message, Workload};
use proptest::prelude::*;

/// One message, created in tick 0.
struct One {
    message: Option<Message>,
    injected: Option<Tick>,
    delivered: Option<Tick>,
}

impl Workload for One {
    fn next_tick(&mut self) -> Option<Tick> {
        self.message.map(|message| message.created)
    }

    fn act(&mut self, _: Tick, out: &mut Vec<Message>) {
        out.extend(self.message.take());
    }

    fn delivered(&mut self, now: Tick, _: u64) {
        self.delivered = Some(now);
    }

    fn injected(&mut self, now: Tick, _: u64) {
        self.injected = Some(now);
    }

    fn finished(&self) -> bool {
        self.delivered.is_some()
    }
}

/// How long `message` takes in a new engine.
fn in_a_new_engine(spec: &FabricSpec, message: &Message) -> Times {
    let mut message = *message;
    message.report_injection = true;
    let mut one = One {
        message: Some(message),
        injected: None,
        delivered: None,
    };
    assert_eq!(Engine::new(spec).unwrap().run(&mut one), RunEnd::Finished);
    Times {
        injected: one.injected.unwrap(),
        delivered: one.delivered.unwrap(),
    }
}

/// What makes a lone message depend on the tick of its start, or on the messages before it, is left out.
fn timeless(mut spec: FabricSpec) -> FabricSpec {
    spec.congestion_control = None;
    spec.routing.paths = Paths::Minimal;
    spec.routing.trunk = TrunkSelection::Destination;
    if let Switch::Hierarchical(switch) = &mut spec.switch {
        if !switch.allocator.is_in_rounds() {
            switch.virtual_allocation = VirtualAllocation::Informed;
        }
        if let CentralLink::Random { .. } = switch.buffers.central_link {
            switch.buffers.central_link = CentralLink::ByInput;
        }
    }
    spec
}

fn compare(spec: FabricSpec, messages: &[(u32, u32, u8, u64)]) -> Result<(), TestCaseError> {
    let spec = timeless(spec);
    prop_assume!(spec.validate().is_ok());
    let nics = spec.topology.nics();
    for &(src, gap, sl, bytes) in messages {
        let (src, gap) = (src % nics, 1 + gap % (nics - 1).max(1));
        let (src, dst) = (NicId::new(src), NicId::new((src + gap) % nics));
        if src == dst {
            continue;
        }
        let sl = sl % spec.qos.service_levels.len() as u8;
        let message = Message::new(src, dst, sl, bytes, 0);
        let expected = in_a_new_engine(&spec, &message);
        let mut unloaded = Unloaded::new(&spec).unwrap();
        for _ in 0..2 {
            prop_assert_eq!(unloaded.times(&message), Some(expected), "{:?}", message);
        }
    }
    Ok(())
}

/// In the fabrics of the presets paths of the same kind take the same time: all pairs of NICs share
/// what is known.
#[test]
fn paths_of_the_same_kind_take_the_same_time() {
    let tree = || Topology::k_ary_n_tree(4, 2, None).unwrap();
    let torus = Topology::cube(&[4, 3], true, 2, 1, None).unwrap();
    let fabrics = [
        opa_gen1(tree(), Scheduler::RrVl),
        opa_gen1(torus, Scheduler::RrVl),
        opasim(tree()),
    ];
    for spec in fabrics.map(timeless) {
        let mut unloaded = Unloaded::new(&spec).unwrap();
        let nics = spec.topology.nics();
        for (src, dst) in (0..nics).flat_map(|src| (0..nics).map(move |dst| (src, dst))) {
            for bytes in [0, 1000, 20_000] {
                if src != dst {
                    let message = Message::new(NicId::new(src), NicId::new(dst), 0, bytes, 0);
                    let expected = in_a_new_engine(&spec, &message);
                    assert_eq!(unloaded.times(&message), Some(expected), "{message:?}");
                }
            }
        }
    }
}

fn messages() -> impl Strategy<Value = Vec<(u32, u32, u8, u64)>> {
    let messages = (any::<u32>(), any::<u32>(), any::<u8>(), 0u64..20_000);
    prop::collection::vec(messages, 1..10)
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn of_hierarchical_switches(spec in fabric(Kind::Sound), messages in messages()) {
        compare(spec, &messages)?;
    }

    #[test]
    fn of_hierarchical_switches_with_tables(spec in table_fabric(Kind::Sound), messages in messages()) {
        compare(spec, &messages)?;
    }

    #[test]
    fn of_switches_with_virtual_output_queues(
        spec in random_infiniband::fabric(),
        messages in messages(),
    ) {
        compare(spec, &messages)?;
    }
}
