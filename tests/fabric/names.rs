//! The names that operators give the parts of a fabric.

use flitwise::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use flitwise::fabric::topology::{Names, NicName, SwitchName};

fn names() -> Names {
    let nic = |name: &str, guid, port, lid| NicName {
        name: name.to_owned(),
        guid,
        port,
        lid,
    };
    let switch = |name: &str, guid| SwitchName {
        name: name.to_owned(),
        guid,
        lid: None,
    };
    Names::new(
        vec![switch("leaf", 0x20), switch("leaf", 0x21), switch("", 0x22)],
        vec![
            nic("n1 HCA-1", 0x10, 1, 5),
            nic("n2 HCA-1", 0x11, 1, 6),
            nic("n2 HCA-1", 0x11, 2, 7),
            nic("twin", 0x12, 1, 8),
            nic("twin", 0x13, 1, 9),
        ],
    )
}

#[test]
fn labels_tell_all_apart() {
    let names = names();
    let switches = [0, 1, 2].map(|at| names.switch_label(SwitchId::new(at)));
    assert_eq!(switches, ["leaf (0x20)", "leaf (0x21)", "0x22"]);
    let nics = [0, 1, 2, 3, 4].map(|at| names.nic_label(NicId::new(at)));
    let expected = [
        "n1 HCA-1",
        "n2 HCA-1 port 1",
        "n2 HCA-1 port 2",
        "twin (0x12)",
        "twin (0x13)",
    ];
    assert_eq!(nics, expected);
    let at = SwitchPort::new(SwitchId::new(2), PortId::new(4));
    assert_eq!(names.end_label(at.into()), "0x22 port 5");
    assert_eq!(names.end_guid(at.into()).unwrap(), "0x0000000000000022");
}

#[test]
fn nics_are_found_by_all_their_names() {
    let names = names();
    let found = |text| names.find(text).map(NicId::get);
    for (text, nic) in [
        ("n1", 0),
        ("n1 HCA-1", 0),
        ("0x10", 0),
        ("lid 6", 1),
        ("lid7", 2),
        ("n2 HCA-1 port 2", 2),
        (" twin (0x13)", 4),
    ] {
        assert_eq!(found(text), Ok(nic), "{text}");
    }
    let error = |text| found(text).unwrap_err();
    assert!(
        error("n2").contains("2 ports are called `n2`"),
        "{}",
        error("n2")
    );
    assert!(error("twin").contains("twin (0x12), twin (0x13)"));
    assert!(error("twin (0x14)").contains("did you mean `twin (0x12)`?"));
    for text in ["", "n7 other", "0x99", "lid 99", "lid", "5"] {
        assert!(error(text).contains("no host is called"), "{text}");
    }
}
