//! What an InfiniBand fabric may not be: each mistake is told under the key to change.

use crate::common::ids::{hop, port_of};
use crate::common::infiniband::{
    cct_of, control, marker_of, ratio, static_pool, voq_fabric, voq_of,
};
use crate::common::specs;
use flitwise::fabric::ids::{NicId, PortId, SwitchId};
use flitwise::fabric::spec::congestion::CctEntry;
use flitwise::fabric::spec::hierarchical::Scheduler;
use flitwise::fabric::spec::voq::{Acks, InputQueues, Isolation, VlArb, VlWeight};
use flitwise::fabric::spec::{
    CongestionControl, FabricSpec, ForwardingTables, Notification, SlToVl, VlPolicy,
};
use flitwise::fabric::topology::Topology;
use flitwise::units::Ratio;
use std::collections::BTreeMap;

/// Two switches of four adapters; ports 0–3 lead to adapters, port 4 of the first to
/// port 5 of the second.
fn sound() -> FabricSpec {
    let mut spec = voq_fabric(Topology::cube(&[2], false, 4, 1, None).unwrap());
    spec.congestion_control = Some(Box::new(control(8, 0, 100)));
    spec.validate().unwrap();
    spec
}

/// Changes the sound fabric and expects a complaint about `key` that says `part`.
fn refused(key: &str, part: &str, change: impl FnOnce(&mut FabricSpec)) {
    let mut spec = sound();
    change(&mut spec);
    let error = spec.validate().expect_err(part);
    assert_eq!(error.key, key, "{error}");
    assert!(error.problem.contains(part), "{error}");
}

fn refused_control(key: &str, part: &str, change: impl FnOnce(&mut CongestionControl)) {
    refused(key, part, |spec| {
        change(spec.congestion_control.as_mut().unwrap())
    });
}

#[test]
fn rates() {
    let fast = ratio(3, 2);
    refused("fabric.link_speed", "at most 1", |s| {
        voq_of(s).links.switch = fast
    });
    refused("fabric.host_link_speed", "moves nothing", |s| {
        voq_of(s).links.nic = Ratio::ZERO
    });
    refused(
        "fabric.hca_send_rate",
        "raise the rate or lengthen the tick",
        |s| {
            voq_of(s).hca.send_rate = Some(ratio(1, 1 << 30));
        },
    );
    refused("fabric.hca_sink_rate", "2^40", |s| {
        voq_of(s).hca.sink_rate = Some(ratio((1 << 41) - 1, 1 << 41));
    });
    let except = |at, rate| {
        move |s: &mut FabricSpec| {
            voq_of(s).links.exceptions.insert(at, rate);
        }
    };
    refused(
        "fabric.link_speeds",
        "no link",
        except(port_of(0, 7), Ratio::ONE),
    );
    refused(
        "fabric.link_speeds",
        "no link",
        except(port_of(9, 0), Ratio::ONE),
    );
    refused(
        "fabric.link_speeds",
        "at most 1",
        except(port_of(0, 4), fast),
    );
    refused("fabric.link_speeds", "two ends", |s| {
        except(port_of(0, 4), ratio(1, 2))(s);
        except(port_of(1, 5), ratio(1, 3))(s);
    });
}

#[test]
fn an_exception_holds_for_both_ends_of_a_link() {
    let mut spec = sound();
    let half = ratio(1, 2);
    voq_of(&mut spec)
        .links
        .exceptions
        .insert(port_of(0, 4), half);
    spec.validate().unwrap();
    let topology = spec.topology.clone();
    let links = &voq_of(&mut spec).links;
    let at = |switch, port| links.at(&topology, SwitchId::new(switch), PortId::new(port));
    assert_eq!(at(0, 4), half);
    assert_eq!(at(1, 5), half);
    assert_eq!(at(0, 0), Ratio::ONE);
}

#[test]
fn buffers() {
    refused("fabric.input_buffer", "but the buffer has 9", |s| {
        voq_of(s).buffers.input.total = 9
    });
    refused("fabric.nic_sink", "largest packet takes 4", |s| {
        voq_of(s).buffers.nic_sink = static_pool(2, 3);
    });
    refused("fabric.nic_sink", "1 sizes for 2", |s| {
        voq_of(s).buffers.nic_sink = static_pool(1, 64)
    });
    refused("fabric.output_buffer", "3 credits", |s| {
        voq_of(s).buffers.output = 3
    });
    refused("fabric.nic_queue", "3 credits", |s| {
        voq_of(s).buffers.nic_queue = 3
    });
    // A CNP of ten flits is larger than any packet.
    refused("fabric.output_buffer", "largest packet takes 10", |s| {
        s.congestion_control.as_mut().unwrap().notification = Notification::Cnp { bytes: 640 };
    });
    refused("fabric.ack", "at least 1 byte", |s| {
        voq_of(s).hca.ack_bytes = 0
    });
    refused("fabric.crossbar_speedup", "at least 1", |s| {
        voq_of(s).crossbar_speedup = 0
    });
}

#[test]
fn input_queues() {
    let isolate = |s: &mut FabricSpec, queues, thresholds| {
        voq_of(s).input_queues = InputQueues::Isolating;
        voq_of(s).isolation = Some(Isolation::even(2, queues, thresholds));
    };
    let mut isolating = sound();
    isolate(&mut isolating, 64, [64, 64, 63]);
    isolating.validate().unwrap();
    refused("fabric.isolation_queues", "1 to 64", |s| {
        isolate(s, 0, [16, 8, 4])
    });
    refused("fabric.isolation_queues", "1 to 64", |s| {
        isolate(s, 65, [16, 8, 4])
    });
    refused("fabric.isolation_detect", "65 credits on VL 0", |s| {
        isolate(s, 1, [65, 8, 4])
    });
    refused("fabric.isolation_stop", "take 1 to 64", |s| {
        isolate(s, 1, [16, 0, 0])
    });
    refused("fabric.isolation_go", "where flows stop at 8", |s| {
        isolate(s, 1, [16, 8, 8])
    });
    refused("fabric.isolation_go", "1 thresholds for 2 VLs", |s| {
        isolate(s, 1, [16, 8, 4]);
        voq_of(s).isolation.as_mut().unwrap().go.pop();
    });
    refused("fabric.isolation_queues", "only input_queues", |s| {
        voq_of(s).isolation = Some(Isolation::even(2, 1, [16, 8, 4]))
    });
    refused("fabric.input_queues", "needs the sizes", |s| {
        voq_of(s).input_queues = InputQueues::Isolating
    });
    refused("fabric.input_queues", "nothing to do", |s| {
        voq_of(s).input_queues = InputQueues::PerFlow
    });
}

#[test]
fn levels_and_lanes() {
    refused("qos.sc2vl", "at most 15", |s| s.qos.vls = 16);
    refused("qos.service_levels", "InfiniBand has at most 16", |s| {
        let one = s.qos.service_levels[0].clone();
        s.qos.sc2vl = [Some(0); 32];
        s.qos.service_levels = (0..18)
            .filter(|&sc| sc != 15)
            .map(|sc| flitwise::fabric::spec::ServiceLevel {
                scs: vec![sc],
                ..one.clone()
            })
            .collect();
        s.congestion_control = None;
    });
    let map = |default: Vec<u8>| {
        VlPolicy::SlToVl(SlToVl {
            default,
            hcas: BTreeMap::new(),
            ports: BTreeMap::new(),
        })
    };
    refused("fabric.sl2vl", "1 entries for 2", |s| {
        s.qos.vl_policy = map(vec![0])
    });
    refused("fabric.sl2vl", "VL 2", |s| {
        s.qos.vl_policy = map(vec![0, 2])
    });
    refused("fabric.sl2vl", "no NIC 8", |s| {
        s.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
            default: vec![0, 0],
            hcas: BTreeMap::from([(NicId::new(8), vec![0, 0])]),
            ports: BTreeMap::new(),
        });
    });
    refused("fabric.sl2vl", "switch 2", |s| {
        s.qos.vl_policy = VlPolicy::SlToVl(SlToVl {
            default: vec![0, 0],
            hcas: BTreeMap::new(),
            ports: BTreeMap::from([(hop(2, 0, 0), vec![0, 0])]),
        });
    });
}

#[test]
fn arbitration_tables() {
    let tables = |low: &[(u8, u8)]| VlArb::Tables {
        high: Vec::new(),
        low: low
            .iter()
            .map(|&(vl, weight)| VlWeight { vl, weight })
            .collect(),
        high_limit: 0,
    };
    refused("qos.vlarb", "VL 1 is used", |s| {
        voq_of(s).vlarb = tables(&[(0, 1), (1, 0)])
    });
    refused("qos.hca_vlarb", "VL 2", |s| {
        voq_of(s).hca.vlarb = tables(&[(2, 1)])
    });
    refused("qos.vlarb", "65 low", |s| {
        voq_of(s).vlarb = tables(&[(0, 1); 65])
    });
}

#[test]
fn forwarding() {
    let good = vec![vec![0, 1, 2, 3, 4, 4, 4, 4], vec![5, 5, 5, 5, 0, 1, 2, 3]];
    let tables = |ports: Vec<Vec<u32>>| ForwardingTables {
        ports: ports
            .into_iter()
            .map(|row| row.into_iter().map(PortId::new).collect())
            .collect(),
        engine: None,
    };
    let with = |change: fn(&mut Vec<Vec<u32>>)| {
        let mut ports = good.clone();
        change(&mut ports);
        move |s: &mut FabricSpec| s.routing.forwarding = Some(tables(ports))
    };
    let mut spec = sound();
    with(|_| ())(&mut spec);
    spec.validate().unwrap();
    let key = "fabric.forwarding";
    refused(key, "1 switches", with(|p| p.truncate(1)));
    refused(key, "7 entries", with(|p| p[1].truncate(7)));
    refused(key, "NIC 0 to port 1", with(|p| p[0][0] = 1));
    refused(key, "NIC 2 to port 6", with(|p| p[0][2] = 6));
    refused(key, "NIC 2 to port 600", with(|p| p[0][2] = 600));
    refused(key, "loop", with(|p| p[1][4] = 5));
    let mut ring = voq_fabric(Topology::cube(&[3], true, 1, 1, None).unwrap());
    for (sl, level) in ring.qos.service_levels.iter_mut().enumerate() {
        level.scs = vec![2 * sl as u8, 2 * sl as u8 + 1];
    }
    ring.qos.sc2vl = crate::common::specs::sc2vl(&[0, 1, 0, 1]);
    ring.validate().unwrap();
    assert_eq!(ring.classes(), 2);
    // Tables have no VL classes.
    let around = vec![vec![0, 2, 2], vec![2, 0, 2], vec![2, 2, 0]];
    ring.routing.forwarding = Some(tables(around));
    ring.validate().unwrap();
    assert_eq!(ring.classes(), 1);
    // No route crosses a failed link; the fabric's own routing does not know of any.
    ring.routing.failed = vec![[port_of(0, 2), port_of(2, 1)]];
    let error = ring.validate().unwrap_err();
    assert!(
        error
            .problem
            .contains("switch 0 (0) sends packets for NIC 1 by port 2, whose link has failed"),
        "{error}"
    );
    ring.routing.forwarding = None;
    assert_eq!(ring.validate().unwrap_err().key, "fabric.failure");
}

#[test]
fn congestion_parameters_are_told_by_their_names() {
    let name = |parameter| format!("congestion_control.{parameter}");
    refused_control(&name("Threshold"), "16", |c| {
        marker_of(c).switch_ports.threshold = 16
    });
    refused_control(&name("Threshold"), "200", |c| {
        let port = flitwise::fabric::spec::congestion::PortCongestion {
            threshold: 200,
            ..marker_of(c).host_ports
        };
        marker_of(c).exceptions.insert(port_of(0, 0), port);
    });
    refused_control(&name("port"), "port 99", |c| {
        let marker = marker_of(c);
        marker.exceptions.insert(port_of(0, 99), marker.host_ports);
    });
    refused_control(&name("CCT"), "127 entries", |c| cct_of(c).cct.truncate(127));
    refused_control(&name("CCT"), "entry 5", |c| cct_of(c).cct[5].shift = 4);
    refused_control(&name("CCT"), "entry 6", |c| {
        cct_of(c).cct[6].multiplier = 1 << 14
    });
    refused_control(&name("CCTI_Limit"), "128", |c| cct_of(c).ccti_limit = 128);
    refused_control(&name("CCTI_Min"), "9 of SL 1", |c| {
        cct_of(c).ccti_limit = 8;
        cct_of(c).service_levels[1].ccti_min = 9;
    });
    refused_control(&name("CCTI_Timer"), "never rise", |c| {
        cct_of(c).service_levels[0].ccti_timer = 0
    });
    refused_control(&name("service_levels"), "1 service", |c| {
        cct_of(c).service_levels.truncate(1)
    });
    refused_control(&name("cnp"), "at least 1 byte", |c| {
        c.notification = Notification::Cnp { bytes: 0 }
    });
    refused_control(&name("notification"), "use CNPs", |c| {
        c.notification = Notification::Ack
    });
    let mut reliable = sound();
    voq_of(&mut reliable).hca.acks = Acks::PerPacket;
    reliable.congestion_control.as_mut().unwrap().notification = Notification::Ack;
    reliable.validate().unwrap();
}

#[test]
fn settings_of_ports_and_delays() {
    let spec = sound();
    let mut control = control(8, 0, 100);
    let marker = marker_of(&mut control);
    marker.host_ports.threshold = 1;
    let mut own = marker.host_ports;
    own.threshold = 3;
    marker.exceptions.insert(port_of(1, 2), own);
    let at = |switch, port| {
        let (switch, port) = (SwitchId::new(switch), PortId::new(port));
        marker.port(&spec.topology, switch, port).threshold
    };
    assert_eq!([at(0, 2), at(0, 4), at(1, 2)], [1, 8, 3]);
    // 10 flits of 1.5 ticks, times 7/4.
    let entry = CctEntry {
        multiplier: 7,
        shift: 2,
    };
    assert_eq!(entry.delay(10, ratio(2, 3)), 26);
}

/// Of either kind of switch.
#[test]
fn the_service_channel_of_fabric_management() {
    let reserve = |s: &mut FabricSpec| {
        s.qos.service_levels[0].scs[0] = 15;
        s.qos.sc2vl[15] = Some(0);
    };
    refused("qos.service_levels", "SC 15 is reserved", reserve);

    let tree = Topology::k_ary_n_tree(2, 2, None).unwrap();
    let mut spec = specs::opa_gen1(tree, Scheduler::RrVl);
    spec.validate().unwrap();
    reserve(&mut spec);
    let error = spec.validate().unwrap_err();
    assert!(error.problem.contains("SC 15 is reserved"), "{error}");
}
