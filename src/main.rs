//! The `flitwise` command.

fn main() {}
