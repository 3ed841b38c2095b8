//! Stamps: streams that send a message when an operation starts or is done. They show the times of
//! all operations in the messages of the fabric, to the tick.

use super::super::case::Case;
use super::super::fabric::NICS;
use super::super::ops::{self, Around};
use flitwise::replay::program::{Action, Label, Op, RankId};

/// Ids of stamps and labels of operations that have none begin here.
const FIRST: u64 = 1_000_000;

/// Adds a rank that gets the messages, and two streams for every operation.
pub fn add(case: &mut Case) {
    let sink = RankId::new(case.ranks.len() as u32);
    let mut number = FIRST;
    for streams in &mut case.ranks {
        let mut stamps = Vec::new();
        for op in streams.iter_mut().flatten() {
            let label = op
                .label
                .unwrap_or_else(|| Label::new(number).expect("a small number"));
            op.label = Some(label);
            for event in [ops::started(label.get()), ops::done(label.get())] {
                stamps.push(vec![stamp(number, sink).after([event])]);
                number += 1;
            }
        }
        streams.extend(stamps);
    }
    case.ranks.push(vec![Vec::new()]);
    case.nics.push(NICS - 1);
}

/// The number of bytes tells which stamp it is.
fn stamp(number: u64, sink: RankId) -> Op {
    ops::op(Action::Send {
        id: number,
        to: sink,
        bytes: number - FIRST,
        awaited: false,
    })
}
