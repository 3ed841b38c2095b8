//! The check by itself: versions, and stopping.

use super::*;
use std::io::Write;
use std::sync::atomic::AtomicBool;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// With the bit these records would be empty messages of task 0 to itself.
#[test]
fn the_first_version_has_no_traffic_bit() {
    let body = "C0 0 1\n0 0 0 0 4 1 -1\n1 0 1 8 4 1 -1\n2 0 0 0 5 1 1\n";
    let old = check_file(file(&format!("VEF 2 3 1 0 0 0\n{body}")).path()).unwrap();
    assert!(old.is_clean(), "{:?}", old.errors);
    assert_eq!((old.markers, old.messages), (2, 1));
    let [warning] = &old.warnings[..] else {
        panic!("{:?}", old.warnings);
    };
    assert!(warning.line == 3 && warning.message.contains("ignored"));
    let new = check_file(file(&format!("VEF3 2 3 1 0 0 0 1000\n{body}")).path()).unwrap();
    assert_eq!((new.markers, new.messages), (0, 3));
}

#[test]
fn a_check_can_be_stopped() {
    let mut text = format!("VEF3 1 {ASK_EVERY} 1 0 0 0 1000\nC0 0\n");
    (0..ASK_EVERY).for_each(|id| text.push_str(&format!("{id} 0 0 0 0 1 -1\n")));
    let file = file(&text);
    let check = |stopped| {
        let flag = AtomicBool::new(stopped);
        observe(
            &mut Reader::open(file.path()).unwrap(),
            (),
            Stop::new(&flag),
        )
    };
    assert!(check(true).unwrap_err().is_stopped());
    assert!(check(false).is_ok());
}
