//! Flitwise replays MPI applications, recorded as traces, through a flit-exact
//! model of an HPC fabric.
//!
//! Data flows one way: formats → [`replay`] → [`fabric`] → results.

pub mod config;
pub mod fabric;
pub mod generate;
pub mod random;
pub mod replay;
pub mod results;
pub mod run;
pub mod units;
