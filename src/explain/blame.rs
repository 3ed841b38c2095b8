//! Divides the ticks that a message took longer than alone among the causes of the delay.

use super::alone::Alone;
use super::tracer::{Culprit, Hop, Output};
use crate::fabric::engine::probe::OutputId;
use crate::fabric::spec::Tick;

/// Ticks that a message waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The number of ticks.
    pub ticks: Tick,
    /// The link.
    pub output: OutputId,
    /// The reason.
    pub reason: Reason,
}

/// The reason for which a message waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The link carried packets of other messages.
    Link(Culprit),
    /// The link lacked credits.
    Credits,
    /// The link was off, on its way down or up, or in an outage.
    Waking,
    /// Congestion control held it back.
    Throttled,
    /// Something inside the device in front of the link.
    Inside,
}

/// By hop, the ticks by which the last packet of a message fell further behind its times alone since the link before.
/// They add up to the whole delay of the message, `late`. A delay that the packet makes up for later does not count.
pub(super) fn delays(hops: &[Hop], created: Tick, alone: &Alone, late: Tick) -> Vec<(usize, Tick)> {
    let Some(last) = hops.len().checked_sub(1) else {
        return Vec::new();
    };
    let lateness = |at: usize| {
        let start = i128::from(hops[at].start) - i128::from(created);
        start - i128::from(alone.starts.get(at).copied().unwrap_or(0))
    };
    // On another path than alone there is no reference behind the NIC: the whole delay counts for the link with the
    // longest wait.
    let same_path = alone.starts.len() == hops.len();
    let longest = (0..=last).max_by_key(|&at| hops[at].start.saturating_sub(hops[at].first));
    let (mut found, mut before, mut debt): (Vec<(usize, i128)>, i128, i128) = (Vec::new(), 0, 0);
    for at in 0..=last {
        let now = match at {
            _ if at == last => i128::from(late),
            _ if at > 0 && !same_path => before,
            _ => lateness(at),
        };
        let place = if same_path || at == 0 {
            at
        } else {
            longest.unwrap_or(at)
        };
        debt += now - before;
        before = now;
        if debt > 0 {
            found.push((place, std::mem::take(&mut debt)));
        }
        while debt < 0 {
            let Some((_, ticks)) = found.last_mut() else {
                break;
            };
            let made_up = (-debt).min(*ticks);
            *ticks -= made_up;
            debt += made_up;
            if *ticks == 0 {
                found.pop();
            }
        }
    }
    let whole = |(at, ticks): (usize, i128)| (at, ticks as Tick);
    found.into_iter().map(whole).collect()
}

/// Divides the `ticks` ticks that message `mark` waited at a hop by their reasons. Ticks in which the link carried
/// packets of others, lacked credits or had no power count for that reason: the latest first, back to the time at which
/// the first packet of the message was there. The rest is `otherwise`.
pub(super) fn at_hop(
    hop: &Hop,
    output: &Output,
    mark: usize,
    ticks: Tick,
    otherwise: Reason,
) -> Vec<Wait> {
    let mut times: Vec<(Tick, Tick, Reason)> = output
        .transfers
        .iter()
        .filter(|transfer| transfer.mark != Some(mark))
        .map(|transfer| (transfer.start, transfer.end, Reason::Link(transfer.culprit)))
        .collect();
    for &(from, until) in &output.wakes {
        times.push((from, until, Reason::Waking));
    }
    // Packets that a link can't send keep the credits, so that a link that is down lacks credits too.
    for &stall in &output.stalls {
        let mut rest = vec![stall];
        for &(down, up) in &output.wakes {
            let around =
                |(from, until): (Tick, Tick)| [(from, until.min(down)), (from.max(up), until)];
            rest = rest
                .into_iter()
                .flat_map(around)
                .filter(|(from, until)| from < until)
                .collect();
        }
        times.extend(
            rest.into_iter()
                .map(|(from, until)| (from, until, Reason::Credits)),
        );
    }
    times.sort_by_key(|&(start, end, _)| (end, start));
    let (mut left, mut until) = (ticks, hop.start);
    let mut waits: Vec<Wait> = Vec::new();
    let mut add = |ticks, reason| {
        if let Some(same) = waits.iter_mut().find(|wait| wait.reason == reason) {
            same.ticks += ticks;
        } else if ticks > 0 {
            waits.push(Wait {
                ticks,
                output: hop.output,
                reason,
            });
        }
    };
    for &(start, end, reason) in times.iter().rev() {
        let (from, to) = (start.max(hop.first), end.min(until));
        let here = to.saturating_sub(from).min(left);
        if here > 0 {
            add(here, reason);
            left -= here;
            until = from;
        }
    }
    add(left, otherwise);
    waits
}

#[cfg(test)]
mod tests {
    use super::super::tracer::{Source, Transfer};
    use super::*;

    fn hop(output: u32, first: Tick, start: Tick) -> Hop {
        Hop {
            output: OutputId::new(output),
            first,
            start,
        }
    }

    fn alone(starts: &[Tick]) -> Alone {
        Alone {
            injected: 10,
            delivered: 100,
            starts: starts.to_vec(),
        }
    }

    #[test]
    fn delays_add_up_and_forget_what_is_made_up_for() {
        let alone = alone(&[0, 20, 40]);
        let late = |starts: [Tick; 3], late| {
            let hops = [0, 1, 2].map(|at| hop(at as u32, 1000, 1000 + starts[at]));
            delays(&hops, 1000, &alone, late)
        };
        assert_eq!(late([0, 20, 40], 0), []);
        assert_eq!(late([5, 25, 45], 5), [(0, 5)]);
        assert_eq!(late([5, 32, 52], 12), [(0, 5), (1, 7)]);
        assert_eq!(late([5, 32, 50], 10), [(0, 5), (1, 5)]);
        // Earlier than alone, then later.
        assert_eq!(late([0, 18, 41], 1), [(2, 1)]);
        assert_eq!(late([9, 20, 44], 4), [(2, 4)]);
    }

    #[test]
    fn the_latest_packets_in_the_way_count() {
        let culprit = |job, sl| Culprit {
            source: Source::Job(job),
            sl,
        };
        let transfer = |start, end, job, mark| Transfer {
            start,
            end,
            culprit: culprit(job, 0),
            mark,
        };
        let output = Output {
            transfers: [
                transfer(80, 105, 0, None),
                transfer(110, 120, 1, None),
                transfer(120, 130, 2, Some(7)),
                transfer(135, 150, 0, None),
            ]
            .into(),
            stalls: [(107, 109), (130, 133)].into(),
            wakes: [(106, 109)].into(),
            ..Output::default()
        };
        let at = |ticks| {
            let waits = at_hop(&hop(3, 100, 150), &output, 7, ticks, Reason::Inside);
            assert_eq!(waits.iter().map(|wait| wait.ticks).sum::<Tick>(), ticks);
            waits
                .iter()
                .map(|wait| (wait.reason, wait.ticks))
                .collect::<Vec<_>>()
        };
        let of = |job| Reason::Link(culprit(job, 0));
        assert_eq!(at(12), [(of(0), 12)]);
        assert_eq!(at(20), [(of(0), 15), (Reason::Credits, 3), (of(1), 2)]);
        let all = [
            (of(0), 20),
            (Reason::Credits, 3),
            (of(1), 10),
            (Reason::Waking, 3),
            (Reason::Inside, 4),
        ];
        assert_eq!(at(40), all);
    }
}
