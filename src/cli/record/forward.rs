//! Runs a program as if it had been started in place of this process: signals reach it.

use std::io;
use std::process::{Command, ExitStatus};

/// Runs the command to its end. Signals to this process are passed on.
#[cfg(unix)]
pub(super) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
    use signal_hook::iterator::Signals;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI32, Ordering};
    let program = Arc::new(AtomicI32::new(0));
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2])?;
    let handle = signals.handle();
    let receiver = Arc::clone(&program);
    let mut child = command.spawn()?;
    program.store(i32::try_from(child.id()).unwrap_or(0), Ordering::SeqCst);
    let passing = std::thread::spawn(move || {
        for signal in &mut signals {
            // A terminal sends these to the program as well.
            let twice = matches!(signal, SIGINT | SIGQUIT) && is_in_foreground();
            if !twice {
                pass_on(receiver.load(Ordering::SeqCst), signal);
            }
        }
    });
    let status = child.wait();
    program.store(0, Ordering::SeqCst);
    handle.close();
    let _ = passing.join();
    status
}

#[cfg(unix)]
fn pass_on(program: i32, signal: i32) {
    use rustix::process::{Pid, Signal, kill_process};
    if let (Some(pid), Some(signal)) = (Pid::from_raw(program), Signal::from_named_raw(signal)) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether the keys of a terminal reach this process, and with it the program.
#[cfg(unix)]
fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else {
        return false;
    };
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

#[cfg(not(unix))]
pub(super) fn run(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}
