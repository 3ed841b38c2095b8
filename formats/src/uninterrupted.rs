//! Work that its caller could stop, done to its end.

/// Calls `work` with a `go_on` that never stops it, and returns its result.
///
/// # Errors
/// As `work`.
pub fn uninterrupted<T, E>(
    mut work: impl FnMut(&mut dyn FnMut() -> bool) -> Result<Option<T>, E>,
) -> Result<T, E> {
    loop {
        if let Some(done) = work(&mut || true)? {
            return Ok(done);
        }
    }
}
