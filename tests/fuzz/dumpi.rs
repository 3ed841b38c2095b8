//! What holds for every input that is read as DUMPI: one function per fuzz target, as in `properties.rs`.
#![allow(dead_code, reason = "each target uses one of them")]

use std::io::Write;
use std::path::Path;

use flitwise_formats::dumpi::{Call, Check, Layout, Parser, Set, Step, Version, check};

/// In pieces of any size a file parses to the same calls and the same error, in whatever version.
pub fn dumpi_parser(data: &[u8]) {
    let minor = if data.len().is_multiple_of(4) { 0 } else { 1 };
    let layout = Layout::of(Version(minor, 6, (data.len() % 10) as u8));
    let whole = parse(data, layout, data.len().max(1));
    let pieces = parse(data, layout, 1 + data.len() % 13);
    assert_eq!(whole, pieces, "pieces differ");
}

/// The steps of a file as texts and the error that ends it, fed in pieces of `size` bytes.
fn parse(data: &[u8], layout: Layout, size: usize) -> (Vec<String>, Option<String>) {
    let mut parser = Parser::new(layout);
    let mut steps = Vec::new();
    let (mut start, mut end) = (0, 0);
    loop {
        let step = match parser.next(&data[start..end], end == data.len()) {
            Ok(step) => step,
            Err(e) => {
                assert!(e.offset <= data.len() as u64, "{e}");
                return (steps, Some(e.to_string()));
            }
        };
        let consumed = match &step {
            Step::NeedMore { bytes } => {
                assert!(end < data.len(), "asks for more at the end");
                assert!(*bytes > end - start, "asks for what is there");
                end = (end + size).min(data.len());
                continue;
            }
            Step::Call { consumed, record } => {
                roles(&record.call);
                *consumed
            }
            Step::Start { consumed }
            | Step::EndOfCalls { consumed }
            | Step::Trailer { consumed, .. } => *consumed,
            _ => return (steps, None),
        };
        assert!(consumed > 0 && consumed <= end - start);
        start += consumed;
        assert_eq!(parser.offset(), start as u64);
        steps.push(format!("{step:?}"));
    }
}

/// What a call is to others may be asked of every call.
fn roles(call: &Call<'_>) {
    assert!(!call.function().name().is_empty());
    let (mut buffers, mut requests) = (0, 0);
    call.buffers(&mut |_, _| buffers += 1);
    call.used_requests(&mut |_| requests += 1);
    let message = call.sent().is_some() || call.received().is_some();
    assert!(!message || (buffers > 0 && call.comm().is_some()));
    assert!(requests == 0 || call.made_request().is_none());
}

/// A file that is given as a trace, and one that is the only file of a trace, get a verdict; packed, the latter gets
/// the same. What checks clean can be summarised.
pub fn dumpi_set(data: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("given");
    std::fs::write(&path, data).unwrap();
    judge(&path);

    let (plain, packed) = (dir.path().join("plain"), dir.path().join("packed"));
    for dir in [&plain, &packed] {
        std::fs::create_dir(dir).unwrap();
    }
    std::fs::write(plain.join("a-0000.bin"), data).unwrap();
    let verdict = judge(&plain);
    // Packed twice is not unpacked twice.
    let encoding = flitwise_formats::source::Encoding::of(data);
    if encoding == flitwise_formats::source::Encoding::Plain {
        let level = flate2::Compression::fast();
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), level);
        packer.write_all(data).unwrap();
        std::fs::write(packed.join("a-0000.bin"), packer.finish().unwrap()).unwrap();
        assert_eq!(verdict, judge(&packed), "packed differs");
    }
}

/// The verdict of the check, if there is a trace; its paths are relative to the directory.
fn judge(path: &Path) -> Option<Check> {
    let set = match Set::open(path) {
        Ok(set) => set,
        Err(e) => {
            assert!(
                e.to_string().starts_with(&path.display().to_string()),
                "{e}"
            );
            return None;
        }
    };
    // A file that can't be unpacked is no verdict.
    let mut check = check(&set).ok()?;
    assert_eq!(check.is_clean(), check.errors.first.is_empty());
    let warnings = &mut check.warnings.first;
    for problem in check.errors.first.iter_mut().chain(warnings) {
        let is_of = |rank| {
            let is_named = problem.message.starts_with(&format!("rank {rank}"));
            is_named && set.file(rank) == Some(&*problem.path)
        };
        assert!((0..set.ranks()).any(is_of), "{problem}");
        problem.path = Path::new(problem.path.file_name().unwrap()).into();
    }
    if check.is_clean() {
        let by_function: u64 = check.calls().map(|(_, n)| n).sum();
        assert_eq!(by_function, check.total(|rank| rank.calls));
    }
    Some(check)
}
