//! Compares JSON and text with the publication's tables, digit by digit.

use flitwise::config::{dtable_preset, dtable_text};
use flitwise::results::DTableReport;
use serde_json::{Value, json};

const TABLE_5: &str = include_str!("../../configs/dtable-example.toml");

fn report(text: &str, sets: &[&str]) -> DTableReport {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    DTableReport::new(dtable_text("spec.toml", text, &sets).unwrap()).unwrap()
}

/// The keys of a table's rows, and the values printed under them.
fn printed(json: &Value, keys: &[&str], rows: &[&str]) {
    for (level, row) in json["service_levels"].as_array().unwrap().iter().zip(rows) {
        for (key, text) in keys.iter().zip(row.split_whitespace()) {
            assert_printed(&level[key], text, key);
        }
    }
    assert_eq!(json["service_levels"].as_array().unwrap().len(), rows.len());
}

/// A number that rounds to `text` in the digits that `text` has.
fn assert_printed(value: &Value, text: &str, what: &str) {
    if let Some(name) = value.as_str() {
        return assert_eq!(name, text, "{what}");
    }
    let decimals = text.split_once('.').map_or(0, |(_, d)| d.len());
    let value = value.as_f64().unwrap();
    assert_eq!(format!("{value:.decimals$}"), text, "{what} = {value}");
}

#[test]
fn table_5_digit_by_digit() {
    let report = report(TABLE_5, &[]);
    let json = report.json();
    // φ and the last digit of Rφ₂ are misprinted; these are the numbers meant.
    printed(
        &json,
        &[
            "sl",
            "entries",
            "mtu",
            "min_phi",
            "max_phi",
            "phi",
            "pool",
            "entry_weight",
            "tweight",
            "sum_weight",
            "r_phi",
            "diff_phi",
            "dweight",
            "fweight",
            "f_phi",
        ],
        &[
            "0 64 1 0.05556 0.66667 0.3334 1152 7 384.0768 448 0.36842 0.03502 -43 405 0.33333",
            "1 32 2 0.05556 0.33333 0.3333 1152 12 383.9616 384 0.31579 -0.01751 21 405 0.33333",
            "2 32 3 0.08333 0.33333 0.3333 1152 12 383.9616 384 0.31579 -0.01751 21 405 0.33333",
        ],
    );
    let totals = &json["totals"];
    for (key, text) in [
        ("entries", "128"),
        ("phi", "1"),
        ("tweight", "1152"),
        ("sum_weight", "1216"),
        ("fweight", "1215"),
    ] {
        assert_printed(&totals[key], text, key);
    }
    assert_eq!(json["warnings"], json!([]));
    assert_eq!(json["proposals"], json!([]));
    assert_eq!(json["searched"], Value::Null);
    // The text prints the same digits.
    let text = report.text();
    let rows = [
        "0      1152     7  384.0768       448  0.36842   0.03502      -43      405  0.33333",
        "1      1152    12  383.9616       384  0.31579  -0.01751       21      405  0.33333",
        "2      1152    12  383.9616       384  0.31579  -0.01751       21      405  0.33333",
        "total                  1152      1216                                 1215",
    ];
    for row in rows {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

/// Full precision: the nearest number to the fraction, not to its printed digits.
#[test]
fn numbers_are_not_rounded() {
    let json = report(TABLE_5, &[]).json();
    let level = &json["service_levels"][0];
    assert_eq!(level["min_phi"], json!(1.0 / 18.0));
    assert_eq!(level["r_phi"], json!(448.0 / 1216.0));
    assert_eq!(level["f_phi"], json!(1.0 / 3.0));
    // 448/1216 − 0.3334 = 7/19 − 1667/5000 = 3327/95000.
    assert_eq!(level["diff_phi"], json!(3327.0 / 95000.0));
    assert_eq!(level["phi"], json!(0.3334));
}

#[test]
fn tables_9_and_10_digit_by_digit() {
    let report = DTableReport::new(dtable_preset("opa-5sl", &[]).unwrap()).unwrap();
    let json = report.json();
    printed(
        &json,
        &[
            "sl",
            "distance",
            "entries",
            "percent_entries",
            "mtu_bytes",
            "min_phi",
            "max_phi",
            "injection",
            "fweight",
            "r_phi",
            "f_phi",
            "final_entry_weight_min",
            "final_entry_weight_max",
        ],
        &[
            "VO 2 64 50 128 0.03125 2 0.1 416 0.11 0.1 6 7",
            "VI 4 32 25 256 0.03125 1 0.3 1248 0.3 0.3 39 39",
            "CL 8 16 12.5 512 0.03125 0.5 0.5 2080 0.49 0.5 130 130",
            "BE 16 8 6.25 1024 0.03125 0.25 0.05 208 0.05 0.05 26 26",
            "BK 16 8 6.25 1024 0.03125 0.25 0.05 208 0.05 0.05 26 26",
        ],
    );
    for (key, text) in [
        ("entries", "128"),
        ("percent_entries", "100"),
        ("injection", "1"),
        ("min_phi", "0.15625"),
        ("max_phi", "4"),
        ("fweight", "4160"),
    ] {
        assert_printed(&json["totals"][key], text, key);
    }
    let parameters = json!({
        "entries": 128, "gmtu": 16, "w": 8, "k": 2, "max_entry_weight": 128, "pool": 4096,
        "weight_unit_bytes": 64,
    });
    assert_eq!(json["parameters"], parameters);
    assert!(report.text().contains("6–7"));
}

/// "the first 32 table entries have a weight of 7 and the next 32 a weight of 6", and the
/// distances hold also around the end of the table.
#[test]
fn the_arbitration_table_entry_by_entry() {
    let json = DTableReport::new(dtable_preset("opa-5sl", &[]).unwrap())
        .unwrap()
        .json();
    let table = json["table"].as_array().unwrap();
    assert_eq!(table.len(), 128);
    for (i, entry) in table.iter().enumerate() {
        let (sl, weight, before) = match i % 16 {
            i if i % 2 == 0 => ("VO", 7, 7),
            i if i % 4 == 1 => ("VI", 39, 39),
            i if i % 8 == 3 => ("CL", 130, 128),
            7 => ("BE", 26, 26),
            _ => ("BK", 26, 26),
        };
        let weight = if sl == "VO" && i >= 64 { 6 } else { weight };
        let expected = json!({ "entry": i, "sl": sl, "weight": weight, "weight_before": before });
        assert_eq!(*entry, expected);
    }
}

/// A proposal's values must hold for the file with its settings, in both kinds of file.
#[test]
fn the_settings_of_a_proposal_leave_no_warning() {
    let experiment = "[qos]\npreset = \"opa-5sl\"\n[[job]]\ntrace = \"none.vef\"\n";
    let cases = [
        (
            TABLE_5,
            vec![
                "dtable.k=1",
                "dtable.service_levels.0.share=0.5",
                "dtable.service_levels.1.share=0.3",
                "dtable.service_levels.2.share=0.2",
            ],
            "below-min-phi",
        ),
        (TABLE_5, vec!["dtable.w=3"], "above-max-phi"),
        (experiment, vec!["qos.dtable.k=1"], "below-min-phi"),
        (experiment, vec!["qos.dtable.w=7"], "above-max-phi"),
    ];
    let mut proposals = 0;
    for (text, sets, kind) in cases {
        let before = report(text, &sets);
        let json = before.json();
        assert!(!json["warnings"].as_array().unwrap().is_empty(), "{sets:?}");
        assert!(
            json["warnings"]
                .as_array()
                .unwrap()
                .iter()
                .any(|w| w["kind"] == kind)
        );
        assert!(json["searched"].is_string());
        assert!(before.text().contains("\nwarning: share "));
        for proposal in json["proposals"].as_array().unwrap() {
            let mut with = sets.clone();
            let found: Vec<&str> = proposal["set"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s.as_str().unwrap())
                .collect();
            assert!(!found.is_empty());
            with.extend(found);
            let after = report(text, &with).json();
            assert_eq!(after["warnings"], json!([]), "{with:?}");
            assert_eq!(after["parameters"]["w"], proposal["w"]);
            for (a, b) in after["service_levels"]
                .as_array()
                .unwrap()
                .iter()
                .zip(proposal["service_levels"].as_array().unwrap())
            {
                for key in ["sl", "distance", "entries", "min_phi", "max_phi", "f_phi"] {
                    assert_eq!(a[key], b[key], "{key}");
                }
            }
            proposals += 1;
        }
    }
    assert!(proposals >= 4, "{proposals}");
}

#[test]
fn without_a_proposal_the_range_that_was_searched_is_told() {
    let text = "[dtable]\nentries = 4\ngmtu = \"1KiB\"\nw = 1\nk = 1\nservice_levels = [\n\
                { name = \"A\", distance = 2, mtu = \"1KiB\", share = 0.999999 },\n\
                { name = \"B\", distance = 2, mtu = \"1KiB\", share = 0.000001 },\n]\n";
    let report = report(text, &[]);
    assert_eq!(report.json()["proposals"], json!([]));
    assert!(report.text().contains("no proposal: "), "{}", report.text());
    assert!(report.text().contains("from 1 to 4096"));
}
