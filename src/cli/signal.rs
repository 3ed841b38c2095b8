//! Signals. SIGINT (Ctrl-C), SIGTERM and SIGHUP end a run, which then reports its results so far; a second one ends it
//! at once. A command without partial results ends at once with the first. No unfinished file is left. The process ends
//! by the signal itself, so that a shell ends its loop, too. One handler serves all commands, so that none can write a
//! file without it.

use super::console::tell;
use super::out::{remove_empty, remove_part};
use super::progress::terminal;
use flitwise_formats::temporary;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Set by the first signal.
static STOP: AtomicBool = AtomicBool::new(false);
/// The number of the first signal, 0 before it.
static FIRST: AtomicI32 = AtomicI32::new(0);
/// The time at which it came.
static SINCE: OnceLock<Instant> = OnceLock::new();
/// Held by work that an abort must not interrupt, and from the beginning of an abort on.
static GATE: Mutex<()> = Mutex::new(());
/// The directories that exist only during a run, each with the directories above it that were created for it.
static PARTS: Mutex<Vec<(PathBuf, Vec<PathBuf>)>> = Mutex::new(Vec::new());

/// Signals this close to the first are the same request: `timeout` signals a process and its group, a
/// terminal that is closed may do so as well.
const SAME: Duration = Duration::from_millis(200);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the first signal aborts, because no result could be kept.
static ABORTABLE: AtomicBool = AtomicBool::new(true);

/// Does work that cannot be stopped and has no partial results: a signal aborts it at once.
pub(super) fn abortable<T>(work: impl FnOnce() -> T) -> T {
    let before = ABORTABLE.swap(true, Ordering::Relaxed);
    let done = work();
    ABORTABLE.store(before, Ordering::Relaxed);
    done
}

/// From now on the first signal sets the flag that is returned, and the second one aborts.
pub(super) fn stop_on_signal() -> &'static AtomicBool {
    ABORTABLE.store(false, Ordering::Relaxed);
    &STOP
}

/// Installs the handler. Until [`stop_on_signal`] the first signal aborts.
pub(super) fn handle() {
    listen(|signal| {
        let first = FIRST.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        if ABORTABLE.load(Ordering::Relaxed) {
            abort(signal);
        }
        let since = SINCE.get_or_init(Instant::now);
        if first.is_err() {
            if since.elapsed() >= SAME {
                abort(signal);
            }
            return;
        }
        STOP.store(true, Ordering::Relaxed);
        if terminal() {
            tell(format_args!(
                "stopping; press Ctrl-C again to abort at once"
            ));
        }
    });
}

/// The number of the first signal, if one came.
pub(super) fn first() -> Option<i32> {
    match FIRST.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Keeps an abort waiting. If one has begun, waits for the end of the process instead.
pub(super) fn hold_off_abort() -> MutexGuard<'static, ()> {
    lock(&GATE)
}

/// Lets an abort remove the directory `part`, and the empty directories among `above`.
pub(super) fn remove_if_aborted(part: &Path, above: &[PathBuf]) {
    lock(&PARTS).push((part.to_owned(), above.to_owned()));
}

/// Undoes [`remove_if_aborted`].
pub(super) fn keep_if_aborted(part: &Path) {
    lock(&PARTS).retain(|(other, _)| other != part);
}

/// Removes unfinished files and ends the process.
fn abort(signal: i32) -> ! {
    let _gate = hold_off_abort();
    temporary::remove_all();
    for (part, above) in &*lock(&PARTS) {
        remove_part(part);
        remove_empty(above);
    }
    die(signal)
}

/// Ends the process as `signal` would without a handler.
pub(super) fn die(signal: i32) -> ! {
    // The first process of a container has no default handlers.
    #[cfg(unix)]
    if std::process::id() != 1 {
        // Returns only if there is no such signal.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    }
    std::process::exit(128 + signal);
}

/// Lets a write beyond the limit on the size of files fail, as on a full disk. Without a handler it ends the process.
pub(super) fn survive_size_limit() {
    #[cfg(unix)]
    drop(signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::new(AtomicBool::new(false)),
    ));
}

/// Calls `on_signal` with each signal, in a thread of its own. Without a handler a signal ends the
/// process, which is acceptable.
#[cfg(unix)]
fn listen(on_signal: fn(i32)) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let mut signals = vec![SIGINT, SIGTERM];
    if !hangup_is_ignored() {
        signals.push(SIGHUP);
    }
    if let Ok(mut signals) = Signals::new(signals) {
        std::thread::spawn(move || signals.forever().for_each(on_signal));
    }
}

/// Whether the process was started by `nohup`, as far as the system tells.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    let ignored = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mut lines = status.lines();
        let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    // Bit 0 stands for signal 1.
    ignored().is_some_and(|mask| mask & 1 == 1)
}

/// As on Unix, but the only signal of the system is Ctrl-C.
#[cfg(not(unix))]
fn listen(on_signal: fn(i32)) {
    const SIGINT: i32 = 2;
    drop(ctrlc::set_handler(move || on_signal(SIGINT)));
}
