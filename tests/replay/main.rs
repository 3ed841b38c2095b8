//! The replay against the naive replay (`naive`): programs worked out by hand, random
//! ones, and the naive replay by itself.

mod alone;
mod background;
mod by_hand;
mod chakra;
mod conversions;
mod converted_calls;
mod critical_path;
mod dumpi;
mod everything;
mod formats;
mod ideal;
mod jobs;
mod loggp;
mod naive;
mod nodes;
mod operations;
mod placements;
mod plans;
mod random;
mod recorded;
mod schedules;
mod vef;
