//! The token by which the user stops long work.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The user stopped the work before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the user stopped the run")]
pub struct Stopped;

/// Nothing sets it.
static NEVER: AtomicBool = AtomicBool::new(false);

/// A token that long work checks now and then. Another thread or a signal handler sets its flag.
///
/// # Examples
/// ```
/// use flitwise_base::stop::{Stop, Stopped};
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let flag = AtomicBool::new(false);
/// let stop = Stop::new(&flag);
/// assert_eq!(stop.check(), Ok(()));
///
/// flag.store(true, Ordering::Relaxed);
/// assert_eq!(stop.check(), Err(Stopped));
/// assert_eq!(Stop::never().check(), Ok(()));
///
/// // Work in small pieces checks the flag at every thousandth of them only.
/// let mut stop = stop.every(1000);
/// let done = (0..).take_while(|_| stop.check().is_ok()).count();
/// assert_eq!(done, 999);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a> {
    flag: &'a AtomicBool,
    /// Stops the work as well.
    other: Option<&'a Stop<'a>>,
}

impl Stop<'static> {
    /// A token for work that nothing stops.
    #[must_use]
    pub fn never() -> Self {
        Self::new(&NEVER)
    }
}

impl<'a> Stop<'a> {
    /// A token that stops the work when `flag` is set.
    #[must_use]
    pub fn new(flag: &'a AtomicBool) -> Self {
        Self { flag, other: None }
    }

    /// A token for a part of the work, which stops when the whole does, or when `flag` is set.
    #[must_use]
    pub fn part(&'a self, flag: &'a AtomicBool) -> Self {
        let other = Some(self);
        Self { flag, other }
    }

    /// Whether the work is to stop.
    #[must_use]
    pub fn is_set(self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.other.is_some_and(|other| other.is_set())
    }

    /// Ends the work if it is to stop.
    ///
    /// # Errors
    /// If a flag is set.
    pub fn check(self) -> Result<(), Stopped> {
        if self.is_set() { Err(Stopped) } else { Ok(()) }
    }

    /// Breaks the loop of a simulation that is to stop.
    pub fn control(self) -> ControlFlow<()> {
        if self.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The same token for a hot loop: of its checks only every `pieces`-th looks at the flags. `pieces` is more than 0.
    #[must_use]
    pub fn every(self, pieces: u32) -> StopEvery<'a> {
        StopEvery {
            stop: self,
            pieces,
            left: pieces,
        }
    }
}

/// A [`Stop`] for a hot loop; [`Stop::every`] makes it.
#[derive(Debug, Clone)]
pub struct StopEvery<'a> {
    stop: Stop<'a>,
    pieces: u32,
    /// Checks until the next look at the flags, with the check that looks.
    left: u32,
}

impl StopEvery<'_> {
    /// Ends the work if it is to stop. Call this for every piece of work.
    ///
    /// # Errors
    /// If a flag was set at the last look.
    #[inline]
    pub fn check(&mut self) -> Result<(), Stopped> {
        self.left = self.left.saturating_sub(1);
        match self.left {
            0 => self.look(),
            _ => Ok(()),
        }
    }

    #[cold]
    fn look(&mut self) -> Result<(), Stopped> {
        self.left = self.pieces;
        self.stop.check()
    }
}
