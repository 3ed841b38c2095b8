//! All-to-all. Block `i * n + j` goes from member i to member j; a member's block
//! for itself is copied without a message.

use super::decide::Alltoall;
use super::group::{Group, ceil_log2};
use super::step::Round;

/// Rounds.
pub(super) fn rounds(algorithm: Alltoall, n: u32) -> u32 {
    match algorithm {
        Alltoall::Pairwise | Alltoall::Linear => n - 1,
        Alltoall::Bruck => ceil_log2(n),
    }
}

/// Steps of member `me` in round `k`.
pub(super) fn round(algorithm: Alltoall, group: &Group, me: u32, k: u32, round: &mut Round<'_>) {
    let block = |from: u32, to: u32| u64::from(from) * u64::from(group.n) + u64::from(to);
    let send = |distance: u32, round: &mut Round<'_>| {
        let to = group.after(me, distance);
        round.send(to, block(me, to), 1, 0);
    };
    match algorithm {
        Alltoall::Pairwise => send(k + 1, round),
        Alltoall::Linear if k == 0 => (1..group.n).for_each(|distance| send(distance, round)),
        Alltoall::Linear => {}
        Alltoall::Bruck => {
            let distance = 1 << k;
            round.send_bruck(group.after(me, distance), me, k);
            round.recv_bruck(group.before(me, distance), k);
            return;
        }
    }
    let from = group.before(me, k + 1);
    round.recv(from, block(from, me), 1, 0);
}

/// Blocks that member `sender` of `n` sends in round `k` of Bruck's algorithm (Bruck et
/// al., Efficient algorithms for all-to-all communications, 1997): every distance with
/// bit k set. The block has already travelled the lower bits of its distance.
pub(super) fn bruck(n: u32, sender: u32, k: u32) -> impl Iterator<Item = u64> {
    let group = Group::new(n, 0);
    let set = (1..n).filter(move |distance| distance & (1 << k) != 0);
    set.map(move |distance| {
        let from = group.before(sender, distance & ((1 << k) - 1));
        let to = group.after(from, distance);
        u64::from(from) * u64::from(n) + u64::from(to)
    })
}
