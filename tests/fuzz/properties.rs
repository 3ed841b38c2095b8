//! What holds for every input, however broken: one function per fuzz target. The fuzzer
//! calls them with inputs of its own, `tests/input/fuzz_corpus.rs` with those that are kept.
//! docs/evidence/fuzzing.md states each property in a sentence.
#![allow(dead_code, reason = "each target uses one of them")]

use std::io::Write;
use std::path::Path;

use flitwise::config::{dtable_text, experiment_json, resolve_text};
use flitwise::fabric::analysis::channels::ChannelGraph;
use flitwise::fabric::analysis::routes::RouteAnalysis;
use flitwise::results::DTableReport;
use flitwise::run::{Control, Status, run_plan};
use flitwise::units::{BufferPart, Bytes, CostPerByte, Latency, Picoseconds, Rate, Ratio};
use flitwise_formats::PlaceError;
use flitwise_formats::infiniband::{Discovery, Forwarding, VlTables};
use flitwise_formats::vef::{Check, Info, Parser, Reader, Record, Step, check_file, write};
use tempfile::NamedTempFile;

/// In pieces of any size a trace parses to the same records and the same error, and what
/// was parsed can be written and parsed again.
pub fn vef_parser(data: &[u8]) {
    let (whole, error) = parse(data, data.len().max(1));
    let pieces = parse(data, 1 + data.len() % 13);
    assert_eq!((&whole, &error), (&pieces.0, &pieces.1), "pieces differ");

    let written = written(&whole);
    let (again, _) = parse(&written, written.len().max(1));
    assert_eq!(whole, again, "written and read again");
}

/// The lines of a trace and the error that ends it, fed in pieces of `size` bytes.
fn parse(data: &[u8], size: usize) -> (Vec<Step>, Option<PlaceError>) {
    let mut parser = Parser::new();
    let mut steps = Vec::new();
    let (mut start, mut end) = (0, 0);
    loop {
        let mut step = match parser.next(&data[start..end], end == data.len()) {
            Ok(step) => step,
            Err(e) => {
                assert!(!e.to_string().is_empty() && e.place.number() > 0);
                return (steps, Some(e));
            }
        };
        match &mut step {
            Step::NeedMore => {
                assert!(end < data.len(), "asks for more at the end");
                end = (end + size).min(data.len());
                continue;
            }
            Step::End => return (steps, None),
            Step::Header { consumed, .. }
            | Step::Comm { consumed, .. }
            | Step::Record { consumed, .. } => {
                start += std::mem::take(consumed);
                assert_eq!(data[start - 1], b'\n', "a line ends with a line feed");
                end = end.max(start);
            }
        }
        steps.push(step);
    }
}

fn written(steps: &[Step]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut comms = 0;
    for step in steps {
        match step {
            Step::Header { header, .. } => write::header(&mut out, header).unwrap(),
            Step::Comm { comm, .. } => {
                write::comm(&mut out, comms, comm).unwrap();
                comms += 1;
            }
            Step::Record { record, .. } => write::record(&mut out, record).unwrap(),
            Step::NeedMore | Step::End => {}
        }
    }
    out
}

/// A file is read to its end or to one error, whatever its container; packed as gzip (one
/// member or two) or zstd it gives the records and the error of the plain file.
pub fn vef_container(data: &[u8]) {
    let mut file = NamedTempFile::new().unwrap();
    let plain = read(&mut file, data);
    // Packed twice is not unpacked twice: the records of a packed file are not text.
    if is_packed(data) {
        return;
    }
    let gzip = |bytes: &[u8]| {
        let level = flate2::Compression::fast();
        let mut out = flate2::write::GzEncoder::new(Vec::new(), level);
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let (first, second) = data.split_at(data.len() / 2);
    let packed = match data.len() % 3 {
        0 => gzip(data),
        1 => [gzip(first), gzip(second)].concat(),
        _ => zstd::encode_all(data, 1).unwrap(),
    };
    assert_eq!(plain, read(&mut file, &packed), "packed differs");
}

fn is_packed(data: &[u8]) -> bool {
    flitwise_formats::source::Encoding::of(data) != flitwise_formats::source::Encoding::Plain
}

/// Number of records, the last of them, and the error.
fn read(file: &mut NamedTempFile, data: &[u8]) -> (u64, Option<(u64, Record)>, Option<String>) {
    fill(file, data);
    let (mut count, mut last) = (0, None);
    let reader = match Reader::open(file.path()) {
        Ok(reader) => reader,
        Err(e) => return (count, last, Some(e.to_string())),
    };
    for item in reader {
        match item {
            Ok(record) => last = Some(record),
            Err(e) => return (count, last, Some(e.to_string())),
        }
        count += 1;
    }
    (count, last, None)
}

pub fn fill(file: &mut NamedTempFile, data: &[u8]) {
    // A new file under the same name: the old one may still be mapped or read.
    let path = file.path().to_owned();
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, data).unwrap();
}

/// A check gives a verdict on every file: an error names its line, and what is clean can
/// be summarised and replayed to its end.
pub fn trace_check(data: &[u8]) {
    let mut file = NamedTempFile::with_suffix(".vef").unwrap();
    fill(&mut file, data);
    let Ok(check) = check_file(file.path()) else {
        return;
    };
    assert_eq!(check.is_clean(), check.errors.first.is_empty());
    for problem in check.errors.first.iter().chain(&check.warnings.first) {
        let line = problem.place.unwrap().number();
        assert!(line > 0 && !problem.message.is_empty(), "{problem}");
    }
    if check.is_clean() {
        let info = Info::read(file.path()).unwrap();
        assert_eq!(info.traffic.messages, check.messages);
        assert_eq!(info.records, check.records.iter().sum::<u64>());
        if is_small(file.path(), &check) {
            let status = replay(file.path(), check.header.tasks);
            assert!(status == Status::Complete || relies_on_a_root(file.path()));
        }
    }
}

/// True if a replay takes milliseconds.
pub fn is_small(path: &Path, check: &Check) -> bool {
    let mut bytes = check.bytes;
    for item in Reader::open(path).unwrap() {
        if let (_, Record::Member(m)) = item.unwrap() {
            bytes = bytes.saturating_add(m.send).saturating_add(m.recv);
        }
    }
    check.header.tasks <= 8 && bytes <= 4096
}

fn replay(path: &Path, tasks: u32) -> Status {
    let text = format!(
        "[fabric]\ntopology = {{ kind = \"single\", nics = {} }}\n\
         [[job]]\ntrace = {:?}\n[baseline]\nenabled = false\n",
        tasks.max(2),
        path.display().to_string(),
    );
    let plan = resolve_text("replay.toml", &text, Path::new(""), &[]).unwrap();
    run_plan(&plan, &Control::default(), 1).unwrap().main.status
}

/// True if a member enters a collective with a root only after another one has completed it, so that an
/// algorithm in which the other one needs it stalls: the trace is broken with barriers in the place of
/// these collectives.
fn relies_on_a_root(path: &Path) -> bool {
    let mut reader = Reader::open(path).unwrap();
    let mut text = Vec::new();
    write::header(&mut text, reader.header()).unwrap();
    for (k, comm) in (0..).zip(reader.comms()) {
        write::comm(&mut text, k, comm).unwrap();
    }
    while let Some((_, mut record)) = reader.next_record().unwrap() {
        if let Record::Member(m) = &mut record
            && [0, 1, 3, 4].contains(&m.op)
        {
            (m.op, m.send, m.recv) = (6, 0, 0);
        }
        write::record(&mut text, &record).unwrap();
    }
    let mut file = NamedTempFile::with_suffix(".vef").unwrap();
    fill(&mut file, &text);
    !check_file(file.path()).unwrap().is_clean()
}

/// An experiment file is resolved to the same plan every time, or refused with one message.
/// Lines `# set: a.b=c` are overrides.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // A baseline file could be any file of the machine, also one that never ends.
    if text.contains("file") {
        return;
    }
    let sets = sets_of(text);
    let resolve = || resolve_text("fuzz.toml", text, Path::new("/nonexistent"), &sets);
    match (resolve(), resolve()) {
        (Ok(plan), Ok(again)) => {
            let json = experiment_json(&plan.experiment);
            assert_eq!(json, experiment_json(&again.experiment));
            assert_eq!(plan.baselines.len(), again.baselines.len());
            plan.experiment.fabric.validate().unwrap();
        }
        (Err(error), Err(again)) => {
            assert_eq!(error, again);
            assert!(!error.problem.is_empty());
            assert!(error.location.is_some() || !error.key.is_empty(), "{error}");
        }
        _ => panic!("accepted once and refused once"),
    }
}

/// Between the dumps of one fabric: `ibnetdiscover`, forwarding tables, SL-to-VL tables.
const NEXT_DUMP: &str = "=====\n";

/// A dump reads the same below an empty line, and the line of its error is one further. The
/// dumps of a fabric together are refused with the line of the first error, or give a fabric
/// with all their switches and ports, in which every pair has a route.
pub fn infiniband_dumps(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.splitn(3, NEXT_DUMP);
    let cables = parts.next().unwrap_or("");
    let tables = parts.next().unwrap_or("");
    let vls = parts.next().unwrap_or("");
    let found = below_an_empty_line(cables, Discovery::parse, |found| {
        found.cables.values_mut().for_each(|cable| cable.line += 1);
    });
    let tables_read = below_an_empty_line(tables, Forwarding::parse, |found| {
        for table in found.tables.values_mut() {
            table.line += 1;
            table.entries.iter_mut().for_each(|entry| entry.line += 1);
        }
    });
    let vls_read = below_an_empty_line(vls, VlTables::parse, |_| ());

    let dir = tempfile::tempdir().unwrap();
    let experiment = experiment_of_dumps(dir.path(), [cables, tables, vls]);
    let resolve = || resolve_text("fuzz.toml", &experiment, dir.path(), &[]);
    let (first, again) = (resolve(), resolve());
    let plan = match (first, again) {
        (Err(error), again) => {
            assert_eq!(Some(&error), again.err().as_ref());
            assert!(
                !error.problem.is_empty() && !error.key.is_empty(),
                "{error}"
            );
            if let Err(PlaceError { place, message }) = found {
                let place = format!("cables:{}: {message}", place.number());
                assert!(error.problem.ends_with(&place), "{error}, not {place}");
            }
            return;
        }
        (Ok(plan), again) => {
            let again = again.unwrap_or_else(|e| panic!("accepted once, then {e}"));
            let json = experiment_json(&plan.experiment);
            assert_eq!(json, experiment_json(&again.experiment));
            plan
        }
    };
    let found = found.unwrap();
    assert!(tables.is_empty() || tables_read.is_ok());
    assert!(vls.is_empty() || vls_read.is_ok());
    let spec = &plan.experiment.fabric;
    spec.validate().unwrap();
    assert_eq!(spec.topology.switches() as usize, found.switches.len());
    assert_eq!(spec.topology.nics() as usize, found.lids.len());
    let routes = RouteAnalysis::new(spec, spec).unwrap();
    assert_eq!((&routes.lost, &routes.routing_loop), (&Vec::new(), &None));
    assert_eq!(routes.connected(), routes.pairs);
    let cycle = ChannelGraph::new(spec, &routes).unwrap().cycle();
    assert!(cycle.is_none_or(|channels| !channels.is_empty()));
}

/// An experiment on the subnet of these dumps, which become files in `dir`.
fn experiment_of_dumps(dir: &Path, [cables, tables, vls]: [&str; 3]) -> String {
    // SL-to-VL tables give every level its VLs; without them one level is enough.
    let levels = if vls.is_empty() {
        "background = [{ rate = 0.1 }]\n"
    } else {
        "background = [{ rate = 0.1, sl = \"A\" }]\n\
         [qos]\nservice_levels = [{ name = \"A\" }, { name = \"B\" }]\n"
    };
    let mut experiment = format!(
        "{levels}[fabric]\nkind = \"voq\"\nnic_sink = \"128KiB\"\ninput_buffer = \"128KiB\"\n\
         topology = {{ kind = \"ibnetdiscover\", file = \"cables\" }}\n"
    );
    std::fs::write(dir.join("cables"), cables).unwrap();
    for (key, part) in [("forwarding", tables), ("sl2vl", vls)] {
        if !part.is_empty() {
            std::fs::write(dir.join(key), part).unwrap();
            experiment += &format!("{key} = \"{key}\"\n");
        }
    }
    experiment
}

/// What `parse` says of `text`, compared with what it says below an empty line; `moved` gives
/// the lines that a result names.
fn below_an_empty_line<T: PartialEq + std::fmt::Debug>(
    text: &str,
    parse: fn(&str) -> Result<T, PlaceError>,
    moved: fn(&mut T),
) -> Result<T, PlaceError> {
    let lines = text.lines().count().max(1);
    let whole = match parse(text) {
        Ok(mut found) => {
            moved(&mut found);
            Ok(found)
        }
        Err(error) => {
            let line = error.place.number();
            assert!((1..=lines as u64).contains(&line) && !error.message.is_empty());
            Err(error)
        }
    };
    match (&whole, parse(&format!("\n{text}"))) {
        (Ok(found), again) => assert_eq!(again.as_ref(), Ok(found)),
        (Err(error), again) => {
            let again = again.unwrap_err();
            // What misses in the whole file is reported for its first line.
            let lines = (again.place.number(), error.place.number());
            assert!(lines.0 == lines.1 + 1 || lines == (1, 1));
            assert_eq!(again.message, error.message);
        }
    }
    whole
}

/// A DTable is made or refused with one message; what is made has the entries it was asked
/// for, and every proposal, applied to the file, leaves no warning. Lines `# set: a.b=c` are
/// overrides.
pub fn dtable_spec(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut sets = sets_of(text);
    let report = |sets: &[String]| {
        let input = dtable_text("fuzz.toml", text, sets).inspect_err(|e| {
            assert!(!e.problem.is_empty());
            assert!(e.location.is_some() || !e.key.is_empty(), "{e}");
        });
        // Larger tables are made the same way and take too long to be printed each time.
        let input = input.ok().filter(|i| i.parameters.entries <= 2048)?;
        DTableReport::new(input).ok()
    };
    let Some(first) = report(&sets) else { return };
    assert!(!first.text().is_empty());
    let json = first.json();
    let list = |json: &serde_json::Value, key: &str| json[key].as_array().unwrap().clone();
    let entries = list(&json, "table").len();
    assert_eq!(json["totals"]["entries"].as_u64(), Some(entries as u64));
    let weights = list(&json, "table")
        .into_iter()
        .map(|e| e["weight"].as_u64().unwrap());
    assert_eq!(json["totals"]["fweight"].as_u64(), Some(weights.sum()));
    let kept = sets.len();
    for proposal in list(&json, "proposals") {
        assert!(!list(&json, "warnings").is_empty());
        sets.truncate(kept);
        for set in list(&proposal, "set") {
            sets.push(set.as_str().unwrap().to_owned());
        }
        let json = report(&sets).unwrap().json();
        assert_eq!(list(&json, "warnings").len(), 0, "{sets:?}");
    }
}

fn sets_of(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| line.strip_prefix("# set: "))
        .map(str::to_owned)
        .collect()
}

/// A quantity means the same with spaces around it, a refusal quotes the text, and a fraction
/// is read again from what it prints.
pub fn quantity(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    same::<Bytes>(text);
    same::<Picoseconds>(text);
    same::<Rate>(text);
    same::<CostPerByte>(text);
    same::<Latency>(text);
    same::<BufferPart>(text);
    same::<Ratio>(text);
    if let Ok(ratio) = text.parse::<Ratio>() {
        assert_eq!(ratio.to_string().parse(), Ok(ratio), "{ratio}");
    }
}

fn same<T: std::str::FromStr<Err = flitwise::units::UnitError> + PartialEq + std::fmt::Debug>(
    text: &str,
) {
    match (text.parse::<T>(), format!(" {text} ").parse::<T>()) {
        (Ok(value), spaced) => assert_eq!(spaced, Ok(value), "{text:?}"),
        (Err(error), Err(_)) => assert!(error.text == text && !error.problem.is_empty()),
        (Err(error), Ok(value)) => panic!("{error}, but with spaces {value:?}"),
    }
}
