//! Schedules of an independent generator, with the counts and the binary files of independent programs.

use std::path::PathBuf;

use flitwise_formats::goal::{Form, Info, Schedule, check_file, write};

use crate::data::data;
use crate::{contents, gzip, open};

/// The text and the binary file of every schedule.
fn pairs() -> Vec<(PathBuf, PathBuf)> {
    let Some(folder) = data("traces/goal") else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).unwrap();
    let mut pairs: Vec<_> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "bin"))
        .map(|bin| {
            let text = bin.with_extension("goal");
            let text = if text.exists() {
                text
            } else {
                bin.with_extension("goal.gz")
            };
            (text, bin)
        })
        .collect();
    pairs.sort();
    assert!(pairs.len() > 5, "{pairs:?}");
    pairs
}

#[test]
fn text_and_binary_form_of_a_schedule_are_equal() {
    for (text, bin) in pairs() {
        let (t, b) = (open(&text), open(&bin));
        assert_eq!((t.form(), b.form()), (Form::Text, Form::Binary));
        assert_eq!(contents(&t), contents(&b), "{}", text.display());
        assert_eq!(Info::read(&t).unwrap(), Info::read(&b).unwrap());
    }
}

#[test]
fn the_binary_form_is_that_of_the_original_tool_byte_by_byte() {
    for (text, bin) in pairs() {
        let expected = std::fs::read(&bin).unwrap();
        for path in [&text, &bin] {
            let mut written = Vec::new();
            write::binary(&open(path), &mut written).unwrap();
            assert!(written == expected, "{}", path.display());
        }
    }
}

#[test]
fn written_as_text_a_schedule_stays_the_same() {
    for (_, bin) in pairs() {
        let schedule = open(&bin);
        let mut text = Vec::new();
        write::text(&schedule, &mut text).unwrap();
        let (_dir, path) = crate::file(&gzip(&text));
        assert_eq!(
            contents(&open(&path)),
            contents(&schedule),
            "{}",
            bin.display()
        );
    }
}

#[test]
fn packed_binary_schedules_read_like_plain_ones() {
    for (_, bin) in pairs().into_iter().take(3) {
        let bytes = std::fs::read(&bin).unwrap();
        let expected = contents(&open(&bin));
        for packed in [gzip(&bytes), zstd::encode_all(&bytes[..], 1).unwrap()] {
            let (_dir, path) = crate::file(&packed);
            let schedule = open(&path);
            assert_eq!(schedule.form(), Form::Binary);
            assert_eq!(contents(&schedule), expected);
        }
    }
}

#[test]
fn counts_are_those_of_an_independent_search() {
    let Some(golden) = data("traces/goal/golden.tsv") else {
        return;
    };
    let folder = golden.parent().unwrap();
    let text = std::fs::read_to_string(&golden).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let mut path = folder.join(fields[0]);
        if !path.exists() {
            path = folder.join(format!("{}.gz", fields[0]));
        }
        let numbers: Vec<u64> = fields[1..8].iter().map(|n| n.parse().unwrap()).collect();
        let check = check_file(&path).unwrap();
        assert!(check.is_clean(), "{:?}", check.errors.first);
        let i = check.info;
        let ours = [
            u64::from(i.ranks),
            i.sends,
            i.recvs,
            i.calcs,
            i.requires,
            i.irequires,
            i.send_bytes,
        ];
        assert_eq!(ours[..], numbers[..], "{}", fields[0]);
        assert_eq!(Info::read(&Schedule::open(&path).unwrap()).unwrap(), i);
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}
