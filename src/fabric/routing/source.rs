//! The routes of single pairs of NICs, one behind the other in one list.

use crate::ids::{NicId, PortId};
use crate::spec::FabricSpec;

/// The place of a packet on a route of [`SourceHops`]: its next out-port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor(u32);

impl Cursor {
    /// The place of a packet that follows no such route.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

/// The out-ports of all routes.
#[derive(Debug)]
pub(crate) struct SourceHops {
    /// By source: the first of its routes in `routes`; and the end of them all.
    first: Vec<u32>,
    /// Destination of each route, ascending for a source, and its first out-port in `ports`.
    routes: Vec<(NicId, Cursor)>,
    ports: Vec<PortId>,
}

impl SourceHops {
    /// `None` if no pair has a route of its own.
    pub(super) fn new(spec: &FabricSpec) -> Option<Self> {
        let given = &spec.routing.source_routes;
        if given.is_empty() {
            return None;
        }
        let mut hops = Self {
            first: Vec::with_capacity(spec.topology.nics() as usize + 1),
            routes: Vec::with_capacity(given.0.len()),
            ports: Vec::new(),
        };
        for (pair, route) in &given.0 {
            let before = hops.routes.len() as u32;
            hops.first.resize(pair.src.index() + 1, before);
            hops.routes
                .push((pair.dst, Cursor(hops.ports.len() as u32)));
            hops.ports.extend(route.iter().map(|at| at.port));
        }
        let end = hops.routes.len() as u32;
        hops.first.resize(spec.topology.nics() as usize + 1, end);
        Some(hops)
    }

    /// The begin of the route from `src` to `dst`, or [`Cursor::NONE`].
    pub(crate) fn begin(&self, src: NicId, dst: NicId) -> Cursor {
        let end = |nic: usize| self.first.get(nic).map_or(0, |&first| first as usize);
        let of_src = self.routes.get(end(src.index())..end(src.index() + 1));
        let of_src = of_src.unwrap_or_default();
        let found = of_src.binary_search_by_key(&dst, |&(dst, _)| dst);
        found.map_or(Cursor::NONE, |at| of_src[at].1)
    }

    /// The out-port at `cursor`, and the place behind it; `None` if the packet follows no such route.
    pub(crate) fn step(&self, cursor: Cursor) -> Option<(PortId, Cursor)> {
        let port = self.ports.get(cursor.0 as usize)?;
        Some((*port, Cursor(cursor.0 + 1)))
    }
}
