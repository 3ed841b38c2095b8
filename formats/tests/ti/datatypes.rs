//! Numbers of datatypes.

use flitwise_formats::ti::Datatype;

#[test]
fn sizes_are_those_of_their_types() {
    let size = |id| Datatype::of_id(id).and_then(Datatype::size);
    for (id, bytes) in [
        (0, 8),
        (1, 4),
        (6, 1),
        (14, 16),
        (16, 1),
        (20, 8),
        (24, 8),
        (26, 16),
        (29, 8),
        (37, 16),
        (41, 16),
        (49, 16),
        (51, 1),
        (54, 32),
        (57, 1),
    ] {
        assert_eq!(size(id), Some(bytes), "{id}");
    }
    assert_eq!(Datatype::of_id(-1), Some(Datatype::UNKNOWN));
    assert_eq!(Datatype::UNKNOWN.size(), None);
    assert_eq!(Datatype::of_id(58), None);
    assert_eq!(Datatype::of_id(-2), None);
    assert_eq!(Datatype::BYTE.bytes(5), 5);
}
