//! Ctrl-C: the first one ends the run with what it has, the second one at once.

use super::progress::terminal;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Installs the handler and returns the flag it sets.
pub(super) fn stop_on_interrupt() -> &'static AtomicBool {
    let installed = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        if terminal() {
            eprintln!("stopping; press Ctrl-C again to abort at once");
        }
    });
    // Without a handler Ctrl-C ends the process, which is no reason not to run.
    drop(installed);
    &STOP
}
