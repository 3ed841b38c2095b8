//! Random traffic, which fits any fabric of the hierarchical kind.

use super::script::{Cue, Script, message};
use flitwise::fabric::spec::FabricSpec;
use flitwise::fabric::workload::Message;
use proptest::collection::vec;
use proptest::prelude::*;

/// A message before it fits a fabric.
#[derive(Debug, Clone)]
pub struct RawMessage {
    tick: u64,
    src: u32,
    dst: u32,
    sl: u8,
    size: u16,
    report: bool,
    /// Cue 0: at its tick. 1: answers the delivery of an earlier message.
    /// 2: follows the injection of one.
    cue: u8,
    before: u16,
}

fn raw_message(span: u64) -> BoxedStrategy<RawMessage> {
    let cue = prop_oneof![4 => Just(0u8), 1 => Just(1), 1 => Just(2)];
    let size = prop_oneof![1 => Just(0u16), 6 => any::<u16>()];
    let picked = (0..=span, any::<u32>(), any::<u32>(), any::<u8>(), size);
    (picked, any::<bool>(), cue, any::<u16>())
        .prop_map(
            |((tick, src, dst, sl, size), report, cue, before)| RawMessage {
                tick,
                src,
                dst,
                sl,
                size,
                report,
                cue,
                before,
            },
        )
        .boxed()
}

/// Where the messages of a workload go to and come from.
#[derive(Debug, Clone, Copy)]
pub enum Pattern {
    /// Anywhere.
    Uniform,
    /// All to one NIC.
    Hotspot(u32),
    /// All from one NIC.
    Burst(u32),
    /// From every NIC at once to the one so much further: much load, and on
    /// rings all of it the same way round.
    Shift(u32),
}

/// Traffic before it fits a fabric.
pub fn traffic() -> BoxedStrategy<(Pattern, Vec<RawMessage>)> {
    let pattern = prop_oneof![
        3 => Just(Pattern::Uniform),
        2 => any::<u32>().prop_map(Pattern::Hotspot),
        1 => any::<u32>().prop_map(Pattern::Burst),
        2 => any::<u32>().prop_map(Pattern::Shift),
    ];
    let span = prop_oneof![Just(0u64), Just(40), Just(600)];
    (
        pattern,
        span.prop_flat_map(|span| vec(raw_message(span), 1..=90)),
    )
        .boxed()
}

/// A script with this many messages gets no further shift, so it exceeds them by less than one shift.
const MESSAGES: usize = 600;

/// The traffic as a script for `spec`.
pub fn script(spec: &FabricSpec, (pattern, raw): &(Pattern, Vec<RawMessage>)) -> Script {
    let nics = spec.topology.nics();
    let mut lines: Vec<(Cue, Message)> = Vec::new();
    if nics == 1 {
        // Nobody to talk to.
        return Script::new(lines);
    }
    for raw in raw {
        let (src, dst) = (raw.src % nics, raw.dst % nics);
        match *pattern {
            Pattern::Uniform => add(spec, &mut lines, raw, src, dst),
            Pattern::Hotspot(nic) if src == nic % nics => add(spec, &mut lines, raw, dst, src),
            Pattern::Hotspot(nic) => add(spec, &mut lines, raw, src, nic % nics),
            Pattern::Burst(nic) => add(spec, &mut lines, raw, nic % nics, dst),
            Pattern::Shift(by) if lines.len() < MESSAGES => {
                for src in 0..nics {
                    add(spec, &mut lines, raw, src, (src + by % nics) % nics);
                }
            }
            Pattern::Shift(_) => {}
        }
    }
    Script::new(lines)
}

/// Adds a message like `raw` from `src` to `dst`, or to the NIC after `src` if
/// they are the same.
fn add(spec: &FabricSpec, lines: &mut Vec<(Cue, Message)>, raw: &RawMessage, src: u32, dst: u32) {
    let dst = if dst == src {
        (src + 1) % spec.topology.nics()
    } else {
        dst
    };
    let sl = usize::from(raw.sl) % spec.qos.service_levels.len();
    let mtu = u64::from(spec.qos.service_levels[sl].mtu_bytes);
    let token = lines.len();
    let earlier = usize::from(raw.before) % token.max(1);
    let cue = match raw.cue {
        1 if token > 0 => Cue::Delivered(earlier as u64),
        2 if token > 0 => {
            lines[earlier].1.report_injection = true;
            Cue::Injected(earlier as u64)
        }
        _ => Cue::At(raw.tick),
    };
    let bytes = u64::from(raw.size) % (3 * mtu + 1);
    let mut message = message(token as u64, src, dst, sl as u8, bytes);
    message.report_injection = raw.report;
    lines.push((cue, message));
}
