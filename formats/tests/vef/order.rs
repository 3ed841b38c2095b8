//! What the check holds for startable: the least that a record must wait for, whatever
//! algorithm a collective is replayed with.

use std::io::Write;

use flitwise_formats::vef::{Check, check_file};

/// Two tasks, one message and one collective; `body` has the four or so records.
fn check(body: &str) -> Check {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let lines = body.lines().count() - 2;
    write!(file, "VEF3 2 {lines} 1 1 2 0 1000\nC0 0 1\n{body}").unwrap();
    check_file(file.path()).unwrap()
}

/// Task 0 enters the collective and sends when it is complete; task 1 enters it only
/// when it has received that message.
fn zero_leaves_before_one_enters(op: u32, zero: &str, one: &str) -> Check {
    check(&format!(
        "G0 C0 {op} 0 {zero} 0 1 -1\n0 0 1 8 7 1 G0\n1 1 1 0 0 1 -1\nG0 C0 {op} 1 {one} 2 1 0\n"
    ))
}

#[test]
fn the_root_of_a_bcast_or_scatter_need_not_wait() {
    assert!(zero_leaves_before_one_enters(0, "8 0", "0 8").is_clean());
    assert!(zero_leaves_before_one_enters(4, "8 4", "0 4").is_clean());
}

#[test]
fn others_wait_for_the_root_of_a_bcast_or_scatter() {
    assert!(!zero_leaves_before_one_enters(0, "0 8", "8 0").is_clean());
    assert!(!zero_leaves_before_one_enters(4, "0 4", "8 4").is_clean());
}

#[test]
fn others_need_not_wait_for_the_root_of_a_reduce_or_gather() {
    assert!(zero_leaves_before_one_enters(1, "8 0", "0 8").is_clean());
    assert!(zero_leaves_before_one_enters(3, "4 0", "4 8").is_clean());
}

#[test]
fn the_root_of_a_reduce_or_gather_waits_for_all() {
    assert!(!zero_leaves_before_one_enters(1, "0 8", "8 0").is_clean());
    assert!(!zero_leaves_before_one_enters(3, "4 8", "4 0").is_clean());
}

#[test]
fn everybody_waits_for_all_elsewhere() {
    for (op, sizes) in [(2, "8 8"), (5, "4 8"), (6, "0 0"), (7, "8 0")] {
        let c = zero_leaves_before_one_enters(op, sizes, sizes);
        assert!(
            c.errors.first[0].message.contains("dependency cycle"),
            "{c:?}"
        );
    }
}

#[test]
fn a_dependency_may_stand_before_its_message() {
    let c = check(
        "1 1 1 0 0 1 -1\nG0 C0 6 1 0 0 2 1 0\n0 0 1 8 4 1 -1\nG0 C0 6 0 0 0 1 1 0\n2 1 1 0 3 1 G0\n",
    );
    assert!(c.is_clean(), "{:?}", c.errors);
    assert_eq!(c.max_waiting, 1);
}

#[test]
fn errors_are_counted_beyond_those_kept() {
    let mut body = "G0 C0 6 0 0 0 0 1 -1\nG0 C0 6 1 0 0 0 1 -1\n".to_owned();
    for id in 0..250 {
        body.push_str(&format!("{id} 0 0 0 9 1 -1\n"));
    }
    let c = check(&body);
    assert_eq!((c.errors.first.len(), c.errors.total), (100, 250));
}

#[test]
fn zero_sizes_warn_once() {
    let c = zero_leaves_before_one_enters(0, "0 0", "0 0");
    assert!(c.is_clean());
    assert_eq!(c.warnings.total, 1);
    assert!(c.warnings.first[0].message.contains("first member"));
}
