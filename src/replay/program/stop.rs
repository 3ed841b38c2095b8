//! Lets a program that works for long notice that the user stops the run.

use std::fmt;

/// Calls between two checks whether the user stops the run: some milliseconds of work.
const EVERY: u32 = 1 << 14;

/// Checks now and then whether the user stops the run.
#[derive(Clone)]
pub struct StopCheck<'a> {
    stopped: &'a (dyn Fn() -> bool + Sync),
    until_look: u32,
}

/// The user stopped the run while a program worked on its next operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the user stopped the run")]
pub struct Stopped;

impl<'a> StopCheck<'a> {
    /// The user stops the run when `stopped` returns true.
    #[must_use]
    pub fn new(stopped: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self {
            stopped,
            until_look: EVERY,
        }
    }

    /// Nothing stops the run.
    #[must_use]
    pub fn never() -> Self {
        Self::new(&|| false)
    }

    /// Checks whether the user stops the run. Call this for every piece of work; only few calls really ask.
    ///
    /// # Errors
    /// If the user stops the run.
    #[inline]
    pub fn check(&mut self) -> Result<(), Stopped> {
        self.until_look -= 1;
        match self.until_look {
            0 => self.look(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn look(&mut self) -> Result<(), Stopped> {
        self.until_look = EVERY;
        if (self.stopped)() {
            Err(Stopped)
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for StopCheck<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StopCheck").finish_non_exhaustive()
    }
}
