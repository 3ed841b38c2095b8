//! Every command that writes files: whatever ends it leaves its outputs as they were or as they shall be.

use super::commands::{GRAPH, Output, cases, content, copied, refs, results, words};
use super::{End, SIGKILL, command, names, run, signal, text_of};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

/// Kills of each command; `FLITWISE_KILLS` asks for another number of all kills.
const KILLS: usize = 2;

#[test]
fn a_killed_command_leaves_the_old_or_the_new_output() {
    let dir = tempfile::tempdir().unwrap();
    let cases = cases(&results(dir.path()));
    let kills = std::env::var("FLITWISE_KILLS").map_or(KILLS, |kills| {
        kills.parse::<usize>().unwrap().div_ceil(cases.len())
    });
    let mut killed = 0;
    for case in &cases {
        let work = dir.path().join("work");
        let (path, copy) = (work.join(case.output), dir.path().join("copy"));
        std::fs::create_dir(&work).unwrap();
        let (whole, wall) = case.outputs(&path, &copy);
        for kill in 0..kills {
            copied(&copy, &path);
            let line = case.line(1, &path);
            let mut child = command(&refs(&line)).spawn().unwrap();
            // Spread over the time of a command, with most near its end.
            let part = ((kill + 1) as f64 / kills as f64).sqrt();
            std::thread::sleep(wall.mul_f64(1.1 * part));
            if child.try_wait().unwrap().is_none() {
                signal(&child, SIGKILL);
                killed += 1;
            }
            child.wait().unwrap();
            assert_eq!(case.fault(&path, &whole, false), None);
        }
        // The next one ends as if there had been no kill.
        let again = case.complete(1, &path);
        if case.kind != Output::Records {
            assert_eq!(again, whole[1], "{}", case.name);
        }
        std::fs::remove_dir_all(&work).unwrap();
    }
    println!(
        "{killed} of {} commands killed before their end",
        kills * cases.len()
    );
}

/// `init` replaces no file, so a kill leaves some of its files, each whole, and the same command adds the others.
#[test]
fn a_killed_init_leaves_whole_files() {
    let dir = tempfile::tempdir().unwrap();
    let init = |name: &str| {
        words(&format!(
            "init hpl-tree --out {}",
            text_of(&dir.path().join(name))
        ))
    };
    let (how, _, message) = run(&refs(&init("whole")));
    assert_eq!(how, End::Exit(0), "{message}");
    let whole = content(&dir.path().join("whole"));
    for kill in 0..20 {
        let name = format!("killed-{kill}");
        let mut child = command(&refs(&init(&name))).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(kill));
        signal(&child, SIGKILL);
        child.wait().unwrap();
        let path = dir.path().join(&name);
        if path.exists() {
            let left = content(&path);
            assert!(
                left.iter()
                    .all(|(name, bytes)| whole.get(name) == Some(bytes))
            );
        }
        let (how, _, message) = run(&refs(&init(&name)));
        assert_eq!(how, End::Exit(0), "{message}");
        assert_eq!(content(&path), whole);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_2() {
    let dir = tempfile::tempdir().unwrap();
    let results = results(dir.path());
    let closed = dir.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write everywhere but in /proc.
    let superuser = std::fs::write(closed.join("x"), "").is_ok();
    let place = if superuser {
        Path::new("/proc")
    } else {
        &closed
    };
    for case in cases(&results) {
        let line = case.line(0, &place.join("no").join(case.output));
        let (how, _, message) = run(&refs(&line));
        assert_eq!(how, End::Exit(2), "{}: {message}", case.name);
    }
}

/// Whatever lies behind a link in a directory of results stays as it is.
#[test]
fn links_in_a_directory_are_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let file = super::experiment(dir.path());
    let (kept, study) = (dir.path().join("kept"), dir.path().join("study"));
    let pages = dir.path().join("man");
    let lines = [
        words(&format!(
            "run {file} --quiet --seeds 1..2 --out {}",
            text_of(&study)
        )),
        words(&format!("man --out {}", text_of(&pages))),
    ];
    let complete = || {
        for line in &lines {
            let (how, _, message) = run(&refs(line));
            assert_eq!(how, End::Exit(0), "{message}");
        }
    };
    complete();
    for path in [
        study.join("runs.csv"),
        study.join("command.txt"),
        study.join("summary.txt"),
        pages.join("flitwise.1"),
    ] {
        let old = std::fs::read(&path).unwrap();
        std::fs::write(&kept, "mine").unwrap();
        std::fs::remove_file(&path).unwrap();
        symlink(&kept, &path).unwrap();
        complete();
        assert_eq!(std::fs::read(&kept).unwrap(), b"mine", "{}", path.display());
        assert!(!path.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&path).unwrap(), old);
    }
    // The directory of the slowest run may be a link as well.
    let (slowest, elsewhere) = (study.join("slowest-run"), dir.path().join("elsewhere"));
    std::fs::rename(&slowest, &elsewhere).unwrap();
    std::fs::write(elsewhere.join("summary.txt"), "mine").unwrap();
    symlink(&elsewhere, &slowest).unwrap();
    complete();
    assert_eq!(
        std::fs::read(elsewhere.join("summary.txt")).unwrap(),
        b"mine"
    );
    assert!(!slowest.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn results_of_other_commands_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let results = results(dir.path());
    let file = text_of(&results.join("exp.toml"));
    let analysis = results.join("analysis");
    let all = cases(&results);
    all[0].complete(0, &analysis);
    let analyse = |at: &str| all[0].line(0, &results.join(at));
    let one = |at: &str| {
        words(&format!(
            "run {file} --force --out {}",
            text_of(&results.join(at))
        ))
    };
    let many = |at: &str| [one(at), words("--seeds 1..2")].concat();
    let mut without_force = many("analysis");
    without_force.retain(|word| word != "--force");
    for (line, at) in [
        (analyse("run"), "run"),
        (analyse("study"), "study"),
        (one("analysis"), "analysis"),
        (one("study"), "study"),
        (without_force, "analysis"),
    ] {
        let before = content(&results.join(at));
        let (how, _, message) = run(&refs(&line));
        assert_eq!(how, End::Exit(2), "{line:?}: {message}");
        assert!(message.contains("which is no file of a"), "{message}");
        assert_eq!(content(&results.join(at)), before);
    }
    // Without its document it may be anything.
    std::fs::remove_file(analysis.join("congestion.json")).unwrap();
    let (how, _, message) = run(&refs(&analyse("analysis")));
    assert_eq!(how, End::Exit(2), "{message}");
    assert!(message.contains("no congestion.json"), "{message}");
}

#[test]
fn an_input_is_never_the_output() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| text_of(&dir.path().join(name));
    std::fs::copy(GRAPH, at("d.dot")).unwrap();
    std::fs::copy("configs/dtable-example.toml", at("d.toml")).unwrap();
    symlink(at("d.dot"), at("link")).unwrap();
    for line in [
        format!("orcs -i {} -o {}", at("d.dot"), at("d.dot")),
        format!("orcs -i {} -o {}", at("link"), at("d.dot")),
        format!("qos dtable {} --out {}", at("d.toml"), at("d.toml")),
    ] {
        let (how, _, message) = run(&refs(&words(&line)));
        assert_eq!(how, End::Exit(2), "{line}: {message}");
        assert!(message.contains("is the input"), "{message}");
    }
    assert_eq!(
        std::fs::read(at("d.dot")).unwrap(),
        std::fs::read(GRAPH).unwrap()
    );
}

/// The next run removes the unfinished files that a killed study left.
#[test]
fn what_a_killed_study_left_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let file = super::experiment(dir.path());
    let study = dir.path().join("study");
    let line = words(&format!(
        "run {file} --quiet --seeds 1..2 --out {}",
        text_of(&study)
    ));
    let (how, _, message) = run(&refs(&line));
    assert_eq!(how, End::Exit(0), "{message}");
    let before = names(&study);
    let left = study.join(".tables.1-0123456789abcdef.part");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("runs.csv"), "half").unwrap();
    std::fs::write(
        study.join("records/.x.json.1-0123456789abcdef.part"),
        "half",
    )
    .unwrap();
    let (how, _, message) = run(&refs(&line));
    assert_eq!(how, End::Exit(0), "{message}");
    assert_eq!(names(&study), before);
    assert!(
        names(&study.join("records"))
            .iter()
            .all(|name| !name.starts_with('.'))
    );
}
