//! The Python package reads what the program writes, and its notebook runs: its own tests, where there is a Python.

use std::path::Path;
use std::process::Command;

#[test]
fn the_python_package_reads_what_the_program_writes() {
    let python = ["python3", "python"].into_iter().find(|name| {
        let old = "import sys; sys.exit(sys.version_info < (3, 9))";
        let found = Command::new(name).args(["-c", old]).output();
        found.is_ok_and(|output| output.status.success())
    });
    let Some(python) = python else {
        eprintln!("skipped: there is no Python 3.9 or newer");
        return;
    };
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let output = Command::new(python)
        .args(["-B", "-m", "unittest", "discover", "-v", "-s", "tests"])
        .env("FLITWISE", env!("CARGO_BIN_EXE_flitwise"))
        .current_dir(dir)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("\nOK"), "{said}");
    // Jupyter runs the notebook where it is installed; the plain interpreter runs its cells everywhere.
    for line in said.lines().filter(|line| line.contains("... skipped")) {
        eprintln!("{line}");
        assert!(line.contains("nbclient"), "{said}");
    }
}
