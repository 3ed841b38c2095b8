//! Datatypes, and packing by them.

use super::shapes::shapes;
use crate::dumpi::handle::{Comm, Datatype};
use crate::dumpi::wire::{Array, Statuses, Text};

shapes! {
    TypeContiguous {
        count: i32,
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeVector {
        count: i32,
        blocklength: i32,
        stride: i32,
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeIndexed<'a> {
        count: i32,
        lengths: Array<'a, i32>,
        indices: Array<'a, i32>,
        oldtype: Datatype,
        newtype: Datatype,
    }
    Address {
        address: i32,
    }
    TypeExtent {
        datatype: Datatype,
        extent: i32,
    }
    TypeSize {
        datatype: Datatype,
        size: i32,
    }
    TypeLb {
        datatype: Datatype,
        lb: i32,
    }
    TypeUb {
        datatype: Datatype,
        ub: i32,
    }
    OneDatatype {
        datatype: Datatype,
    }
    GetElements<'a> {
        status: Statuses<'a>,
        datatype: Datatype,
        elements: i32,
    }
    Pack {
        incount: i32,
        datatype: Datatype,
        outcount: i32,
        position_in: i32,
        position_out: i32,
        comm: Comm,
    }
    Unpack {
        incount: i32,
        position_in: i32,
        position_out: i32,
        outcount: i32,
        datatype: Datatype,
        comm: Comm,
    }
    PackSize {
        incount: i32,
        datatype: Datatype,
        comm: Comm,
        size: i32,
    }
    TypeDup {
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeGetContents<'a> {
        numdatatypes: i32,
        numaddresses: i32,
        numintegers: i32,
        datatype: Datatype,
        maxintegers: i32,
        maxaddresses: i32,
        maxdatatypes: i32,
        arrintegers: Array<'a, i32>,
        arraddresses: Array<'a, i32>,
        arrdatatypes: Array<'a, Datatype>,
    }
    TypeGetEnvelope {
        datatype: Datatype,
        numintegers: i32,
        numaddresses: i32,
        numdatatypes: i32,
        combiner: u8,
    }
    TypeGetName<'a> {
        datatype: Datatype,
        name: Text<'a>,
        resultlen: i32,
    }
    TypeSetName<'a> {
        datatype: Datatype,
        name: Text<'a>,
    }
    TypeMatchSize {
        typeclass: u8,
        size: i32,
        datatype: Datatype,
    }
    PackExternal<'a> {
        datarep: Text<'a>,
        incount: i32,
        intype: Datatype,
        outcount: i32,
        position_in: i32,
        position_out: i32,
    }
    PackExternalSize<'a> {
        datarep: Text<'a>,
        incount: i32,
        datatype: Datatype,
        size: i32,
    }
    TypeCreateDarray<'a> {
        size: i32,
        rank: i32,
        ndims: i32,
        gsizes: Array<'a, i32>,
        distribs: Array<'a, u8>,
        dargs: Array<'a, i32>,
        psizes: Array<'a, i32>,
        order: u8,
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeCreateHindexed<'a> {
        count: i32,
        blocklengths: Array<'a, i32>,
        displacements: Array<'a, i32>,
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeCreateIndexedBlock<'a> {
        count: i32,
        blocklength: i32,
        displacements: Array<'a, i32>,
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeCreateResized {
        oldtype: Datatype,
        lb: i32,
        extent: i32,
        newtype: Datatype,
    }
    TypeCreateStruct<'a> {
        count: i32,
        blocklengths: Array<'a, i32>,
        displacements: Array<'a, i32>,
        oldtypes: Array<'a, Datatype>,
        newtype: Datatype,
    }
    TypeCreateSubarray<'a> {
        ndims: i32,
        sizes: Array<'a, i32>,
        subsizes: Array<'a, i32>,
        starts: Array<'a, i32>,
        order: u8,
        oldtype: Datatype,
        newtype: Datatype,
    }
    TypeBounds {
        datatype: Datatype,
        lb: i32,
        extent: i32,
    }
    UnpackExternal<'a> {
        datarep: Text<'a>,
        insize: i32,
        position_in: i32,
        position_out: i32,
        outcount: i32,
        datatype: Datatype,
    }
}
