//! Reads the operations of one rank, in any order.

use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::{Place, PlaceError};

use super::layout::{NODE, Node, Places, RANK_HEAD, indices, node, pair, u64_at};
use super::record::DependencyKind;
use crate::error::Error;
use crate::store::{Store, Window};

/// The operations of one rank. Reads a few kilobytes of the file at a time; any number of them may read one
/// file at once.
#[derive(Debug, Clone)]
pub struct Block {
    store: Arc<Store>,
    /// The file that messages name.
    path: Arc<Path>,
    rank: u32,
    ranks: u32,
    /// Operations.
    len: u32,
    roots: u32,
    places: Places,
    /// Where the nodes begin.
    nodes_at: u64,
    /// Where the successors begin, and how many there are.
    successors_at: u64,
    successors: u64,
    nodes: Window,
    lists: Window,
}

const CUT: &str = "the file is cut short: copy or make it again";

impl Block {
    pub(super) fn open(
        store: &Arc<Store>,
        path: &Arc<Path>,
        (rank, ranks): (u32, u32),
        (start, end): (u64, u64),
        places: Places,
    ) -> Result<Self, Error> {
        let wrong = |at: u64, message: &str| {
            let message = format!("rank {rank}: {message}");
            Error::broken(PlaceError::byte(at, message).of(path))
        };
        let mut head = [0; RANK_HEAD as usize];
        if end - start < RANK_HEAD || store.read_at(start, &mut head)? < head.len() {
            return Err(wrong(start, CUT));
        }
        let [len, roots] = pair(&head);
        // Cannot overflow: 2^32 nodes have less than 2^38 bytes.
        let nodes_at = start + RANK_HEAD + 4 * u64::from(roots);
        let successors_at = nodes_at + places.stride() as u64 * u64::from(len);
        let rest = end.checked_sub(successors_at).ok_or_else(|| {
            let message = format!(
                "{len} operations and {roots} roots do not fit the {} bytes that the table of ranks gives \
                 it; the file is damaged: make it again",
                end - start
            );
            wrong(start, &message)
        })?;
        if roots > len || !rest.is_multiple_of(4) {
            let message = format!(
                "{len} operations with {roots} roots and {rest} bytes of successors are no rank; the file is \
                 damaged: make it again"
            );
            return Err(wrong(start, &message));
        }
        Ok(Self {
            store: Arc::clone(store),
            path: Arc::clone(path),
            rank,
            ranks,
            len,
            roots,
            places,
            nodes_at,
            successors_at,
            successors: rest / 4,
            nodes: Window::default(),
            lists: Window::default(),
        })
    }

    /// The rank.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Number of its operations.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if it has no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of operations without dependencies that the file states.
    pub(super) fn roots(&self) -> u32 {
        self.roots
    }

    /// Entry `at` of the list of operations without dependencies, and its place.
    pub(super) fn root(&mut self, at: u32) -> Result<(u32, Place), Error> {
        let list = self.nodes_at - 4 * u64::from(self.roots);
        let offset = list + 4 * u64::from(at);
        let place = Place::Byte(offset);
        let bytes = self.lists.get(&self.store, offset, 4, self.nodes_at)?;
        match <[u8; 4]>::try_from(bytes) {
            Ok(bytes) => Ok((u32::from_le_bytes(bytes), place)),
            Err(_) => Err(self.wrong(at, place, CUT)),
        }
    }

    fn place(&self, index: u32) -> u64 {
        self.nodes_at + u64::from(index) * self.places.stride() as u64
    }

    /// That something is wrong with operation `index`.
    #[cold]
    pub(super) fn wrong(&self, index: u32, place: Place, message: &str) -> Error {
        let message = format!("rank {}, operation {index}: {message}", self.rank);
        Error::broken(PlaceError { place, message }.of(&self.path))
    }

    /// Operation `index`, and whom it makes wait.
    ///
    /// # Errors
    /// If the file can't be read, or the operation is broken or beyond the [last](Self::len).
    #[inline]
    pub fn node(&mut self, index: u32) -> Result<Node, Error> {
        let at = self.place(index);
        if index >= self.len {
            return Err(self.wrong(index, Place::Byte(at), "there is no such operation"));
        }
        let (stride, places) = (self.places.stride(), self.places);
        let bytes = self
            .nodes
            .get(&self.store, at, stride, self.successors_at)?;
        if bytes.len() < stride {
            return Err(self.wrong(index, Place::Byte(at), CUT));
        }
        let place = match places {
            Places::None => Place::Byte(at),
            Places::Lines => Place::Line(u64_at(bytes, NODE)),
            Places::Bytes => Place::Byte(u64_at(bytes, NODE)),
        };
        match node(bytes, self.ranks, place, places) {
            Ok(node) if self.has_lists(&node) => Ok(node),
            Ok(node) => Err(self.wrong(
                index,
                place,
                &format!(
                    "lists of {} and {} successors that are not in the file; it is damaged: make it again",
                    node.done, node.started
                ),
            )),
            Err(message) => Err(self.wrong(index, place, &message)),
        }
    }

    fn has_lists(&self, node: &Node) -> bool {
        let ends = |at: u32, n: u32| n == 0 || u64::from(at) + u64::from(n) <= self.successors;
        ends(node.lists[0], node.done) && ends(node.lists[1], node.started)
    }

    /// Calls `each` with every operation that waits for `node`, which is operation `index`, and what it waits
    /// for: first those that wait for its end.
    ///
    /// # Errors
    /// If the file can't be read, or names an operation that is not there.
    pub fn successors(
        &mut self,
        index: u32,
        node: &Node,
        mut each: impl FnMut(u32, DependencyKind),
    ) -> Result<(), Error> {
        let lists = [
            (DependencyKind::Done, node.done),
            (DependencyKind::Started, node.started),
        ];
        let end = self.successors_at + 4 * self.successors;
        for ((kind, count), first) in lists.into_iter().zip(node.lists) {
            let mut left = u64::from(count);
            let mut at = self.successors_at + 4 * u64::from(first);
            while left > 0 {
                // As many as a window has at once.
                let n = left.min(1024);
                let bytes = self.lists.get(&self.store, at, 4 * n as usize, end)?;
                if bytes.len() < 4 * n as usize {
                    return Err(self.wrong(index, node.place, CUT));
                }
                let mut beyond = None;
                for of in indices(bytes) {
                    if of >= self.len {
                        beyond = Some(of);
                        break;
                    }
                    each(of, kind);
                }
                if let Some(of) = beyond {
                    let message = format!(
                        "operation {of} waits for it, but the rank has {} operations; the file is damaged: make \
                         it again",
                        self.len
                    );
                    return Err(self.wrong(index, node.place, &message));
                }
                left -= n;
                at += 4 * n;
            }
        }
        Ok(())
    }

    /// Calls `each` with every operation and its number, in the order of the file.
    ///
    /// # Errors
    /// As [`Block::node`], and if two operations share a list of successors, which no writer makes.
    pub(super) fn each(
        &mut self,
        mut each: impl FnMut(&mut Self, u32, &Node) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut listed = 0u64;
        for index in 0..self.len {
            let node = self.node(index)?;
            listed += u64::from(node.done) + u64::from(node.started);
            if listed > self.successors {
                let message =
                    "more successors than the rank has; the file is damaged: make it again";
                return Err(self.wrong(index, node.place, message));
            }
            each(self, index, &node)?;
        }
        Ok(())
    }
}
