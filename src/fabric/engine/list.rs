//! Lists with an entry for each part, by the id of the part.

use super::ids::{CentralId, InputId, OutputId};
use super::pool::{EntryId, name_entries};
use crate::ids::NicId;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

name_entries!(InputId OutputId CentralId NicId);

/// An entry for each part of a kind, by the id of the part.
#[derive(Debug)]
pub(super) struct List<I, T> {
    entries: Vec<T>,
    ids: PhantomData<I>,
}

impl<I, T> FromIterator<T> for List<I, T> {
    fn from_iter<E: IntoIterator<Item = T>>(entries: E) -> Self {
        Self {
            entries: entries.into_iter().collect(),
            ids: PhantomData,
        }
    }
}

impl<I, T> Deref for List<I, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.entries
    }
}

impl<I, T> DerefMut for List<I, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.entries
    }
}

impl<I: EntryId, T> Index<I> for List<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: I) -> &T {
        &self.entries[id.position()]
    }
}

impl<I: EntryId, T> IndexMut<I> for List<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.position()]
    }
}
