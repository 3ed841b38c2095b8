//! The first bytes of a tar archive, by which it is recognised.

/// Bytes of a tar archive up to the end of its magic number.
pub(crate) const TAR_HEAD: usize = 262;

/// Bytes of the block in which an archive is made.
const BLOCK: usize = 512;

/// True if `head` begins a tar archive.
pub(crate) fn is_tar(head: &[u8]) -> bool {
    head.get(257..TAR_HEAD) == Some(b"ustar")
}

/// The name and the first bytes of each file that is not empty in `head`, which begins a tar archive. A long name is cut
/// off at its begin or its end.
pub(crate) fn files_in_head(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = if is_tar(head) { head } else { &[] };
    std::iter::from_fn(move || {
        loop {
            let (header, after) = rest.split_at_checked(BLOCK)?;
            let size = octal(header.get(124..136).unwrap_or_default())?;
            let next = size.checked_next_multiple_of(BLOCK)?;
            rest = after.get(next..).unwrap_or_default();
            if matches!(header.get(156), Some(b'0' | 0)) && size > 0 {
                let name = header.split(|&byte| byte == 0).next().unwrap_or_default();
                let name = name.get(..name.len().min(100)).unwrap_or_default();
                let content = after.get(..size.min(after.len())).unwrap_or_default();
                return Some((name, content));
            }
        }
    })
}

fn octal(digits: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok()?;
    let text = text.trim_matches(|c: char| c == '\0' || c == ' ');
    if text.is_empty() {
        Some(0)
    } else {
        usize::from_str_radix(text, 8).ok()
    }
}
