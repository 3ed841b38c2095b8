//! The check: versions, and stopping; and headers that announce something else.

use flitwise_base::stop::Stop;
use flitwise_formats::Place;
use flitwise_formats::vef::check::ASK_EVERY;
use flitwise_formats::vef::{Header, Reader, Version, Writer, check_file, observe};
use std::io;
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
    let [warning] = &old.warnings.first[..] else {
        panic!("{:?}", old.warnings);
    };
    assert!(warning.place == Some(Place::Line(3)) && warning.message.contains("ignored"));
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

#[test]
fn a_header_that_announces_something_else_is_refused() {
    let header = Header {
        version: Version::Vef3,
        tasks: 1,
        messages: 1,
        comms: 0,
        collectives: 0,
        members: 0,
        only_send_deps: false,
        ps_per_unit: 1000,
    };
    let writer = Writer::new(Vec::new(), &header, &[]).unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.to_string().contains("announces 1 messages, but 0"));
}
