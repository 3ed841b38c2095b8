//! Tables of messages, and the peers that slices of timelines name.

use crate::common::result_json;
use crate::timeline::{plan, run};
use flitwise::config::Plan;
use flitwise::results::MessageFile;
use flitwise::run::{Control, RunResult, run_plan};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The rows of a table of messages.
pub fn messages(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header = reader.headers().unwrap().clone();
    let row = |row: csv::StringRecord| {
        let cells = header.iter().zip(row.iter());
        let cells = cells.map(|(name, cell)| (name.to_owned(), cell.to_owned()));
        cells.collect()
    };
    reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect()
}

/// Every message of a job has a row, with its times in order, and what watches the run changes nothing in its result.
/// The wait of a rank ends with the delivery of a message from its peer, or the injection of one to it.
#[test]
fn a_table_of_messages_has_all_of_them_and_their_times_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let formats = ["traces/randomaccess-16.vef.gz", "traces/hpl-16.vef.gz"];
    let mut seen = Vec::new();
    for trace in formats {
        for sets in [&[][..], &["fabric.kind=voq"]] {
            let trace = format!("job.0.trace={trace}");
            let plan = plan(&[&[trace.as_str()], sets].concat());
            let path = dir.path().join("messages.csv");
            let format = MessageFile::format_of_name(&path).unwrap();
            let topology = &plan.experiment.fabric.topology;
            let file = MessageFile::create(&path, format, topology).unwrap();
            let result = run_plan(&plan, &Control::default().seen_by(&file), 1).unwrap();
            file.finish().unwrap();
            let without = |result: &RunResult| {
                let mut json = result_json(&plan, result);
                json["engine"] = serde_json::Value::Null;
                json
            };
            let plain = run_plan(&plan, &Control::default(), 1).unwrap();
            assert_eq!(without(&result), without(&plain));
            let job = result.main.jobs[0].as_ref().unwrap();
            let rows = messages(&path);
            assert_eq!(rows.len() as u64, job.messages);
            let mut numbers: Vec<u64> = Vec::new();
            for row in &rows {
                let ps = |name: &str| row[name].parse::<u64>().ok();
                numbers.push(ps("message").unwrap());
                let [posted, injected, delivered] =
                    ["posted_ps", "injected_ps", "delivered_ps"].map(|name| ps(name).unwrap());
                assert!(posted <= injected && injected <= delivered, "{row:?}");
                let is_taken = ["point-to-point", "rts"].contains(&row["sent_for"].as_str());
                match ps("matched_ps") {
                    Some(matched) => assert!(is_taken && delivered <= matched, "{row:?}"),
                    None => assert!(!is_taken, "{row:?}"),
                }
                let nic = |of: &str| job.nics[ps(of).unwrap() as usize].get().to_string();
                assert_eq!(
                    (&row["from_nic"], &row["to_nic"]),
                    (&nic("from_rank"), &nic("to_rank"))
                );
                seen.push(row["sent_for"].clone());
            }
            numbers.sort_unstable();
            assert!(
                numbers
                    .iter()
                    .enumerate()
                    .all(|(at, &number)| at as u64 == number)
            );
            slices_name_the_peer_that_ended_them(&plan, &rows, &dir.path().join("slices.csv"));
        }
    }
    assert!(seen.iter().any(|sent_for| sent_for == "point-to-point"));
    assert!(seen.iter().any(|sent_for| sent_for == "collective"));
}

fn slices_name_the_peer_that_ended_them(
    plan: &Plan,
    messages: &[BTreeMap<String, String>],
    path: &Path,
) {
    // Of the trace before.
    let _ = fs::remove_file(path);
    let result = run(plan, path);
    let ends: std::collections::BTreeSet<(String, String, String)> = messages
        .iter()
        .flat_map(|row| {
            let [from, to] = ["from_rank", "to_rank"].map(|rank| row[rank].clone());
            let arrives = (to.clone(), from.clone(), row["delivered_ps"].clone());
            [arrives, (from, to, row["injected_ps"].clone())]
        })
        .collect();
    let (mut named, mut waits) = (0_u64, 0_u64);
    for row in self::messages(path) {
        if row["peer_rank"].is_empty() {
            continue;
        }
        assert_ne!(row["doing"], "compute", "{row:?}");
        named += row["end_ps"].parse::<u64>().unwrap() - row["start_ps"].parse::<u64>().unwrap();
        let end = (
            row["rank"].clone(),
            row["peer_rank"].clone(),
            row["end_ps"].clone(),
        );
        assert!(ends.contains(&end), "{row:?}");
    }
    let job = result.main.jobs[0].as_ref().unwrap();
    waits += job.waits.iter().map(|pair| pair.amount).sum::<u64>();
    assert!(named > 0);
    assert_eq!(named, waits);
}
