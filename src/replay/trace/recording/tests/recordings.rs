//! Recordings that the recorder made of programs with Open MPI and MPICH.

use super::*;
use crate::convert::{Form, convert, to_dumpi};
use std::path::PathBuf;

/// The recordings of the repository and of the folder that `FLITWISE_RECORDINGS` names.
fn recordings() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces/recordings");
    let named = std::env::var_os("FLITWISE_RECORDINGS").map(PathBuf::from);
    let mut found = Vec::new();
    for folder in [Some(own), named].into_iter().flatten() {
        let entries = std::fs::read_dir(&folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        found.extend(paths.filter(|path| flitwise_formats::recording::Set::is_directory(path)));
    }
    found.sort();
    found
}

/// A DUMPI trace of the same calls becomes the same VEF3; what MPI-2 lacks is refused by name.
fn as_dumpi(file: &dyn TraceFile, path: &Path, reading: &Reading) {
    let mut dumpi = Vec::new();
    if let Err(e) = to_dumpi(file, path, reading, &mut dumpi) {
        let why = format!("{e:#}");
        assert!(why.contains("MPI-2"), "{why}");
        return println!("{why}");
    }
    let dir = tempfile::tempdir().unwrap();
    let tar = dir.path().join("same.tar");
    std::fs::write(&tar, dumpi).unwrap();
    let again = check_file(&tar, Stop::never()).unwrap();
    let vef = |file: &dyn TraceFile| {
        let mut vef = Vec::new();
        convert(file, path, reading, Form::Vef3, &mut vef).unwrap();
        String::from_utf8(vef).unwrap()
    };
    assert_eq!(vef(&*again), vef(file), "{}", path.display());
}

#[test]
fn ranks_agree_and_all_forms_are_written() {
    for path in recordings() {
        let shown = path.display();
        let name = path.file_name().unwrap().to_string_lossy();
        // Ranks of a killed program end at different places.
        let is_cut = ["killed", "ends"].iter().any(|kind| name.contains(kind));
        let file = match check_file(&path, Stop::never()) {
            Ok(file) => file,
            Err(e) if is_cut => {
                println!("{shown}: {e:#}");
                continue;
            }
            Err(e) => panic!("{shown}: {e:#}"),
        };
        println!("{shown}: {:?} {:?}", file.remarks(), file.unsupported());
        let reading = Reading {
            skip_unsupported: true,
            allow_no_communication: true,
            ..Reading::default()
        };
        assert!(
            is_cut || file.doubts().is_none(),
            "{shown}: {:?}",
            file.doubts()
        );
        let ops: usize = (0..file.ranks())
            .map(|rank| operations(&*file, rank, &reading).len())
            .sum();
        assert!(ops > 0, "{shown}");
        if !is_cut {
            as_dumpi(&*file, &path, &reading);
        }
        for form in [Form::Vef3, Form::Goal, Form::Ti] {
            let written = convert(&*file, &path, &reading, form, &mut Vec::new());
            match written {
                Ok(written) => assert_eq!(written.ranks, file.ranks(), "{shown}"),
                Err(e) => assert!(is_cut, "{shown} as {form:?}: {e:#}"),
            }
        }
    }
}
