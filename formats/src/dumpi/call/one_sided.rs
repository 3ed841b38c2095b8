//! One-sided communication.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype, Group, Info, Op, Win};

shapes! {
    Accumulate {
        origincount: i32,
        origintype: Datatype,
        targetrank: i32,
        targetdisp: i32,
        targetcount: i32,
        targettype: Datatype,
        op: Op,
        win: Win,
    }
    Transfer {
        origincount: i32,
        origintype: Datatype,
        targetrank: i32,
        targetdisp: i32,
        targetcount: i32,
        targettype: Datatype,
        win: Win,
    }
    OneWin {
        win: Win,
    }
    WinCreate {
        size: i32,
        dispunit: i32,
        info: Info,
        comm: Comm,
        win: Win,
    }
    WinFence {
        assertion: u8,
        win: Win,
    }
    WinGetGroup {
        win: Win,
        group: Group,
    }
    WinLock {
        locktype: u8,
        winrank: i32,
        assertion: u8,
        win: Win,
    }
    WinEpoch {
        group: Group,
        assertion: u8,
        win: Win,
    }
    WinTest {
        win: Win,
        flag: i32,
    }
    WinUnlock {
        winrank: i32,
        win: Win,
    }
}
