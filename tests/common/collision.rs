//! Two sources that collide while a part of congestion control is missing: what holds on every kind
//! of switch.

use flitwise::fabric::spec::congestion::{Marker, SourceControl};
use flitwise::fabric::spec::{CongestionControl, Tick};
use flitwise_oracles::CongestionCounts;

/// A change of congestion control that marks every packet and slows down marked flows.
pub type Change = fn(&mut CongestionControl);

/// What came of two sources that sent 20 packets each to the same NIC within 300 ticks.
pub struct Collision {
    pub counts: CongestionCounts,
    /// Ticks in which data packets of the second source left.
    pub starts: Vec<Tick>,
    /// Ticks in which marked packets left for their NIC.
    pub marks: Vec<Tick>,
}

/// Without a source control notifications change nothing.
pub fn check_without_source_control(collide: impl Fn(Change) -> Collision) {
    let run = collide(|c| c.source = SourceControl::None);
    let counts = run.counts;
    assert!(counts.marked > 10);
    let told = (counts.notifications_sent, counts.notifications_received);
    // The run ends while the last three are under way, which take as long as three packets.
    assert_eq!(told, (counts.marked, counts.marked - 3));
    assert_eq!(
        (counts.packets, counts.level_sum, counts.cct),
        (40, 0, None)
    );
    let unmarked = collide(|c| c.marker = Marker::None);
    assert_eq!(run.starts, unmarked.starts);
    // The same marks do slow down sources that have a table.
    let reacting = collide(|_| ());
    assert!(reacting.starts != run.starts);
}

/// Without a marker nothing is marked.
pub fn check_without_marker(collide: impl Fn(Change) -> Collision) {
    let run = collide(|c| c.marker = Marker::None);
    assert!(run.marks.is_empty());
    let counts = run.counts;
    assert_eq!((counts.marked, counts.notifications_sent), (0, 0));
    assert_eq!((counts.packets, counts.level_sum), (40, 0));
}
