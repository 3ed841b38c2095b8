//! Exit codes and where output goes.

use std::process::{Command, Output};

fn flitwise(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flitwise"))
        .args(args)
        .current_dir(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/corpus/experiments"
        ))
        .output()
        .unwrap()
}

#[test]
fn bad_input_is_exit_code_2_with_one_message() {
    for args in [
        &["run", "unknown-key.toml"][..],
        &["run", "missing.toml"],
        &["trace", "info", "missing.vef"],
        &["run"],
    ] {
        let out = flitwise(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(out.stdout.is_empty() && !out.stderr.is_empty(), "{args:?}");
    }
    let message = String::from_utf8(flitwise(&["run", "unknown-key.toml"]).stderr).unwrap();
    assert!(
        message.starts_with("error: unknown-key.toml:6:1: qos.shedular: "),
        "{message}"
    );
}

#[test]
fn every_command_shows_an_example() {
    for args in [
        &["run", "--help"][..],
        &["trace", "info", "--help"],
        &["trace", "check", "--help"],
    ] {
        let out = flitwise(args);
        assert!(out.status.success());
        assert!(
            String::from_utf8(out.stdout).unwrap().contains("Example:"),
            "{args:?}"
        );
    }
}
