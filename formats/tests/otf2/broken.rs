//! Archives that are refused, with the reason.

use super::corpus;
use super::properties;
use super::write::{COMPRESSION, Order, Packed, SUBSTRATE, rewritten};
use flitwise_formats::otf2::{Archive, check};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A copy of an archive of the corpus.
fn copy(name: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join(name);
    rewritten(&corpus(name), &to, Order::Little, Packed::Plain);
    (dir, to)
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    change(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

/// The message of an archive that can't be opened, or the first error of its check.
fn refusal(path: &Path) -> String {
    match Archive::open(path) {
        Err(e) => e.to_string(),
        Ok(archive) => match check(&archive) {
            Err(e) => e.to_string(),
            Ok(check) => check.errors.first.first().expect("an error").to_string(),
        },
    }
}

#[track_caller]
fn says(path: &Path, parts: &[&str]) {
    let message = refusal(path);
    for part in parts {
        assert!(message.contains(part), "no `{part}` in: {message}");
    }
}

#[test]
fn lost_receives_and_ends_are_named() {
    let archive = Archive::open(corpus("lost")).unwrap();
    let check = check(&archive).unwrap();
    let messages: Vec<String> = check.errors.first.iter().map(ToString::to_string).collect();
    let all = messages.join("\n");
    assert!(
        all.contains("rank 1: begins 1 collectives that do not end"),
        "{all}"
    );
    assert!(
        all.contains(
            "receives are missing: 1 messages are sent, but 0 are received, and 1 receives are posted and never completed; the \
             recorder `EZTrace` lost them"
        ),
        "{all}"
    );
}

#[test]
fn recordings_that_ended_early_are_named() {
    let (_dir, archive) = copy("stencil");
    let anchor = archive.join("traces.otf2");
    let whole = std::fs::read(&anchor).unwrap();
    std::fs::remove_file(&anchor).unwrap();
    assert!(Archive::is_directory(&archive));
    says(&archive, &["no anchor file", "the recording ended early"]);

    std::fs::write(&anchor, &whole[..40]).unwrap();
    says(&archive, &["the anchor file is cut short"]);
    std::fs::write(&anchor, &whole).unwrap();

    let events = archive.join("traces/3.evt");
    let bytes = std::fs::read(&events).unwrap();
    std::fs::write(&events, &bytes[..bytes.len() - 2]).unwrap();
    says(
        &archive,
        &["3.evt: byte 1147", "without its end mark", "ended early"],
    );
    // A chunk is padded, and no other follows.
    change(&events, |bytes| bytes.resize(1 << 20, 0));
    says(&archive, &["3.evt: byte 1048576", "ended early"]);
    std::fs::remove_file(&events).unwrap();
    says(&archive, &["lacks", "3.evt", "copy all files"]);
    std::fs::write(&events, &bytes).unwrap();

    std::fs::remove_file(archive.join("traces.def")).unwrap();
    says(&archive, &["traces.def", "No such file"]);
}

#[test]
fn other_substrates_are_named() {
    let (_dir, archive) = copy("stencil");
    let anchor = archive.join("traces.otf2");
    change(&anchor, |bytes| bytes[SUBSTRATE] = 2);
    says(&archive, &["SIONlib", "one file per location"]);
    change(&anchor, |bytes| bytes[SUBSTRATE] = 3);
    says(&archive, &["no events were written"]);
    change(&anchor, |bytes| bytes[SUBSTRATE] = 9);
    says(&archive, &["unknown kind 9"]);
    change(&anchor, |bytes| {
        (bytes[SUBSTRATE], bytes[COMPRESSION]) = (1, 7)
    });
    says(&archive, &["unknown way 7"]);
    change(&anchor, |bytes| bytes[COMPRESSION] = 2);
    says(&archive, &["traces.def: the zlib data are damaged"]);
}

#[test]
fn missing_events_are_named() {
    let (_dir, archive) = copy("stencil");
    // The last record and its time stamp, before the end mark.
    change(&archive.join("traces/0.evt"), |bytes| {
        let end = bytes.len() - 2 - 11;
        bytes.drain(end..end + 11);
    });
    says(&archive, &["0.evt: rank 0: has 83 of 84 events"]);
}

#[test]
fn no_byte_makes_a_panic() {
    for name in ["calls", "mapped", "stencil"] {
        for part in ["traces.otf2", "traces.def", "traces/1.evt", "traces/2.def"] {
            let bytes = std::fs::read(corpus(name).join(part)).unwrap_or_default();
            let (_dir, archive) = copy(name);
            let step = 1 + bytes.len() / 50;
            for at in (0..bytes.len()).step_by(step) {
                for value in [0, 2, 6, 0x7f, 0xff] {
                    let mut changed = bytes.clone();
                    changed[at] = value;
                    std::fs::write(archive.join(part), &changed).unwrap();
                    properties::walk(&archive);
                }
                std::fs::write(archive.join(part), &bytes[..at]).unwrap();
                properties::walk(&archive);
            }
            std::fs::write(archive.join(part), &bytes).unwrap();
        }
    }
}

#[test]
fn kept_inputs_hold_the_properties() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus/otf2_archive");
    let files = std::fs::read_dir(corpus).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 10, "{} files", files.len());
    for file in files {
        println!("{}", file.display());
        properties::otf2_archive(&std::fs::read(&file).unwrap());
    }
}
