//! Many ranks and rank 0: messages to it with and without answers, and data that they ask for.
//! Answers make a closed loop, in which a rank sends no more than the network and rank 0 take.

use std::collections::VecDeque;

use super::GenerateError;
use super::builder::Builder;

/// Bytes of an answer without data, as at the end of a window of `osu_bw`.
pub(super) const ANSWER: u64 = 4;

/// Bytes of a request for data, as many as name a place in memory in a request of InfiniBand to read.
const REQUEST: u64 = 16;

pub(super) fn run(b: &mut Builder, window: u32) -> Result<(), GenerateError> {
    answered(b, window, b.spec.size, ANSWER)
}

pub(super) fn get(b: &mut Builder, window: u32) -> Result<(), GenerateError> {
    answered(b, window, REQUEST, b.spec.size)
}

pub(super) fn put(b: &mut Builder) -> Result<(), GenerateError> {
    let spec = b.spec;
    for _ in 0..spec.iterations {
        b.compute_all()?;
        for rank in 1..spec.ranks {
            b.send(rank, 0, spec.size)?;
        }
    }
    Ok(())
}

/// In each round every rank sends `there` bytes to rank 0, which takes them in the order of the
/// ranks and answers each with `back` bytes. A rank with `window` messages on the way first waits
/// for the answer to the oldest.
fn answered(b: &mut Builder, window: u32, there: u64, back: u64) -> Result<(), GenerateError> {
    let spec = b.spec;
    // The answers of a round, by rank.
    let mut rounds: VecDeque<Vec<u64>> = VecDeque::new();
    for _ in 0..spec.iterations {
        b.compute_all()?;
        if rounds.len() == window as usize {
            take_answers(b, rounds.pop_front())?;
        }
        let sent = (1..spec.ranks).map(|rank| b.send(rank, 0, there));
        let sent = sent.collect::<Result<Vec<u64>, _>>()?;
        let answer = |(rank, message)| {
            b.wait(0, message)?;
            b.send(0, rank, back)
        };
        let answers = (1..spec.ranks).zip(sent).map(answer);
        rounds.push_back(answers.collect::<Result<_, GenerateError>>()?);
    }
    take_answers(b, rounds)
}

fn take_answers(
    b: &mut Builder,
    rounds: impl IntoIterator<Item = Vec<u64>>,
) -> Result<(), GenerateError> {
    for answers in rounds {
        for (rank, answer) in (1..).zip(answers) {
            b.wait(rank, answer)?;
        }
    }
    Ok(())
}
