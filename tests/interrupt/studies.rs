//! Studies that are killed or stopped: they go on, and end with the same bytes as one that was not.

use super::{End, command, end, names, run, signal, text_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
/// Times that the study is killed.
const KILLS: u64 = 10;

/// A study of 24 runs and some 80 tasks.
fn study(dir: &Path) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = format!(
        "name = \"killed\"\nseeds = \"1..3\"\n\
         [experiment.fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n\
         [[experiment.job]]\ntrace = \"{root}/traces/randomaccess-16.vef.gz\"\nplacement = \"random\"\n\
         compute_scale = 0.05\n\
         [[experiment.background]]\nrate = 0.1\n\
         [[axis]]\nkey = \"background.0.rate\"\nvalues = \"0..0.3 step 0.1\"\n\
         [[axis]]\nkey = \"background.0.message\"\nvalues = [\"512B\", \"1KiB\"]\n"
    );
    let file = dir.join("killed.toml");
    std::fs::write(&file, text).unwrap();
    text_of(&file)
}

fn start(file: &str, out: &Path) -> Child {
    let out = text_of(out);
    let mut command = command(&["study", file, "--out", &out, "--jobs", "2"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The tables, the slowest run, and the names of the records: what a record holds of time differs from run to run.
/// Commands differ in their directories.
fn content(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut content = BTreeMap::new();
    let read = |path: PathBuf| (path.clone(), std::fs::read(&path).unwrap());
    for name in names(dir) {
        let path = dir.join(&name);
        let inside = || names(&path).into_iter().map(|n| path.join(n));
        if !path.is_dir() {
            content.extend([read(path)]);
        } else if name == "records" {
            content.extend(inside().map(|path| (path, Vec::new())));
        } else {
            content.extend(inside().map(read));
        }
    }
    content.retain(|path, _| !path.ends_with("command.txt"));
    let inside =
        |(path, bytes): (PathBuf, Vec<u8>)| (path.strip_prefix(dir).unwrap().to_owned(), bytes);
    content.into_iter().map(inside).collect()
}

#[test]
fn a_study_killed_ten_times_ends_with_the_same_bytes() {
    let work = tempfile::tempdir().unwrap();
    let file = study(work.path());
    let (whole, killed) = (work.path().join("whole"), work.path().join("killed"));
    let started = Instant::now();
    assert_eq!(end(start(&file, &whole)).0, End::Exit(0));
    let time = started.elapsed();
    let mut ended = 0;
    for i in 1..=KILLS {
        let mut child = start(&file, &killed);
        // Knuth's multiplier: moments that are spread over the time that is left.
        let moment = i.wrapping_mul(6_364_136_223_846_793_005) >> 33;
        let span = time.as_micros() as u64 / 3;
        std::thread::sleep(Duration::from_micros(moment % span.max(1)));
        match child.try_wait().unwrap() {
            Some(_) => ended += 1,
            None => signal(&child, SIGKILL),
        }
        child.wait().unwrap();
    }
    assert!(ended < KILLS, "every study was over before it was killed");
    // The directory says what its study is.
    let (how, _, err) = run(&["study", &text_of(&killed)]);
    assert_eq!(how, End::Exit(0), "{err}");
    let (whole, killed) = (content(&whole), content(&killed));
    assert!(whole.keys().eq(killed.keys()), "{:?}", killed.keys());
    for (name, bytes) in &whole {
        assert!(killed[name] == *bytes, "{} differs", name.display());
    }
}

#[test]
fn a_study_that_is_stopped_has_partial_tables_and_goes_on() {
    let work = tempfile::tempdir().unwrap();
    let file = study(work.path());
    let out = work.path().join("out");
    let mut child = start(&file, &out);
    let records = out.join("records");
    while names(&records).is_empty() {
        assert_eq!(child.try_wait().unwrap(), None, "ended too early");
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&child, SIGINT);
    let (how, _, err) = end(child);
    assert_eq!(how, End::Signal(SIGINT), "{err}");
    assert!(err.contains("the same command continues"), "{err}");
    let rows = |name: &str| {
        std::fs::read_to_string(out.join(name))
            .unwrap()
            .lines()
            .count()
    };
    assert!(rows("runs.csv") < 1 + 24);
    let (how, ..) = run(&["study", &file, "--out", &text_of(&out), "--quiet"]);
    assert_eq!(how, End::Exit(0));
    assert_eq!(rows("runs.csv"), 1 + 24);
}

#[test]
fn one_process_at_a_time_works_in_a_directory() {
    let work = tempfile::tempdir().unwrap();
    let file = study(work.path());
    let out = work.path().join("out");
    let mut first = start(&file, &out);
    while names(&out.join("records")).is_empty() {
        assert_eq!(first.try_wait().unwrap(), None, "ended too early");
        std::thread::sleep(Duration::from_millis(2));
    }
    let (how, _, err) = run(&["study", &file, "--out", &text_of(&out)]);
    assert_eq!(how, End::Exit(2), "{err}");
    assert!(err.contains("another process runs a study"), "{err}");
    assert_eq!(end(first).0, End::Exit(0));
}
