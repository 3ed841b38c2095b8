//! Ctrl-C ends a run, which then reports its results so far. It aborts at once a command that has
//! no partial results, and removes its unfinished files.

use super::progress::terminal;
use super::tell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

static STOP: AtomicBool = AtomicBool::new(false);
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Exit code that shells report for a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Installs a handler and returns the flag that the first Ctrl-C sets; the second one aborts.
pub(super) fn stop_on_interrupt() -> &'static AtomicBool {
    let installed = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            abort();
        }
        if terminal() {
            tell(format_args!(
                "stopping; press Ctrl-C again to abort at once"
            ));
        }
    });
    // Without a handler Ctrl-C ends the process, which is acceptable.
    drop(installed);
    &STOP
}

/// Installs a handler with which Ctrl-C aborts.
pub(super) fn abort_on_interrupt() {
    // As above.
    drop(ctrlc::set_handler(|| abort()));
}

/// Makes an abort remove this file, which has this name only until it is complete.
pub(super) fn remove_if_aborted(part: &Path) {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    unfinished.push(part.to_owned());
}

fn abort() -> ! {
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for part in &*unfinished {
        // The file is complete or removed already, or cannot be removed.
        let _ = std::fs::remove_file(part);
    }
    std::process::exit(INTERRUPTED);
}
