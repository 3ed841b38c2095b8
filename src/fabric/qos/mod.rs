//! Quality of service: makes the arbitration tables.

pub mod dtable_proposal;
pub mod dtable_table;
