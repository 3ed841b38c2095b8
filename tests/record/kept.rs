//! Recordings as files: archives, and the recordings of `traces/recordings`.

use super::{FLITWISE, succeeded};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/traces/recordings");

fn flitwise(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(FLITWISE);
    command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

/// The standard output of a command that succeeds.
#[track_caller]
fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = flitwise(folder, arguments);
    succeeded(&output);
    String::from_utf8(output.stdout).unwrap()
}

/// `tar ARGUMENTS` in the folder.
fn tar(folder: &Path, arguments: &[&str]) {
    let status = Command::new("tar")
        .current_dir(folder)
        .args(arguments)
        .status();
    assert!(status.unwrap().success());
}

/// The result of a replay, without what names the trace and the machine.
fn result(folder: &Path, trace: &str) -> Value {
    let job =
        format!("job = [{{ name = \"app\", trace = \"{trace}\", skip_unsupported = true }}]\n");
    fs::write(folder.join("experiment.toml"), job).unwrap();
    said(
        folder,
        &["run", "experiment.toml", "--quiet", "--out", "out"],
    );
    let text = fs::read_to_string(folder.join("out/result.json")).unwrap();
    fs::remove_dir_all(folder.join("out")).unwrap();
    let mut result = serde_json::from_str(&text.replace(trace, "TRACE")).unwrap();
    drop_keys(&mut result);
    result
}

fn drop_keys(value: &mut Value) {
    const OTHER: [&str; 4] = ["experiment_hash", "trace_xxh3", "wall_s", "peak_rss_bytes"];
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !OTHER.contains(&key.as_str()));
            members.values_mut().for_each(drop_keys);
        }
        Value::Array(all) => all.iter_mut().for_each(drop_keys),
        _ => {}
    }
}

#[test]
fn every_command_reads_an_archive_as_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let name = "openmpi-probes-4";
    tar(folder, &["-C", RECORDINGS, "-cf", "plain.tar", name]);
    tar(folder, &["-C", RECORDINGS, "-czf", "packed.tar.gz", name]);
    tar(folder, &["-xf", "plain.tar"]);
    let plain = fs::read(folder.join("plain.tar")).unwrap();
    let packed = zstd::encode_all(&plain[..], 3).unwrap();
    fs::write(folder.join("packed.tar.zst"), packed).unwrap();
    let of = |trace: &str| {
        let vef = |command: &str, more: &[&str]| {
            let arguments = [&["trace", command, trace, "out.vef"], more].concat();
            said(folder, &arguments);
            fs::read(folder.join("out.vef")).unwrap()
        };
        let told = |arguments: &[&str]| said(folder, arguments).replace(trace, "TRACE");
        fs::write(
            folder.join("job.toml"),
            format!("job = [{{ trace = \"{trace}\", name = \"app\" }}]"),
        )
        .unwrap();
        (
            told(&["trace", "info", trace]),
            told(&["trace", "check", trace])
                .lines()
                .last()
                .map(str::to_owned),
            vef("convert", &[]),
            vef("slice", &["--ranks", "0-2"]),
            told(&["explain", "job.toml"]),
            result(folder, trace),
        )
    };
    let directory = of(name);
    for archive in ["plain.tar", "packed.tar.gz", "packed.tar.zst"] {
        let archived = of(archive);
        assert_eq!(archived.0, directory.0, "{archive}");
        assert_eq!(archived.5, directory.5, "{archive}");
        assert!(archived == directory, "{archive}");
    }
    let refused = flitwise(folder, &["run", "plain.tar"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("`plain.tar` is a trace"), "{message}");
}

/// The recordings of `traces/recordings`, and whether each is one of an application.
fn shipped() -> Vec<(PathBuf, bool)> {
    let entries = fs::read_dir(RECORDINGS).unwrap();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.sort();
    let is_archive = |path: &PathBuf| path.to_string_lossy().ends_with(".tar.zst");
    all.into_iter()
        .map(|path| (path.clone(), is_archive(&path)))
        .collect()
}

#[test]
fn shipped_recordings_have_nothing_wrong_and_their_counts() {
    let readme = fs::read_to_string(Path::new(RECORDINGS).join("../README.md")).unwrap();
    let (mut applications, mut bytes) = (0, 0);
    for (path, is_application) in shipped() {
        let trace = path.to_str().unwrap();
        let check = said(Path::new("."), &["trace", "check", trace]);
        assert!(check.contains("nothing wrong"), "{trace}: {check}");
        if !is_application {
            continue;
        }
        applications += 1;
        bytes += fs::metadata(&path).unwrap().len();
        let info = said(Path::new("."), &["trace", "info", "--json", trace]);
        let info: Value = serde_json::from_str(&info).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let name = name.trim_end_matches(".tar.zst");
        let ranks = info["ranks"].as_u64().unwrap();
        assert!(
            name.ends_with(&format!("-{ranks}")) && ranks >= 125,
            "{name}: {ranks}"
        );
        let row = readme
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let fields: Vec<&str> = row.unwrap_or(name).split('|').map(str::trim).collect();
        let number = |at: usize| fields[at].replace(',', "").parse::<u64>().ok();
        let counts = [number(2), number(3)];
        assert_eq!(
            counts,
            [info["calls"].as_u64(), info["messages"].as_u64()],
            "{name}"
        );
        assert!(!fields[1].is_empty());
    }
    assert!(applications >= 8, "{applications}");
    assert!(bytes <= 10_000_000, "{bytes}");
}

#[test]
fn a_program_that_was_killed_runs_as_far_as_all_ranks_came() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let name = "mpich-killed-2";
    tar(folder, &["-C", RECORDINGS, "-cf", "whole.tar", name]);
    tar(folder, &["-xf", "whole.tar"]);
    let collectives = |trace: &str| result(folder, trace)["jobs"][0]["collectives"].as_u64();
    let whole = collectives("whole.tar").unwrap();
    // The last block of rank 0 is cut off.
    let path = folder.join(name).join("0.0.calls");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let cut = collectives(name).unwrap();
    assert!(0 < cut && cut < whole, "{cut} of {whole}");
    let result = result(folder, name);
    assert_eq!(result["jobs"][0]["complete"], true);
    let left_out = result["jobs"][0]["left_out"].to_string();
    let lacks = format!("the recording lacks allreduce {cut} on MPI_COMM_WORLD of rank 0");
    for part in [
        "1 rank ends before the streams do",
        "rank 1 ends at byte ",
        &lacks,
    ] {
        assert!(left_out.contains(part), "{left_out}");
    }
    let check = said(folder, &["trace", "check", name]);
    assert!(
        check.contains("nothing wrong") && check.contains(&lacks),
        "{check}"
    );
    said(
        folder,
        &["trace", "slice", name, "all.tar", "--from", "0ns"],
    );
    said(folder, &["trace", "convert", "all.tar", "all.vef"]);
    let info = said(folder, &["trace", "info", "--json", "all.vef"]);
    let info: Value = serde_json::from_str(&info).unwrap();
    assert_eq!(
        info["collectives"][0]["count"].as_u64(),
        Some(cut),
        "{info:#}"
    );
}
