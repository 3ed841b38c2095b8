//! The properties of the readers of Chakra traces and of NCCL Inspector's logs that hold for any bytes.

use flitwise_base::stop::Stop;
use flitwise_formats::chakra::{Options, Set, Trace};
use flitwise_formats::inspector;
use flitwise_formats::source::Input;

/// A Chakra trace of two ranks whose files are the parts of `data`, of which the first one is behind its number of bytes, of 16
/// bits.
pub fn chakra_trace(data: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let (size, rest) = data.split_first_chunk().unwrap_or((&[0, 0], data));
    let size = usize::from(u16::from_le_bytes(*size)).min(rest.len());
    let (first, second) = rest.split_at(size);
    std::fs::write(dir.path().join("t.0.et"), first).unwrap();
    std::fs::write(dir.path().join("t.1.et"), second).unwrap();
    let set = Set::of_input(&Input::new(dir.path()), Stop::never()).unwrap();
    let [plain, ordered, split] =
        [(false, 1), (true, 1), (false, 5)].map(|(order_streams, channels)| {
            let options = Options {
                order_streams,
                channels,
                nodes: [0, 0].into(),
            };
            Trace::read(&set, &options, Stop::never())
        });
    let (Ok(plain), Ok(ordered), Ok(split)) = (plain, ordered, split) else {
        return;
    };
    assert!(plain.errors.total <= ordered.errors.total);
    assert_eq!(plain.errors.total, split.errors.total);
    assert!(plain.info.collectives <= split.info.collectives);
    for trace in [plain, ordered] {
        has_all_nodes(&trace);
    }
}

fn has_all_nodes(trace: &Trace) {
    let ranks = 0..trace.schedule.ranks();
    let ranks = ranks.map(|rank| u64::from(trace.schedule.rank(rank).unwrap().len()));
    let operations: u64 = ranks.sum();
    // A node whose id is taken has no operation.
    assert!(operations == trace.counts.nodes || !trace.errors.is_empty());
}

/// Logs of NCCL Inspector in one file: refused, or a trace whose nodes are all there and wait for no later one.
pub fn inspector_logs(data: &[u8]) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), data).unwrap();
    let Ok(set) = inspector::read(&Input::new(file.path()), Stop::never()) else {
        return;
    };
    for rank in 0..set.ranks() {
        let mut nodes = set.reader(rank).unwrap();
        let mut before = std::collections::HashSet::new();
        while let Some((_, node)) = nodes.next_node().unwrap() {
            assert!(node.deps.iter().all(|on| before.contains(on)));
            before.insert(node.id);
        }
    }
    has_all_nodes(&Trace::read(&set, &Options::default(), Stop::never()).unwrap());
}
