//! Runs that are killed: the directory of results is whole at every moment.

use super::{End, SIGKILL, command, end, experiment, names, run, signal, text_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Runs that are killed; `FLITWISE_KILLS` asks for another number.
const KILLS: usize = 40;

/// Two experiments whose results have different files.
const VARIANTS: [&[&str]; 2] = [
    &["--seed", "1"],
    &[
        "--seed",
        "2",
        "--set",
        "series.record=[\"flows\",\"port_vls\"]",
        "--set",
        "series.format=both",
    ],
];

/// The files of a directory with their contents, without what differs from run to run.
fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |name: String| {
        let bytes = std::fs::read(dir.join(&name)).unwrap();
        if name != "result.json" {
            return (name, bytes);
        }
        let mut json: Value = serde_json::from_slice(&bytes).unwrap();
        json.as_object_mut().unwrap().remove("engine").unwrap();
        (name, json.to_string().into_bytes())
    };
    let mut names = names(dir);
    names.retain(|name| name != "command.txt");
    names.into_iter().map(read).collect()
}

/// Numbers that need not be good, the same in each run (Knuth's multiplier).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// When a run is killed: at a random moment
enum Moment {
    /// of this time from its start on,
    Of(Duration),
    /// or while it completes its result.
    AtTheEnd,
}

/// Starts a run whose results go to a directory in `work`, and kills it.
fn start_and_kill(args: &[&str], work: &Path, moment: Moment, random: &mut Random) {
    let mut child = command(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let span = match moment {
        Moment::Of(span) => span,
        Moment::AtTheEnd => {
            // Not in what an earlier run left.
            let own = format!(".{}-", child.id());
            let begun = || {
                let mut parts = names(work).into_iter();
                let part = parts.find(|name| name.contains(&own));
                part.is_some_and(|part| work.join(part).join("result.json").exists())
            };
            while !begun() && child.try_wait().unwrap().is_none() {}
            // Syncing to the disk takes longer on a busy machine.
            Duration::from_millis([2, 8, 40, 200][random.below(4) as usize])
        }
    };
    let micros = random.below(span.as_micros() as u64);
    std::thread::sleep(Duration::from_micros(micros));
    if child.try_wait().unwrap().is_none() {
        signal(&child, SIGKILL);
    }
    child.wait().unwrap();
}

#[test]
fn a_killed_run_leaves_the_old_or_the_new_result() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path());
    let work = dir.path().join("work");
    let out = work.join("out");
    let args = |variant: usize, out: &Path| {
        let mut args: Vec<String> = ["run", &file, "--force", "--quiet", "--out", &text_of(out)]
            .map(String::from)
            .to_vec();
        args.extend(VARIANTS[variant].iter().map(|arg| String::from(*arg)));
        args
    };
    let complete = |variant, out: &Path| {
        let args = args(variant, out);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let began = Instant::now();
        let (how, _, message) = run(&args);
        assert_eq!(how, End::Exit(0), "{message}");
        (content(out), began.elapsed())
    };
    // As deep as `out`: the paths in experiment.toml are the same then.
    let whole: Vec<_> = (0..2)
        .map(|variant| complete(variant, &dir.path().join(format!("whole/{variant}"))))
        .collect();
    assert_eq!((whole[0].0.len(), whole[1].0.len()), (10, 15));
    let mut random = Random(1);
    let kills = std::env::var("FLITWISE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut seen = [0; 3];
    for kill in 0.. {
        // Enough, and both results were seen; on a busy machine more runs are killed early.
        if kill >= kills && seen[0] > 0 && seen[1] > 0 {
            break;
        }
        assert!(kill < 10 * kills, "{seen:?}");
        let variant = kill % 2;
        let args = args(variant, &out);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let wall = whole[variant].1;
        let moment = match kill % 4 {
            0 | 1 => Moment::Of(wall.mul_f64(1.25)),
            _ => Moment::AtTheEnd,
        };
        start_and_kill(&args, &work, moment, &mut random);
        match whole.iter().position(|(files, _)| *files == content(&out)) {
            Some(which) => seen[which] += 1,
            None => {
                assert!(seen[..2] == [0, 0] && !out.exists(), "{:?}", names(&out));
                seen[2] += 1;
            }
        }
    }
    // The next run removes what the others left.
    complete(0, &out);
    assert_eq!(names(&work), ["out"]);
    println!("{seen:?} results of each variant, none");
}

/// Two runs side by side, again and again: the result is that of one of them.
#[test]
fn runs_into_one_directory_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let file = experiment(dir.path());
    let out = dir.path().join("out");
    let whole = |variant: &&[&str]| {
        let (at, mut args) = (dir.path().join("whole"), vec!["run", &file, "--force"]);
        let at_text = text_of(&at);
        args.extend(["--quiet", "--out", &at_text]);
        args.extend(variant.iter());
        assert_eq!(run(&args).0, End::Exit(0));
        content(&at)
    };
    let whole: Vec<_> = VARIANTS.iter().map(whole).collect();
    for _ in 0..10 {
        let runs: Vec<_> = (0..4)
            .map(|i| {
                let mut command = command(&["run", &file, "--force", "--quiet", "--out"]);
                command.arg(&out).args(VARIANTS[i % 2]);
                command.spawn().unwrap()
            })
            .collect();
        for child in runs {
            let (how, _, message) = end(child);
            assert_eq!(how, End::Exit(0), "{message}");
        }
        assert!(whole.contains(&content(&out)), "{:?}", names(&out));
        assert_eq!(names(dir.path()), ["exp.toml", "out", "whole"]);
    }
}
