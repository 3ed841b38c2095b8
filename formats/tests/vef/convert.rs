//! Conversions keep the meaning, or say why they can't.

use crate::support::{self, Trace};
use flitwise_formats::vef::{
    Check, ConvertError, Dep, Parser, Reader, Record, Target, Version, convert,
};
use proptest::prelude::*;

fn converted(trace: &Trace, version: Version, ps_per_unit: u64) -> Result<Trace, ConvertError> {
    let file = trace.file();
    let target = Target {
        version,
        ps_per_unit,
    };
    let mut reader = Reader::open(file.path())?;
    let (_, text): (Check, _) = convert(&mut reader, target, Vec::new())?;
    std::fs::write(file.path(), text)?;
    Ok(Trace::read(file.path()))
}

/// What the records mean, whatever the version and the unit.
fn meaning(trace: &Trace) -> Vec<(Record, u128, bool)> {
    let unit = u128::from(trace.header.ps_per_unit);
    let one = |record: &Record| {
        let ps = u128::from(record.time()) * unit;
        let marker = matches!(record, Record::Message(m) if m.is_marker());
        let mut bare = *record;
        let (dep, time) = match &mut bare {
            Record::Message(m) => (&mut m.dep, &mut m.time),
            Record::Member(m) => (&mut m.dep, &mut m.time),
        };
        (*dep, *time) = (Dep(dep.0 & 3), 0);
        (bare, ps, marker)
    };
    trace.records.iter().map(one).collect()
}

proptest! {
    #[test]
    fn converting_keeps_the_meaning(
        seed in any::<u64>(),
        tasks in 1u32..7,
        unit in prop::sample::select(vec![1u64, 8, 100, 1000]),
    ) {
        let trace = support::generate(seed, tasks, 150);
        let same = converted(&trace, Version::Vef3, 1000).unwrap();
        prop_assert_eq!(same.text(), trace.text());
        let fine = converted(&trace, Version::Vef3, unit).unwrap();
        prop_assert_eq!(fine.header.ps_per_unit, unit);
        prop_assert_eq!(meaning(&fine), meaning(&trace));
        prop_assert_eq!(converted(&fine, Version::Vef3, 1000).unwrap().text(), trace.text());
        // The generator gives no empty messages of a task to itself.
        let old = converted(&trace, Version::Vef, 1000).unwrap();
        prop_assert_eq!(old.header.version, Version::Vef);
        prop_assert_eq!(meaning(&old), meaning(&trace));
        let back = converted(&old, Version::Vef3, 1000).unwrap();
        prop_assert_eq!(meaning(&back), meaning(&trace));
        for record in &back.records {
            if let Record::Message(m) = record {
                prop_assert_eq!(m.dep.traffic(), !m.is_marker());
            }
        }
    }
}

fn trace(text: &str) -> Trace {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    Trace::read(file.path())
}

#[test]
fn what_the_target_cannot_hold_is_refused_by_line() {
    let t = trace("VEF3 2 3 1 0 0 0 1000\nC0 0 1\n0 0 0 0 0 7 -1\n1 0 0 0 5 8 0\n2 0 1 8 5 9 1\n");
    let refused = |version, unit| match converted(&t, version, unit) {
        Err(ConvertError::Inexpressible { line, what }) => (line, what),
        other => panic!("{other:?}"),
    };
    let (line, what) = refused(Version::Vef, 1000);
    assert!(line == 4 && what.contains("marker"), "{line} {what}");
    let (line, what) = refused(Version::Vef3, 2000);
    assert!(
        line == 3 && what.contains("7000 ps is no whole number"),
        "{what}"
    );
    let (line, what) = refused(Version::Vef, 1);
    assert!(line == 0 && what.contains("nanoseconds"), "{what}");
    assert_eq!(refused(Version::Vef3, 0).0, 0);

    let long = trace("VEF3 1 1 1 0 0 0 1000\nC0 0\n0 0 0 0 0 18446744073709551 -1\n");
    let fine = converted(&long, Version::Vef3, 1).unwrap();
    assert_eq!(fine.records[0].time(), 18_446_744_073_709_551_000);
}

#[test]
fn broken_traces_are_not_converted() {
    let mut t = support::generate(5, 3, 60);
    t.records.pop();
    match converted(&t, Version::Vef3, 1000) {
        Err(ConvertError::Broken(check)) => assert!(!check.is_clean()),
        other => panic!("{other:?}"),
    }
    // Also where the text ends in the middle.
    let mut text = support::generate(5, 3, 60).text();
    text.truncate(text.len() - 3);
    assert!(Parser::new().next(&text, true).is_ok());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let target = Target {
        version: Version::Vef3,
        ps_per_unit: 1000,
    };
    let error = convert(&mut Reader::open(file.path()).unwrap(), target, Vec::new());
    assert!(matches!(error, Err(ConvertError::Broken(_))));
}
