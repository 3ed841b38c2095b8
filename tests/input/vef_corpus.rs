//! Broken traces: each is refused with the file, the line and the cause, and none
//! panics, hangs or takes memory without bound.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::bless;
use flitwise::replay::trace::vef::VefProgram;

fn corpus() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/vef"))
}

#[test]
fn every_file_gives_its_message() {
    let table = std::fs::read_to_string(corpus().join("EXPECTED.tsv")).unwrap();
    let mut listed = BTreeSet::from(["EXPECTED.tsv".to_owned()]);
    let (mut wrong, mut blessed) = (Vec::new(), String::new());
    for row in table.lines() {
        if row.starts_with('#') {
            blessed.push_str(&format!("{row}\n"));
            continue;
        }
        let [name, line, part] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {row}");
        };
        listed.insert(name.to_owned());
        let path = corpus().join(name);
        let found = match VefProgram::open(&path) {
            Ok(_) => String::new(),
            Err(e) => e.to_string(),
        };
        let place = match line {
            "0" => path.display().to_string(),
            _ => format!("{}:{line}: ", path.display()),
        };
        let ok = match part {
            "" => found.is_empty(),
            _ => found.starts_with(&place) && found.lines().any(|l| l.contains(part)),
        };
        let (line_now, part_now) = if ok {
            (line.to_owned(), part.to_owned())
        } else {
            place_and_part(&path, &found, part)
        };
        blessed.push_str(&format!("{name}\t{line_now}\t{part_now}\n"));
        if !ok {
            wrong.push(format!(
                "{name}: expected line {line} `{part}`, found `{found}`"
            ));
        }
    }
    if bless::is_on() {
        bless::write(&corpus().join("EXPECTED.tsv"), &blessed);
        wrong.clear();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let present = std::fs::read_dir(corpus()).unwrap();
    let present: BTreeSet<String> = present
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(present, listed);
}

/// The line and the part that the table should have for an error.
fn place_and_part(path: &Path, error: &str, part: &str) -> (String, String) {
    let rest = error.strip_prefix(&format!("{}:", path.display()));
    let place = rest.and_then(|rest| rest.split_once(": "));
    let place = place.filter(|(line, _)| line.parse::<u64>().is_ok());
    let (line, message) = place.unwrap_or(("0", error));
    let part = match part {
        "" => message.lines().next(),
        _ => bless::nearest(message, part),
    };
    (line.to_owned(), part.unwrap_or_default().to_owned())
}

/// A sparse file stands for the line of 10 GB: no reader goes past the cap.
#[test]
fn an_overlong_line_is_refused_without_reading_it() {
    let heads: [(&str, usize); 4] = [
        ("", 1),
        ("VEF3 ", 1),
        ("VEF3 1 1 1 0 0 0 1000\nC0 ", 2),
        ("VEF3 1 1 1 0 0 0 1000\nC0 0\n0 0 0 ", 3),
    ];
    for (head, line) in heads {
        let mut f = tempfile::NamedTempFile::new().unwrap();
        f.write_all(head.as_bytes()).unwrap();
        f.as_file().set_len(10 << 30).unwrap();
        let start = Instant::now();
        let text = VefProgram::open(f.path()).unwrap_err().to_string();
        // A file of zero bytes has no lines.
        let place = match head {
            "" => format!("{}: binary data", f.path().display()),
            _ => format!("{}:{line}: ", f.path().display()),
        };
        assert!(text.starts_with(&place), "{text}");
        assert!(start.elapsed() < Duration::from_secs(5));
    }
    // The same in digits and spaces, which parse further than zero bytes.
    let mut f = tempfile::NamedTempFile::new().unwrap();
    f.write_all(b"VEF3 1 1 1 0 0 0 1000\nC0").unwrap();
    f.write_all(&b" 0".repeat(6_000_000)).unwrap();
    let text = VefProgram::open(f.path()).unwrap_err().to_string();
    assert!(text.contains("longer than any valid one"), "{text}");
}

#[test]
fn claims_of_a_header_take_no_memory() {
    let mut f = tempfile::NamedTempFile::new().unwrap();
    let max = u64::MAX;
    write!(
        f,
        "VEF3 1048576 {max} 1048576 {max} {max} 0 {max}\nC0 0\n0 0 0 0 0 0 -1\n"
    )
    .unwrap();
    let text = VefProgram::open(f.path()).unwrap_err().to_string();
    assert!(text.contains("1048576 communicators"), "{text}");
}
