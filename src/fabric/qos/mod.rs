//! Quality of service: how the arbitration tables are made.

pub mod dtable_proposal;
pub mod dtable_table;
