//! The command line: both forms, and what is refused.

use super::{FLITWISE, Lab, alone, mpis, succeeded};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Output;
use std::time::Duration;

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The command ended with this code, and its message has this part.
fn refused(output: &Output, code: i32, part: &str) {
    let message = errors(output);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(message.contains(part), "{message}");
}

#[test]
fn both_forms_record_the_same() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        let said = succeeded(&lab.record(2, &[]));
        assert_eq!(
            said.matches("recorded 2 ranks in `recording`").count(),
            1,
            "{said}"
        );
        let inner: Vec<usize> = lab.streams().iter().map(|s| s.calls.len()).collect();
        // It replaces the older one.
        let said = succeeded(&lab.record_launcher(&[], 2, &[]));
        let place = "recorded 2 ranks in `recording`, in place of an older recording of 2 ranks\n";
        assert!(said.contains(place), "{said}");
        let replay = "flitwise init my-trace --trace recording && flitwise run my-trace.toml";
        assert!(said.contains(replay), "{said}");
        // It prints the rows of `trace info`.
        let mut info = lab.command(FLITWISE);
        let info = info.args(["trace", "info", "recording"]).output().unwrap();
        let info = String::from_utf8(info.stdout).unwrap();
        let rows = info.lines().skip(1).take_while(|line| !line.is_empty());
        assert!(rows.clone().count() > 8, "{info}");
        for row in rows {
            assert!(said.contains(row), "{row}: {said}");
        }
        let outer: Vec<usize> = lab.streams().iter().map(|s| s.calls.len()).collect();
        assert_eq!(inner, outer);
    }
}

/// They would wait for each other for ever.
#[test]
fn ranks_without_the_recorder_are_refused() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        let (launcher, options) = mpi.launcher.split_first().unwrap();
        let mut command = lab.command(launcher);
        command.env("FLITWISE_RECORD_PATIENCE", "2").args(options);
        command.args([
            "-n",
            "1",
            FLITWISE,
            "record",
            "-o",
            "recording",
            "--",
            "./app",
            ":",
        ]);
        let output = command.args(["-n", "1", "./app"]).output().unwrap();
        assert!(!output.status.success());
        let errors = errors(&output);
        assert!(errors.contains("another rank has no recorder"), "{errors}");
    }
}

#[test]
fn an_older_recording_of_more_ranks_leaves_nothing() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("collectives.c", &[]);
        succeeded(&lab.record(4, &[]));
        lab.compile("pingpong.c", &[]);
        succeeded(&lab.record(2, &[]));
        let names = fs::read_dir(lab.at("recording")).unwrap();
        let mut names: Vec<String> = names
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["0.0.calls", "1.0.calls", "recording.toml"]);
    }
}

#[test]
fn other_directories_are_refused() {
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        fs::create_dir(lab.at("recording")).unwrap();
        fs::write(lab.at("recording/thesis.tex"), "").unwrap();
        let output = lab.record_launcher(&[], 2, &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = errors(&output);
        assert!(
            said.contains("holds `thesis.tex`, which is no file of a recording"),
            "{said}"
        );
    }
}

#[test]
fn the_compiler_of_another_mpi_is_refused() {
    let [first, second] = mpis()[..] else {
        eprintln!("skipped: only one MPI is installed");
        return;
    };
    for (mpi, other) in [(first, second), (second, first)] {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        let output = lab.record_launcher(&["--mpicc", other.cc], 2, &[]);
        assert_eq!(output.status.code(), Some(2));
        let said = errors(&output);
        assert!(
            said.contains("name the compiler of this MPI with --mpicc"),
            "{said}"
        );
    }
}

/// A script hides the program, so that only the library can tell.
#[test]
fn the_library_of_another_mpi_ends_the_program() {
    let _one = alone();
    let [first, second] = mpis()[..] else {
        eprintln!("skipped: only one MPI is installed");
        return;
    };
    for (mpi, other) in [(first, second), (second, first)] {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        fs::write(lab.at("script"), "exec ./app\n").unwrap();
        let mut command = lab.command(FLITWISE);
        command.args(["record", "--mpicc", other.cc, "-o", "recording", "--"]);
        command.args(mpi.launcher).args(["-n", "2", "sh", "script"]);
        let output = command.output().unwrap();
        let said = errors(&output);
        assert!(!output.status.success());
        assert!(
            said.contains("this program uses another MPI than the recorder"),
            "{said}"
        );
        assert!(
            said.contains("nothing was recorded in `recording`"),
            "{said}"
        );
    }
}

#[test]
fn programs_that_load_no_library_are_refused() {
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        fs::set_permissions(lab.at("app"), fs::Permissions::from_mode(0o4755)).unwrap();
        refused(
            &lab.record_launcher(&[], 2, &[]),
            2,
            "`./app` is setuid or setgid",
        );

        let source = lab.at("static.c");
        fs::write(&source, "int main(void) { return 0; }\n").unwrap();
        let mut compiler = lab.command("cc");
        compiler.args(["-static", "-o", "static"]).arg(&source);
        if !compiler
            .output()
            .is_ok_and(|output| output.status.success())
        {
            eprintln!("skipped: no static libc");
            continue;
        }
        let mut command = lab.command(FLITWISE);
        command.args(["record", "-o", "recording", "--", "./static"]);
        refused(
            &command.output().unwrap(),
            2,
            "`./static` is linked statically",
        );
    }
}

#[test]
fn a_program_without_mpi_is_no_recording() {
    let Some(mpi) = mpis().into_iter().next() else {
        return;
    };
    let lab = Lab::new(mpi);
    let mut command = lab.command(FLITWISE);
    command.args(["record", "-o", "recording", "--", "true"]);
    refused(
        &command.output().unwrap(),
        1,
        "the program did not call MPI_Init",
    );
    assert!(!lab.at("recording").exists());
    let mut command = lab.command(FLITWISE);
    command.args(["record", "-o", "recording", "--", "sh", "-c", "exit 7"]);
    assert_eq!(command.output().unwrap().status.code(), Some(7));
}

#[test]
fn without_a_compiler_the_cure_is_said() {
    let lab = Lab::new(super::MPIS[0]);
    let mut command = lab.command(FLITWISE);
    command.args(["record", "-o", "recording", "--", "true"]);
    refused(
        &command.env("PATH", "/nowhere").output().unwrap(),
        2,
        "no mpicc was found",
    );
    let mut command = lab.command(FLITWISE);
    command.args([
        "record",
        "--mpicc",
        "/nowhere/mpicc",
        "-o",
        "recording",
        "--",
        "true",
    ]);
    refused(
        &command.output().unwrap(),
        2,
        "`/nowhere/mpicc` cannot compile the recorder",
    );
}

#[test]
fn the_library_works_without_the_command() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        let output = lab
            .command(FLITWISE)
            .args(["record", "library", "--mpicc", mpi.cc])
            .output()
            .unwrap();
        let library = String::from_utf8(output.stdout).unwrap();
        let library = library.trim();
        assert!(library.ends_with("libflitwise-record.so"), "{library}");
        // Linked before MPI, nothing must be loaded.
        lab.compile("pingpong.c", &[library]);
        let mut command = lab.command(mpi.launcher[0]);
        command.args(&mpi.launcher[1..]).args(["-n", "2", "./app"]);
        command.env("FLITWISE_RECORD", lab.at("recording"));
        succeeded(&command.output().unwrap());
        assert_eq!(lab.streams().len(), 2);
    }
}

#[test]
fn signals_reach_the_program() {
    let Some(mpi) = mpis().into_iter().next() else {
        return;
    };
    let lab = Lab::new(mpi);
    let mut command = lab.command(FLITWISE);
    command.args(["record", "-o", "recording", "--", "sleep", "60"]);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    // Until it has started the program, which is its only child.
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let is_asleep = || {
        let pid = fs::read_to_string(&children).unwrap_or_default();
        let name = fs::read_to_string(format!("/proc/{}/comm", pid.trim()));
        name.is_ok_and(|name| name == "sleep\n")
    };
    for _ in 0..1200 {
        if is_asleep() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_asleep());
    let pid = child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn only_the_first_program_of_a_command_is_recorded() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        let run = format!("{} -n 2 ./app", mpi.launcher.join(" "));
        fs::write(lab.at("script"), format!("{run}\n{run}\n")).unwrap();
        let mut command = lab.command(FLITWISE);
        command.args([
            "record",
            "--mpicc",
            mpi.cc,
            "-o",
            "recording",
            "--",
            "sh",
            "script",
        ]);
        let said = succeeded(&command.output().unwrap());
        let note =
            "the recording holds the first program of this command; this one is not recorded";
        assert_eq!(said.matches(note).count(), 1, "{said}");
        assert_eq!(lab.streams()[0].calls.len(), 2202);
    }
}

#[test]
fn spawned_processes_are_said() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("spawn.c", &[]);
        let mut alone = lab.command(mpi.launcher[0]);
        alone.args(&mpi.launcher[1..]).args(["-n", "1", "./app"]);
        if !alone.output().unwrap().status.success() {
            eprintln!("skipped: the launcher of {} cannot spawn here", mpi.cc);
            continue;
        }
        let said = succeeded(&lab.record_launcher(&[], 1, &[]));
        let note = "a process made by MPI_Comm_spawn is not recorded";
        assert!(said.contains(note), "{said}");
        let streams = lab.streams();
        assert_eq!(streams.len(), 1);
        let calls = streams[0].calls.iter();
        let calls: Vec<String> = calls.map(|c| format!("{} {}", c.name, c.fields)).collect();
        assert_eq!(calls[1], "MPI_Comm_spawn ");
        assert_eq!(
            calls[2],
            "MPI_Allreduce comm=2 root=null commutative 1*4 1*4"
        );
        // The other process is outside MPI_COMM_WORLD, which has one rank.
        assert_eq!(
            streams[0].comms[&2],
            "unknown parent=2 nth=0 members=[0] remote=[1]"
        );
    }
}

#[test]
fn sessions_are_said() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("session.c", &[]);
        let output = lab.record_launcher(&[], 1, &[]);
        // Without sessions the program does nothing.
        assert_eq!(output.status.code(), Some(1));
        let said = errors(&output);
        assert!(said.contains("nothing was recorded"), "{said}");
        let note = "communication in sessions (MPI_Session_init) is not recorded";
        assert_eq!(said.contains(note), mpi.cc == "mpicc.mpich", "{said}");
    }
}

/// The processes of another MPI's launcher are worlds of their own.
#[test]
fn the_launcher_of_another_mpi_is_refused() {
    let _one = alone();
    let mpis = mpis();
    for (mpi, other) in [(0, 1), (1, 0)] {
        let (Some(mpi), Some(other)) = (mpis.get(mpi).copied(), mpis.get(other)) else {
            continue;
        };
        let lab = Lab::new(mpi);
        lab.compile("pingpong.c", &[]);
        let (launcher, options) = other.launcher.split_first().unwrap();
        let mut command = lab.command(launcher);
        command.args(options).args(["-n", "3", FLITWISE]);
        let output = command
            .args(["record", "-o", "recording", "--", "./app"])
            .output()
            .unwrap();
        let message = errors(&output);
        let said = "the launcher started 3 processes, but each is an MPI world of its own";
        let times = message.matches(said).count();
        assert!((1..=3).contains(&times), "{message}");
        assert!(!output.status.success(), "{message}");
        assert!(!lab.at("recording").join("recording.toml").exists());
    }
}
