//! Files. A replay needs to know only how long these calls take.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype, Errhandler, File, Group, Info, IoRequest};
use crate::dumpi::wire::{Array, Statuses, Text};

shapes! {
    FileCallErrhandler {
        file: File,
        errorcode: i32,
    }
    FileErrhandler {
        file: File,
        errhandler: Errhandler,
    }
    FileOpen<'a> {
        comm: Comm,
        filename: Text<'a>,
        amode: u8,
        info: Info,
        file: File,
    }
    OneFile {
        file: File,
    }
    FileDelete<'a> {
        filename: Text<'a>,
        info: Info,
    }
    FileSize {
        file: File,
        size: i64,
    }
    FileGetGroup {
        file: File,
        group: Group,
    }
    FileGetAmode {
        file: File,
        amode: u8,
    }
    FileInfo {
        file: File,
        info: Info,
    }
    FileSetView<'a> {
        file: File,
        offset: i64,
        hosttype: Datatype,
        filetype: Datatype,
        datarep: Text<'a>,
        info: Info,
    }
    FileGetView<'a> {
        file: File,
        offset: i64,
        hosttype: Datatype,
        filetype: Datatype,
        datarep: Text<'a>,
    }
    FileAt<'a> {
        file: File,
        offset: i64,
        count: i32,
        datatype: Datatype,
        status: Statuses<'a>,
    }
    FileIat {
        file: File,
        offset: i64,
        count: i32,
        datatype: Datatype,
        request: IoRequest,
    }
    FileAccess<'a> {
        file: File,
        count: i32,
        datatype: Datatype,
        status: Statuses<'a>,
    }
    FileIaccess {
        file: File,
        count: i32,
        datatype: Datatype,
        request: IoRequest,
    }
    FileSeek {
        file: File,
        offset: i64,
        whence: u8,
    }
    FileOffset {
        file: File,
        offset: i64,
    }
    FileGetByteOffset {
        file: File,
        offset: i64,
        bytes: i64,
    }
    FileAtBegin {
        file: File,
        offset: i64,
        count: i32,
        datatype: Datatype,
    }
    FileEnd<'a> {
        file: File,
        status: Statuses<'a>,
    }
    FileBegin {
        file: File,
        count: i32,
        datatype: Datatype,
    }
    FileGetTypeExtent {
        file: File,
        datatype: Datatype,
        extent: i32,
    }
    RegisterDatarep<'a> {
        name: Text<'a>,
    }
    FileFlag {
        file: File,
        flag: i32,
    }
    MpioTest<'a> {
        request: IoRequest,
        flag: i32,
        status: Statuses<'a>,
    }
    MpioWait<'a> {
        request: IoRequest,
        status: Statuses<'a>,
    }
    MpioTestall<'a> {
        count: i32,
        requests: Array<'a, IoRequest>,
        flag: i32,
        statuses: Statuses<'a>,
    }
    MpioWaitall<'a> {
        count: i32,
        requests: Array<'a, IoRequest>,
        statuses: Statuses<'a>,
    }
    MpioTestany<'a> {
        count: i32,
        requests: Array<'a, IoRequest>,
        flag: i32,
        index: i32,
        statuses: Statuses<'a>,
    }
    MpioWaitany<'a> {
        count: i32,
        requests: Array<'a, IoRequest>,
        index: i32,
        statuses: Statuses<'a>,
    }
    MpioWaitsome<'a> {
        count: i32,
        requests: Array<'a, IoRequest>,
        outcount: i32,
        indices: Array<'a, i32>,
        statuses: Statuses<'a>,
    }
}
