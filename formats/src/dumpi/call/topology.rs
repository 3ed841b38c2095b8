//! Cartesian and graph topologies.

use super::shapes::shapes;
use crate::dumpi::handle::Comm;
use crate::dumpi::wire::Array;

shapes! {
    TopoTest {
        comm: Comm,
        topo: u8,
    }
    CartCreate<'a> {
        oldcomm: Comm,
        ndim: i32,
        dims: Array<'a, i32>,
        periods: Array<'a, i32>,
        reorder: i32,
        newcomm: Comm,
    }
    DimsCreate<'a> {
        nodes: i32,
        ndim: i32,
        dims_in: Array<'a, i32>,
        dims_out: Array<'a, i32>,
    }
    GraphCreate<'a> {
        numedges: i32,
        oldcomm: Comm,
        nodes: i32,
        index: Array<'a, i32>,
        edges: Array<'a, i32>,
        reorder: i32,
        newcomm: Comm,
    }
    GraphdimsGet {
        comm: Comm,
        nodes: i32,
        edges: i32,
    }
    GraphGet<'a> {
        totedges: i32,
        totnodes: i32,
        comm: Comm,
        maxindex: i32,
        maxedges: i32,
        index: Array<'a, i32>,
        edges: Array<'a, i32>,
    }
    CartdimGet {
        comm: Comm,
        ndim: i32,
    }
    CartRank<'a> {
        ndim: i32,
        comm: Comm,
        coords: Array<'a, i32>,
        rank: i32,
    }
    CartCoords<'a> {
        ndim: i32,
        comm: Comm,
        rank: i32,
        maxdims: i32,
        coords: Array<'a, i32>,
    }
    GraphNeighborsCount {
        comm: Comm,
        rank: i32,
        nneigh: i32,
    }
    GraphNeighbors<'a> {
        nneigh: i32,
        comm: Comm,
        rank: i32,
        maxneighbors: i32,
        neighbors: Array<'a, i32>,
    }
    CartShift {
        comm: Comm,
        direction: i32,
        displ: i32,
        source: i32,
        dest: i32,
    }
    CartSub<'a> {
        ndim: i32,
        oldcomm: Comm,
        remain_dims: Array<'a, i32>,
        newcomm: Comm,
    }
    CartMap<'a> {
        comm: Comm,
        ndim: i32,
        dims: Array<'a, i32>,
        period: Array<'a, i32>,
        newrank: i32,
    }
    GraphMap<'a> {
        numedges: i32,
        comm: Comm,
        nodes: i32,
        index: Array<'a, i32>,
        edges: Array<'a, i32>,
        newrank: i32,
    }
}
