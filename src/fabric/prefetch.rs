//! Prefetches memory. A large fabric does not fit into the near caches, but the
//! events of a tick say early which parts they will touch.

/// Number of switch ports beyond which parts are prefetched. A port takes more than 500
/// bytes, and a core has about 1 MiB of cache of its own. In debug builds the number is
/// so small that the comparison with the oracle covers both cases.
pub(super) const PREFETCH_PORTS: usize = if cfg!(debug_assertions) { 40 } else { 1024 };

/// Hints that `items[index]` is about to be used. Does nothing if there is no
/// such item, or no such instruction on this machine.
#[inline(always)]
pub(super) fn prefetch<T>(items: &[T], index: usize) {
    prefetch_line(items.as_ptr().wrapping_add(index).cast());
}

/// Prefetches all cache lines of `items[index]`, if it begins at one.
#[inline(always)]
pub(super) fn prefetch_all<T>(items: &[T], index: usize) {
    for offset in (0..size_of::<T>()).step_by(64) {
        prefetch_at(items, index, offset);
    }
}

/// Prefetches the cache line with byte `offset` of `items[index]`.
#[inline(always)]
pub(super) fn prefetch_at<T>(items: &[T], index: usize, offset: usize) {
    let item = items.as_ptr().wrapping_add(index).cast::<u8>();
    prefetch_line(item.wrapping_add(offset));
}

/// Hints that `items[index]` is about to be written, which another core may have read. The vector may have fewer items.
#[inline(always)]
pub(super) fn prefetch_to_write<T>(items: &[T], index: usize) {
    let at = items.as_ptr().wrapping_add(index).cast::<i8>();
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: as in `prefetch_line`; the hint to write changes nothing either.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(at.wrapping_add(offset)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The cache lines of some items, to be prefetched while the items are moved out of their vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<T>(*const T);

impl<T> Lines<T> {
    pub(super) fn of(items: &[T]) -> Self {
        Self(items.as_ptr())
    }

    /// Prefetches the item that is, or was, at `index`.
    #[inline(always)]
    pub(super) fn prefetch(&self, index: usize) {
        let at = self.0.wrapping_add(index).cast::<u8>();
        for offset in (0..size_of::<T>()).step_by(64) {
            prefetch_line(at.wrapping_add(offset));
        }
    }
}

#[inline(always)]
fn prefetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it reads nothing that the program can
        // observe and never faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::{Lines, prefetch, prefetch_all, prefetch_at, prefetch_to_write};

    #[test]
    fn any_index_is_allowed_and_nothing_changes() {
        let items = [1u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&items, index);
            prefetch_at(&items, index, 64);
            prefetch_to_write(&items, index);
            Lines::of(&items).prefetch(index);
            prefetch_all(&[[1u64; 20]; 2], index);
        }
        prefetch::<u8>(&[], 0);
        assert_eq!(items, [1, 2, 3]);
    }
}
