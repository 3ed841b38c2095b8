//! Operations, and the names that they carry.

use flitwise::replay::program::{Label, Op, Place};

#[test]
fn an_operation_is_small() {
    // Traces that are kept in memory are lists of them.
    assert!(size_of::<Op>() <= 80, "{}", size_of::<Op>());
}

#[test]
fn places_name_lines_or_bytes() {
    assert_eq!(Place::line(7).to_string(), "line 7");
    assert_eq!(Place::byte(7).to_string(), "byte 7");
}

#[test]
fn labels_keep_their_number() {
    let number = |n| Label::new(n).map(Label::get);
    assert_eq!(number(0), Some(0));
    assert_eq!(number(u64::MAX - 1), Some(u64::MAX - 1));
    assert_eq!(number(u64::MAX), None);
}
