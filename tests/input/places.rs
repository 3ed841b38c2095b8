//! Places in files and the problems found there.

use flitwise::formats::limits::MAX_PROBLEMS;
use flitwise::formats::{PlaceError, Problem, Problems};
use std::path::Path;
use std::sync::Arc;

#[test]
fn problems_name_file_and_place() {
    let path: Arc<Path> = Path::new("a.goal").into();
    let shown = |e: PlaceError| e.of(&path).to_string();
    assert_eq!(shown(PlaceError::line(3, "no")), "a.goal:3: no");
    assert_eq!(shown(PlaceError::byte(8, "no")), "a.goal: byte 8: no");
    assert_eq!(Problem::whole(&path, "no").to_string(), "a.goal: no");
}

#[test]
fn problems_beyond_the_first_are_only_counted() {
    let path: Arc<Path> = Path::new("a").into();
    let mut problems = Problems::default();
    for _ in 0..1000 {
        problems.add(|| Problem::whole(&path, "no"));
    }
    let kept = problems.first.len();
    assert_eq!((kept, problems.total), (MAX_PROBLEMS, 1000));
}
