//! Whole runs: generated and real traces, jobs, results, records and time series; runs against
//! theory and against publications.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../formats/tests/support/mod.rs"]
mod support;

#[path = "../../formats/tests/recording/write.rs"]
mod recording;

mod adaptive;
mod axis_order;
mod call_keys;
mod culprits;
mod data_tables;
mod direct;
mod dtable;
mod energy;
mod explain;
mod failed_seeds;
mod figure_parts;
mod figures;
mod generate;
mod ideal_clock;
mod in_network;
mod infiniband_testbed;
mod jobs;
mod memory;
mod messages;
mod nodes;
mod oblivious;
mod operators;
mod outages;
mod page_script;
mod paired;
mod perfetto;
mod progress;
mod python;
mod real_traces;
mod recorded_formats;
mod records;
mod regions;
mod report;
mod report_choices;
mod result_form;
mod run_results;
mod saturation;
mod schedule;
mod schema;
mod schema_keys;
mod schema_page;
mod series;
mod series_figures;
mod simgrid;
mod stopped;
mod streams;
mod studies;
mod theory;
mod threads;
mod timeline;
mod validation;
