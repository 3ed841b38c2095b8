//! Groups and communicators.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Group};
use crate::dumpi::wire::{Array, List};

shapes! {
    GroupSize {
        group: Group,
        size: i32,
    }
    GroupRank {
        group: Group,
        rank: i32,
    }
    GroupTranslateRanks<'a> {
        group1: Group,
        count: i32,
        ranks1: Array<'a, i32>,
        group2: Group,
        ranks2: Array<'a, i32>,
    }
    GroupCompare {
        group1: Group,
        group2: Group,
        result: u8,
    }
    CommGroup {
        comm: Comm,
        group: Group,
    }
    GroupPair {
        group1: Group,
        group2: Group,
        newgroup: Group,
    }
    GroupRanks<'a> {
        group: Group,
        count: i32,
        ranks: Array<'a, i32>,
        newgroup: Group,
    }
    GroupRanges<'a> {
        group: Group,
        count: i32,
        ranges: List<'a, Array<'a, i32>>,
        newgroup: Group,
    }
    OneGroup {
        group: Group,
    }
    CommSize {
        comm: Comm,
        size: i32,
    }
    CommRank {
        comm: Comm,
        rank: i32,
    }
    CommCompare {
        comm1: Comm,
        comm2: Comm,
        result: u8,
    }
    CommDup {
        oldcomm: Comm,
        newcomm: Comm,
    }
    CommCreate {
        oldcomm: Comm,
        group: Group,
        newcomm: Comm,
    }
    CommSplit {
        oldcomm: Comm,
        color: i32,
        key: i32,
        newcomm: Comm,
    }
    CommTestInter {
        comm: Comm,
        inter: i32,
    }
    IntercommCreate {
        localcomm: Comm,
        localleader: i32,
        remotecomm: Comm,
        remoteleader: i32,
        tag: i32,
        newcomm: Comm,
    }
    IntercommMerge {
        comm: Comm,
        high: i32,
        newcomm: Comm,
    }
}
