//! Threads of a command.

/// The number of threads that is asked for, or else of processors.
pub fn threads(asked: Option<u16>) -> usize {
    let available = || std::thread::available_parallelism().map_or(1, usize::from);
    asked.map_or_else(available, usize::from)
}
