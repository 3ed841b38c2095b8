//! Programs that end without `MPI_Finalize`.

use super::{FLITWISE, Lab, alone, mpis};

fn end(how: &str, check: impl Fn(&Lab, &std::process::Output)) {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("ends.c", &[]);
        let output = lab.record_launcher(&[], 2, &[how]);
        assert!(!output.status.success(), "{how}");
        let text = lab.description();
        assert!(text.contains("finalised = false\n"), "{text}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains("ended without MPI_Finalize"), "{errors}");
        assert!(
            errors.contains("flitwise trace info 'recording'"),
            "{errors}"
        );
        check(&lab, &output);
    }
}

#[test]
fn a_killed_program_leaves_what_was_written() {
    end("kill", |lab, _| {
        let streams = lab.streams();
        assert_eq!(streams.len(), 2);
        for stream in &streams {
            // The program called for two seconds; all but the last one is there.
            let calls = stream.calls.len();
            assert!((40..=101).contains(&calls), "{calls}");
            assert_eq!(stream.end, None);
            assert_eq!(
                stream.calls[1].fields,
                "comm=0 root=null commutative 1*4 1*4"
            );
        }
        says(lab, "2 streams without an end: the program was killed");
    });
}

/// `trace info` tells how the program ended.
fn says(lab: &Lab, end: &str) {
    let mut info = lab.command(FLITWISE);
    let info = info.args(["trace", "info", "recording"]).output().unwrap();
    let info = String::from_utf8_lossy(&info.stdout);
    let row = info.lines().find(|line| line.starts_with("end "));
    assert!(row.is_some_and(|row| row.contains(end)), "{info}");
}

/// Other signals than SIGKILL let it write.
#[test]
fn a_signal_writes_all() {
    for signal in ["term", "fault"] {
        end(signal, |lab, _| {
            for stream in &lab.streams() {
                let calls = stream.calls.len();
                assert!((100..=101).contains(&calls), "{signal}: {calls}");
                assert_eq!(stream.end, None);
            }
        });
    }
}

#[test]
fn abort_writes_all() {
    end("abort", |lab, output| {
        assert_eq!(output.status.code(), Some(3));
        let streams = lab.streams();
        // One of them called first and ended the other.
        let aborted = streams
            .iter()
            .filter(|s| s.end.is_some_and(|end| end[0] == 3));
        let calls: Vec<usize> = aborted.map(|s| s.calls.len()).collect();
        assert!(calls.contains(&102), "{calls:?}");
        let last = streams.iter().filter_map(|s| s.calls.last());
        assert!(last.map(|call| &call.name).any(|name| name == "MPI_Abort"));
        says(lab, "with MPI_Abort");
    });
}

#[test]
fn exits_write_all() {
    for how in ["exit", "_exit", "quick_exit"] {
        end(how, |lab, output| {
            assert_eq!(output.status.code(), Some(4), "{how}");
            let streams = lab.streams();
            let exited = streams
                .iter()
                .filter(|s| s.end.is_some_and(|end| end[0] == 2));
            let calls: Vec<usize> = exited.map(|s| s.calls.len()).collect();
            assert!(calls.contains(&101), "{how}: {calls:?}");
            says(lab, "without MPI_Finalize");
        });
    }
}

#[test]
fn a_cut_stream_is_read_up_to_the_last_whole_block() {
    end("kill", |lab, _| {
        let path = lab.at("recording/0.0.calls");
        let whole = super::decode::stream(&path);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 1);
        std::fs::write(&path, bytes).unwrap();
        let cut = super::decode::stream(&path);
        assert!(cut.cut && cut.calls.len() < whole.calls.len());
        let pairs = cut.calls.iter().zip(&whole.calls);
        assert!(
            pairs
                .into_iter()
                .all(|(cut, whole)| cut.fields == whole.fields)
        );
    });
}
