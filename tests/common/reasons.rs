//! Lists of what is accepted for a reason: a line `what | why` each, below comments that begin with `#`.

use std::collections::BTreeSet;
use std::path::Path;

/// Compares what was `accepted` with the list at `path`, in which each entry has a reason.
pub fn have_reasons(path: &Path, accepted: &BTreeSet<String>) {
    let listed = std::fs::read_to_string(path).unwrap();
    let listed = listed.lines().filter(|line| !line.starts_with('#'));
    let listed: BTreeSet<String> = listed
        .map(|line| {
            let (what, reason) = line.split_once(" | ").expect(line);
            assert!(!reason.trim().is_empty(), "{line}");
            what.trim().to_owned()
        })
        .collect();
    let new: Vec<_> = accepted.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(accepted).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "accepted without a reason: {new:#?}\nno longer accepted: {gone:#?}"
    );
}
