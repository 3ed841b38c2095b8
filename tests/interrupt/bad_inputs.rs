//! Damaged inputs of every command: a clear error or a result, never a panic, a hang or all memory (`docs/evidence/reliability.md`).

use super::commands::copied;
use super::{FLITWISE, text_of};
use flitwise::random::{Purpose, Stream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

/// Inputs that are tried; `FLITWISE_BAD_INPUTS` asks for another number, `FLITWISE_SEED` for other damage.
const INPUTS: u64 = 300;
/// Seconds of CPU time and KiB of address space of a command.
const LIMITS: &str = "ulimit -t 20; ulimit -v 4000000";
/// Most bytes of a message: an error quotes 200 characters of each part of the input.
const MOST_MESSAGE: usize = 16 << 10;

/// A good input, and the commands that read it; `@` stands for its path.
struct Good {
    name: String,
    bytes: Vec<u8>,
    commands: &'static [&'static str],
}

const OF_TRACES: &[&str] = &[
    "trace check @",
    "trace info @",
    "trace convert @ /dev/null",
    "trace slice @ /dev/null --ranks 0-1",
    "run tests/corpus/results/named-job.toml --quiet --set job.0.trace=@",
    "congestion configs/hpl-16-tree.toml --trace @",
];
const OF_EXPERIMENTS: &[&str] = &[
    "run @ --estimate",
    "fabric info @",
    "fabric check @",
    "fabric export @ --format json",
    "congestion @ --runs 2",
    "study @ --dry-run",
];
const OF_GRAPHS: &[&str] = &[
    "orcs -i @ -p bisect",
    "orcs -i @ --checkinputfile",
    "congestion @ --runs 2 --worst",
    "fabric info @",
];
const OF_CABLES: &[&str] = &[
    "congestion @ --tables tests/corpus/networks/lmc1/opensm-lfts.dump --runs 1",
    "fabric check @ --tables tests/corpus/networks/lmc1/opensm-lfts.dump",
];
const OF_FORWARDING: &[&str] =
    &["congestion tests/corpus/networks/lmc1/ibnetdiscover.txt --tables @ --runs 1"];
const OF_STUDIES: &[&str] = &["study @ --dry-run", "study tasks @ --out /nowhere"];
const OF_TABLES: &[&str] = &["qos dtable @", "qos dtable @ --json"];
const OF_RESULTS: &[&str] = &[
    "report @ --quiet -o @.html",
    "plot @ --quiet --kind slowdown -o @.svg",
    "run @ --estimate",
];
const OF_TABLES_OF_STUDIES: &[&str] = &[
    "report @ --quiet -o @.html",
    "plot @ --quiet --kind slowdown -o @.svg",
    "study show @",
    "study compare @",
    "study compare @ @/../whole",
    "study @ --dry-run --out @/../other",
    "study tasks @ --out @",
];

fn read(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Small inputs of every kind. Traces of the other formats are made of one of VEF.
fn good(dir: &Path) -> Vec<Good> {
    let made = |args: &[&str], name: &str| {
        let path = dir.join(name);
        let mut command = Command::new(FLITWISE);
        let done = command.args(args).arg(&path).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
        path
    };
    let ring = [
        "trace",
        "generate",
        "ring",
        "--ranks",
        "4",
        "--iterations",
        "2",
        "-o",
    ];
    let vef = text_of(&made(&ring, "ring.vef"));
    let goal = made(&["trace", "convert", &vef, "--format", "goal"], "ring.goal");
    let mut all = vec![
        (text_of(&goal), OF_TRACES),
        (vef, OF_TRACES),
        ("tests/corpus/orcs/star8.dot".into(), OF_GRAPHS),
        (
            "tests/corpus/networks/lmc1/ibnetdiscover.txt".into(),
            OF_CABLES,
        ),
        (
            "tests/corpus/networks/lmc1/opensm-lfts.dump".into(),
            OF_FORWARDING,
        ),
        ("configs/hpl-16-tree.toml".into(), OF_EXPERIMENTS),
        ("configs/hpl-16-torus.toml".into(), OF_EXPERIMENTS),
        ("configs/studies/scheduler.toml".into(), OF_STUDIES),
        ("configs/dtable-example.toml".into(), OF_TABLES),
    ];
    let run = dir.join("run");
    let experiment = super::experiment(dir);
    made(&["run", &experiment, "--quiet", "--out"], "run");
    for name in ["result.json", "experiment.toml", "flows.csv", "matrix.csv"] {
        all.push((text_of(&run.join(name)), OF_RESULTS));
    }
    let study = dir.join("study");
    let line = ["run", &experiment, "--quiet", "--seeds", "1..2", "--out"];
    made(&line, "study");
    for name in ["study.json", "study.toml", "runs.jsonl"] {
        all.push((text_of(&study.join(name)), OF_TABLES_OF_STUDIES));
    }
    let record = super::names(&study.join("records")).remove(0);
    let record = study.join("records").join(record);
    all.push((text_of(&record), OF_TABLES_OF_STUDIES));
    let good = all.into_iter().map(|(name, commands)| Good {
        bytes: read(&name),
        name,
        commands,
    });
    good.collect()
}

/// Words that parsers and printers dislike.
const WORDS: [&[u8]; 16] = [
    b"-1",
    b"0",
    b"4294967295",
    b"18446744073709551616",
    b"1e999",
    b"nan",
    b"\x1b[31mred",
    b"\0",
    b"\xff\xfe",
    b"\r\n",
    b"=1+1",
    b"%s%n",
    b"[[[[[[[[",
    b"\"\\u0000\"",
    b"../../../../etc/passwd",
    b"0..0:0",
];

/// Damages an input in one to four places.
fn damage(bytes: &mut Vec<u8>, stream: &mut Stream) {
    for _ in 0..1 + stream.below(4) {
        let at = stream.below(bytes.len() as u64 + 1) as usize;
        let end = bytes.len().min(at + 1 + stream.below(40) as usize);
        match stream.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            3 => {
                let word = WORDS[stream.below(WORDS.len() as u64) as usize];
                bytes.splice(at..at, word.iter().copied());
            }
            // In the place of a number.
            4 => {
                let digits = bytes[at..].iter().position(u8::is_ascii_digit);
                let from = digits.map_or(at, |more| at + more);
                let count = bytes[from..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                let word = WORDS[stream.below(6) as usize];
                bytes.splice(from..from + count, word.iter().copied());
            }
            5 => {
                let long = vec![b'x'; 70_000];
                bytes.splice(at..at, long);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << stream.below(8);
                }
            }
        }
    }
}

fn ended(line: &str, input: &Path) -> Output {
    let path = text_of(input);
    let words = line.split(' ').map(|word| word.replace('@', &path));
    Command::new("sh")
        .args(["-c", &format!("{LIMITS}; exec \"$0\" \"$@\"")])
        .arg(FLITWISE)
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap()
}

/// What is wrong with the end of a command, if anything is.
fn fault(end: &Output) -> Option<String> {
    let message = String::from_utf8_lossy(&end.stderr);
    let raw = |c: char| c.is_control() && c != '\n' && c != '\t';
    if end.status.signal().is_some() || !matches!(end.status.code(), Some(0..=2)) {
        Some(format!("{:?}: {message}", end.status))
    } else if message.contains(raw) {
        Some(format!("control characters: {message:?}"))
    } else if message.len() > MOST_MESSAGE {
        Some(format!("{} bytes of messages", message.len()))
    } else if end.status.code() == Some(2) && message.trim().is_empty() {
        Some("no message".to_owned())
    } else {
        None
    }
}

#[test]
fn damaged_inputs_are_refused_or_read() {
    let number = |name, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (inputs, seed) = (
        number("FLITWISE_BAD_INPUTS", INPUTS),
        number("FLITWISE_SEED", 1),
    );
    let dir = tempfile::tempdir().unwrap();
    let good = good(dir.path());
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let faults: Vec<String> = std::thread::scope(|scope| {
        let work = |thread: u64| {
            let (good, dir) = (&good, dir.path());
            scope.spawn(move || {
                let numbers = (thread..inputs).step_by(threads as usize);
                let tried = numbers.filter_map(|number| one(good, dir, seed, number));
                tried.collect::<Vec<_>>()
            })
        };
        let started: Vec<_> = (0..threads).map(work).collect();
        let joined = started.into_iter().map(|thread| thread.join().unwrap());
        joined.flatten().collect()
    });
    println!("{inputs} inputs of seed {seed}, {} faults", faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Tries one damaged input, and returns its fault.
fn one(good: &[Good], dir: &Path, seed: u64, number: u64) -> Option<String> {
    let mut stream = Stream::new(seed, Purpose::StaticPattern, [number, 0]);
    let from = &good[(number % good.len() as u64) as usize];
    let mut bytes = from.bytes.clone();
    damage(&mut bytes, &mut stream);
    let line = from.commands[stream.below(from.commands.len() as u64) as usize];
    let place = dir.join(format!("bad-{number}"));
    std::fs::create_dir(&place).unwrap();
    let name = Path::new(&from.name);
    // A file of a result or a study is damaged in its directory.
    let results = ["run", "study"].map(|name| dir.join(name));
    let path = match results.iter().find(|results| name.starts_with(results)) {
        Some(results) => {
            let path = place.join("damaged");
            copied(results, &path);
            copied(results, &place.join("whole"));
            let below = name.strip_prefix(results).unwrap();
            std::fs::write(path.join(below), &bytes).unwrap();
            path
        }
        None => {
            let path = place.join(name.file_name().unwrap());
            std::fs::write(&path, &bytes).unwrap();
            path
        }
    };
    let fault = fault(&ended(line, &path));
    if let Some(fault) = &fault {
        // Kept for a look where the test was asked to keep it.
        if let Ok(kept) = std::env::var("FLITWISE_KEEP_BAD") {
            let _ = std::fs::create_dir_all(&kept);
            let name = format!(
                "{number}-{}",
                Path::new(&from.name).file_name().unwrap().display()
            );
            let _ = std::fs::write(Path::new(&kept).join(name), &bytes);
        }
        let _ = std::fs::remove_dir_all(&place);
        return Some(format!(
            "input {number}, `{line}` of {}: {fault}",
            from.name
        ));
    }
    std::fs::remove_dir_all(&place).unwrap();
    fault
}
