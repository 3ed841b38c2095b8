//! Processes that start others or meet them.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Info};
use crate::dumpi::wire::{Array, List, Text};

shapes! {
    ClosePort<'a> {
        portname: Text<'a>,
    }
    CommPort<'a> {
        portname: Text<'a>,
        info: Info,
        root: i32,
        oldcomm: Comm,
        newcomm: Comm,
    }
    CommGetParent {
        parent: Comm,
    }
    CommJoin {
        fd: i32,
        comm: Comm,
    }
    CommSpawn<'a> {
        oldcommrank: i32,
        root: i32,
        oldcomm: Comm,
        newcomm: Comm,
        command: Option<Text<'a>> where oldcommrank == root,
        argv: Option<List<'a, Text<'a>>> where oldcommrank == root,
        maxprocs: Option<i32> where oldcommrank == root,
        info: Option<Info> where oldcommrank == root,
        errcodes: Option<Array<'a, i32>> where oldcommrank == root,
    }
    CommSpawnMultiple<'a> {
        totprocs: i32,
        oldcommrank: i32,
        root: i32,
        oldcomm: Comm,
        newcomm: Comm,
        count: Option<i32> where oldcommrank == root,
        commands: Option<List<'a, Text<'a>>> where oldcommrank == root,
        argvs: Option<List<'a, List<'a, Text<'a>>>> where oldcommrank == root,
        maxprocs: Option<Array<'a, i32>> where oldcommrank == root,
        info: Option<Array<'a, Info>> where oldcommrank == root,
        errcodes: Option<Array<'a, i32>> where oldcommrank == root,
    }
    ServiceName<'a> {
        servicename: Text<'a>,
        info: Info,
        portname: Text<'a>,
    }
    OpenPort<'a> {
        info: Info,
        portname: Text<'a>,
    }
}
