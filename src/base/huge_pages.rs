//! An allocator that asks for huge pages. The engine touches large vectors at random, and with pages of 4 KiB most of
//! these accesses on a fabric of thousands of NICs miss the TLB.

use std::alloc::{GlobalAlloc, Layout, System};

/// Size of a huge page on x86-64 and on AArch64 with pages of 4 KiB.
const HUGE_PAGE: usize = 2 << 20;

/// The allocator of the system, which gets huge pages for blocks of 4 MiB and more if the kernel gives any (Linux with
/// transparent huge pages set to `madvise` or `always`).
///
/// # Examples
/// ```
/// use flitwise_base::huge_pages::HugePages;
///
/// #[global_allocator]
/// static ALLOCATOR: HugePages = HugePages;
///
/// let zeros = vec![0u8; 16 << 20];
/// assert!(zeros.iter().all(|&byte| byte == 0));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct HugePages;

/// Asks for huge pages for the whole ones within a block. A block without whole ones, and a refusal, change nothing.
#[inline]
fn advise(block: *mut u8, size: usize) {
    if size >= 2 * HUGE_PAGE && !block.is_null() {
        advise_large(block, size);
    }
}

#[cold]
#[cfg(target_os = "linux")]
fn advise_large(block: *mut u8, size: usize) {
    use rustix::mm::{Advice, madvise};
    let before = block.align_offset(HUGE_PAGE);
    let whole = size.saturating_sub(before) / HUGE_PAGE * HUGE_PAGE;
    if whole > 0 {
        let first = block.wrapping_add(before);
        // SAFETY: the pages lie within a block that was just allocated, and the advice changes neither what they hold
        // nor how they may be used.
        let _ = unsafe { madvise(first.cast(), whole, Advice::LinuxHugepage) };
    }
}

#[cold]
#[cfg(not(target_os = "linux"))]
fn advise_large(_: *mut u8, _: usize) {}

// SAFETY: all blocks come from the system's allocator, with the caller's layout, and go back to it.
unsafe impl GlobalAlloc for HugePages {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        let block = unsafe { System.alloc(layout) };
        advise(block, layout.size());
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        advise(block, layout.size());
        block
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; the block came from the system's allocator.
        let block = unsafe { System.realloc(block, layout, size) };
        advise(block, size);
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(block, layout) };
    }
}
