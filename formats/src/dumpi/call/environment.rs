//! Start and end of the program, attributes, names, errors and info objects.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype, Errhandler, Info, Keyval, Win};
use crate::dumpi::wire::{List, Text};

shapes! {
    OneAttrKey {
        key: Keyval,
    }
    CommKey {
        comm: Comm,
        key: i32,
    }
    AttrGet {
        comm: Comm,
        key: i32,
        flag: i32,
    }
    GetProcessorName<'a> {
        name: Text<'a>,
        resultlen: i32,
    }
    GetVersion {
        version: i32,
        subversion: i32,
    }
    OneErrhandler {
        errhandler: Errhandler,
    }
    CommErrhandler {
        comm: Comm,
        errhandler: Errhandler,
    }
    ErrorString<'a> {
        errorcode: i32,
        errorstring: Text<'a>,
        resultlen: i32,
    }
    ErrorClass {
        errorcode: i32,
        errorclass: i32,
    }
    Nothing {}
    Initialized {
        result: i32,
    }
    CommError {
        comm: Comm,
        errorcode: i32,
    }
    AddErrorClass {
        errorclass: i32,
    }
    AddErrorCode {
        errorclass: i32,
        errorcode: i32,
    }
    AddErrorString<'a> {
        errorcode: i32,
        errorstring: Text<'a>,
    }
    OneKeyval {
        keyval: Keyval,
    }
    CommAttr {
        comm: Comm,
        keyval: Keyval,
    }
    CommGetAttr {
        comm: Comm,
        keyval: Keyval,
        flag: i32,
    }
    CommGetName<'a> {
        comm: Comm,
        name: Text<'a>,
        resultlen: i32,
    }
    CommSetName<'a> {
        comm: Comm,
        name: Text<'a>,
    }
    InitThread<'a> {
        argc_argv: List<'a, Text<'a>>,
        required: u8,
        provided: u8,
    }
    Flag {
        flag: i32,
    }
    QueryThread {
        supported: u8,
    }
    TypeAttr {
        datatype: Datatype,
        keyval: Keyval,
    }
    TypeGetAttr {
        datatype: Datatype,
        keyval: Keyval,
        flag: i32,
    }
    WinCallErrhandler {
        win: Win,
        errorcode: i32,
    }
    WinAttr {
        win: Win,
        keyval: Keyval,
    }
    WinGetAttr {
        win: Win,
        keyval: Keyval,
        flag: i32,
    }
    WinGetName<'a> {
        win: Win,
        name: Text<'a>,
        resultlen: i32,
    }
    WinSetName<'a> {
        win: Win,
        name: Text<'a>,
    }
    AllocMem {
        size: i32,
        info: Info,
    }
    OneInfo {
        info: Info,
    }
    InfoDelete<'a> {
        info: Info,
        key: Text<'a>,
    }
    InfoDup {
        oldinfo: Info,
        newinfo: Info,
    }
    InfoGet<'a> {
        info: Info,
        key: Text<'a>,
        valuelength: i32,
        value: Text<'a>,
        flag: i32,
    }
    InfoGetNkeys {
        info: Info,
        nkeys: i32,
    }
    InfoGetNthkey<'a> {
        info: Info,
        n: i32,
        key: Text<'a>,
    }
    InfoGetValuelen<'a> {
        info: Info,
        key: Text<'a>,
        valuelen: i32,
        flag: i32,
    }
    InfoSet<'a> {
        info: Info,
        key: Text<'a>,
        value: Text<'a>,
    }
    WinErrhandler {
        win: Win,
        errhandler: Errhandler,
    }
    Instrumented {
        function: i64,
    }
}
