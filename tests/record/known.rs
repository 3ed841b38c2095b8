//! Recordings say what the programs know.

use super::decode::{Call, Stream};
use super::{FLITWISE, Lab, alone, exists, mpis, succeeded};

/// The calls of a stream as the programs write them; polls that found nothing with their number.
fn lines(stream: &Stream) -> Vec<String> {
    let line = |call: &Call| {
        let times = if call.times > 1 {
            format!("{} ", call.times)
        } else {
            String::new()
        };
        let failed = if call.failed { "!" } else { "" };
        format!("{times}{}{failed} {}", call.name, call.fields)
            .trim_end()
            .to_owned()
    };
    // The first polls of a loop are by themselves, and no record crosses blocks.
    let mut calls: Vec<Call> = Vec::new();
    for call in &stream.calls {
        match calls.last_mut() {
            Some(last)
                if found_nothing(call)
                    && (&last.name, &last.fields, last.failed)
                        == (&call.name, &call.fields, call.failed) =>
            {
                last.times += call.times
            }
            _ => calls.push(call.clone()),
        }
    }
    calls.iter().map(line).collect()
}

/// Whether a call is a poll that found nothing.
fn found_nothing(call: &Call) -> bool {
    let fields = &call.fields;
    match call.name.as_str() {
        "MPI_Parrived" | "MPI_Request_get_status" => fields.ends_with(" 0"),
        name if name.starts_with("MPI_Test") => fields.ends_with(':'),
        _ => fields.ends_with(" nothing"),
    }
}

/// Whether a recorded line is the one that the program knows.
fn agree(known: &str, recorded: &str) -> bool {
    let words = |line: &str| {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        words.sort();
        words
    };
    match known.strip_prefix("unordered ") {
        Some(known) => words(known) == words(recorded),
        // A poll that found nothing once.
        None => known == recorded || known.strip_prefix("1 ") == Some(recorded),
    }
}

#[track_caller]
fn compare(what: &str, known: &[String], recorded: &[String]) {
    for (at, known) in known.iter().enumerate() {
        let recorded = recorded.get(at).map_or("nothing", String::as_str);
        assert!(
            agree(known, recorded),
            "{what}, call {at}: `{known}` is recorded as `{recorded}`"
        );
    }
    assert_eq!(
        known.len(),
        recorded.len(),
        "{what}: {:?}",
        recorded.get(known.len())
    );
}

/// Records a program and compares it with what each rank knows.
fn program(source: &str, ranks: u32, also: impl Fn(&Lab, &[Stream])) {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile(source, &[]);
        succeeded(&lab.record(ranks, &[]));
        let streams = lab.streams();
        assert_eq!(streams.len(), ranks as usize);
        for stream in &streams {
            let what = format!("{source} of {}, rank {}", mpi.cc, stream.rank);
            assert_eq!((stream.ranks, stream.cut), (ranks, false), "{what}");
            assert_eq!(stream.end.map(|end| end[0]), Some(0), "{what}");
            assert_eq!(stream.run, streams[0].run, "{what}");
            compare(&what, &lab.known(stream.rank), &lines(stream));
        }
        also(&lab, &streams);
    }
}

#[test]
fn messages() {
    program("pingpong.c", 2, |lab, streams| {
        let calls: usize = streams[0].calls.len();
        assert!(
            streams[0].bytes <= 12 * calls,
            "{} bytes for {calls} calls",
            streams[0].bytes
        );
        let text = lab.description();
        assert!(
            text.contains("ranks = 2\n") && text.contains("finalised = true\n"),
            "{text}"
        );
    });
}

#[test]
fn requests() {
    program("requests.c", 4, |_, _| {});
}

#[test]
fn probes() {
    program("probes.c", 3, |_, _| {});
}

#[test]
fn collectives() {
    program("collectives.c", 4, |_, streams| {
        let comm = |rank: usize, id| streams[rank].comms[&id].as_str();
        // A grid of two by two, the second dimension closed; -1 is MPI_PROC_NULL.
        let grid = "MPI_Cart_create parent=0 nth=0 members=[0, 1, 2, 3] from=[-1, 2, 1, 1] to=[-1, 2, 1, 1]";
        assert_eq!(comm(0, 2), grid);
        let graph = "MPI_Dist_graph_create_adjacent parent=0 nth=1 members=[0, 1, 2, 3] from=[0, 3] to=[2, 3]";
        assert_eq!(comm(1, 3), graph);
    });
}

#[test]
fn communicators() {
    program("communicators.c", 6, |_, streams| {
        let comm = |rank: usize, id| streams[rank].comms[&id].as_str();
        assert_eq!(
            comm(0, 0),
            "MPI_Init parent=0 nth=0 members=[0, 1, 2, 3, 4, 5]"
        );
        assert_eq!(
            comm(3, 2),
            "MPI_Comm_dup parent=0 nth=0 members=[0, 1, 2, 3, 4, 5]"
        );
        // By descending rank.
        assert_eq!(
            comm(3, 3),
            "MPI_Comm_split parent=2 nth=0 members=[5, 3, 1]"
        );
        assert_eq!(
            comm(3, 4),
            "MPI_Comm_split parent=2 nth=1 members=[1, 2, 3, 4, 5]"
        );
        assert_eq!(
            comm(3, 5),
            "MPI_Comm_create_group parent=0 nth=0 members=[1, 3, 5]"
        );
        assert_eq!(
            comm(3, 6),
            "MPI_Comm_create parent=0 nth=1 members=[1, 3, 5]"
        );
        // Ids differ, as ranks 0 and 1 are in fewer, but not what tells communicators apart.
        assert_eq!(
            comm(0, 4),
            "MPI_Comm_split parent=0 nth=2 members=[0, 1, 2]"
        );
        assert_eq!(comm(1, 7), comm(0, 4));
        assert_eq!(
            comm(0, 5),
            "MPI_Intercomm_create parent=4 nth=0 members=[0, 1, 2] remote=[3, 4, 5]"
        );
        assert_eq!(
            comm(0, 6),
            "MPI_Intercomm_merge parent=5 nth=0 members=[0, 1, 2, 3, 4, 5]"
        );
        assert_eq!(
            comm(0, 8),
            "MPI_Comm_idup parent=0 nth=4 members=[0, 1, 2, 3, 4, 5]"
        );
    });
}

/// The calibration takes seconds, as it does beside many other processes.
#[test]
fn a_busy_machine() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("busy.c", &["-shared", "-fPIC"]);
        std::fs::rename(lab.at("app"), lab.at("busy.so")).unwrap();
        lab.compile("requests.c", &[]);
        let app = format!(
            "LD_PRELOAD=$LD_PRELOAD:{} exec ./app",
            lab.at("busy.so").display()
        );
        std::fs::write(lab.at("script"), app).unwrap();
        let (launcher, options) = mpi.launcher.split_first().unwrap();
        let mut command = lab.command(launcher);
        command.args(options).args(["-n", "2", FLITWISE, "record"]);
        command.args(["--mpicc", mpi.cc, "-o", "recording", "--", "sh", "script"]);
        succeeded(&command.output().unwrap());
        for stream in &lab.streams() {
            assert!(stream.overhead[3] > 1_000_000, "{:?}", stream.overhead);
            compare("requests.c", &lab.known(stream.rank), &lines(stream));
        }
    }
}

#[test]
fn partitions() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("partitioned.c", &[]);
        let output = lab.record(2, &[]);
        if !lab.at("known/0").exists() {
            eprintln!("skipped: {} knows no partitioned communication", mpi.cc);
            continue;
        }
        succeeded(&output);
        for stream in &lab.streams() {
            compare("partitioned.c", &lab.known(stream.rank), &lines(stream));
        }
    }
}

#[test]
fn errors_regions_children_windows_and_large_counts() {
    program("odd.c", 2, |_, streams| {
        for stream in streams {
            assert_eq!(
                stream.notes,
                ["the process made another one with fork, which is not recorded"]
            );
        }
    });
}

#[test]
fn fortran() {
    let _one = alone();
    for mpi in mpis() {
        if !exists(mpi.fortran) {
            eprintln!("skipped: no {}", mpi.fortran);
            continue;
        }
        for interface in ["-DMPIF", "-DMODULE_MPI", "-DF08"] {
            let lab = Lab::new(mpi);
            lab.compile("fortran.F90", &[interface, "-fallow-argument-mismatch"]);
            succeeded(&lab.record(4, &[]));
            for stream in &lab.streams() {
                // The program does not count its polls.
                let found = |line: &String| !line.ends_with("MPI_Testall of 2:");
                let recorded: Vec<String> = lines(stream).into_iter().filter(found).collect();
                let what = format!("{} {interface}, rank {}", mpi.fortran, stream.rank);
                let known = lab.known(stream.rank);
                compare(&what, &known, &recorded);
            }
        }
    }
}

#[test]
fn threads() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("threads.c", &[]);
        succeeded(&lab.record(2, &[]));
        assert!(lab.description().contains("thread_level = \"multiple\"\n"));
        let streams = lab.streams();
        // The thread that computes calls no MPI.
        assert_eq!(streams.len(), 12);
        for rank in [0, 1] {
            let own: Vec<&Stream> = streams.iter().filter(|s| s.rank == rank).collect();
            let all = |name: &str| {
                let calls = own.iter().flat_map(|s| &s.calls);
                calls
                    .filter(|c| c.name == name)
                    .map(|c| c.fields.clone())
                    .collect::<Vec<_>>()
            };
            let sends = all("MPI_Send");
            for tag in 0..4 {
                let expected = format!("comm=0 peer={} tag={tag} 1*4", 1 - rank);
                assert_eq!(
                    sends.iter().filter(|line| **line == expected).count(),
                    100,
                    "tag {tag}"
                );
            }
            assert_eq!(all("MPI_Recv").len(), 300);
            // Another thread completed the requests of thread 0.
            let names: Vec<String> = (0..100).map(|n| format!("0:{n}got()")).collect();
            assert_eq!(all("MPI_Waitall"), [format!("of 100: {}", names.join(" "))]);
            let recorded: u64 = own.iter().filter_map(|s| s.end).map(|end| end[2]).sum();
            let process = own[0].end.unwrap()[1];
            let worker = process.saturating_sub(recorded);
            assert!(
                worker >= 290_000_000,
                "the worker computed {worker} ns of {process} ns"
            );
        }
    }
}

/// A replay of the threads' calls in the order of their times does not stall.
#[test]
fn threads_that_wait_for_each_other() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("crossing.c", &[]);
        for _ in 0..3 {
            succeeded(&lab.record(2, &[]));
            let mut convert = lab.command(FLITWISE);
            convert.args(["trace", "convert", "recording", "all.vef"]);
            succeeded(&convert.output().unwrap());
        }
    }
}

#[test]
fn an_error_handler_that_does_not_return() {
    program("handler.c", 2, |_, _| {});
}

/// C cannot tell whether `MPI_Pcontrol` has a second argument.
#[test]
fn regions_have_names_if_the_user_says_so() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("odd.c", &[]);
        succeeded(&lab.record_launcher(&[], 2, &[]));
        for stream in &lab.streams() {
            let marks = stream.calls.iter().filter(|c| c.name == "MPI_Pcontrol");
            let fields: Vec<&str> = marks.map(|call| call.fields.trim_end()).collect();
            assert_eq!(fields, ["1", "-1", "5"]);
        }
    }
}

/// A rank that has a processor of its own shares none, although it may use only one.
#[test]
fn processors_are_shared_by_ranks_that_have_no_others() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("clocks.c", &[]);
        let one = &lab.bound(&["taskset", "-c", "0"]);
        succeeded(one);
        let about = lab.description();
        assert!(about.contains("processors_of_rank = [1, 1]"), "{about}");
        assert!(about.contains("sharers_of_rank = [2, 2]"), "{about}");
        if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
            succeeded(&lab.bound(&["./own"]));
            let about = lab.description();
            assert!(about.contains("processors_of_rank = [1, 1]"), "{about}");
            assert!(about.contains("sharers_of_rank = [1, 1]"), "{about}");
        }
    }
}

#[test]
fn clocks() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("clocks.c", &[]);
        // More ranks than processors: the wall clock also counts the others.
        succeeded(&lab.record(4, &[]));
        for stream in &lab.streams() {
            let known = lab.known(stream.rank);
            let mut known = known[0].split(' ').map(|n| n.parse::<f64>().unwrap());
            let barriers: Vec<&Call> = stream
                .calls
                .iter()
                .filter(|c| c.name == "MPI_Barrier")
                .collect();
            assert_eq!(barriers.len(), 50);
            assert!(barriers.iter().all(|call| call.inside > 0));
            let cpu: u64 = barriers.iter().map(|c| c.gap_cpu).sum();
            let wall: i64 = barriers.iter().map(|c| c.gap_wall).sum();
            for (clock, recorded) in [("cpu", cpu as f64), ("wall", wall as f64)] {
                let ratio = recorded / known.next().unwrap();
                assert!(
                    (0.99..1.01).contains(&ratio),
                    "{clock}: {ratio} of the program's own measure"
                );
            }
            let [cpu, wall, inside, call] = stream.overhead;
            assert!(
                cpu < 2000 && wall < 1000 && inside < 2000 && call < 5000,
                "{:?}",
                stream.overhead
            );
        }
    }
}

/// Polls are short, and whatever else the machine does between two of them counts. So the closest of some recordings
/// counts.
#[test]
fn computation_between_polls() {
    let _one = alone();
    for mpi in mpis() {
        let lab = Lab::new(mpi);
        lab.compile("polls.c", &[]);
        let furthest = (0..3).map(|_| furthest_between_polls(&lab));
        let closest = furthest.min_by(f64::total_cmp).unwrap();
        assert!(closest < 0.05, "{closest} of the program's own measure");
    }
}

/// How far the computation of a rank between its polls is from what the program measures.
fn furthest_between_polls(lab: &Lab) -> f64 {
    succeeded(&lab.record(2, &[]));
    let mut command = lab.command(FLITWISE);
    let info = command.args(["trace", "info", "--json", "recording"]);
    let info = info.output().unwrap();
    succeeded(&info);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    let of_streams = lab.streams().into_iter().map(|stream| {
        let polls = stream.calls.iter().filter(|call| found_nothing(call));
        assert_eq!(polls.map(|call| call.times).sum::<u64>(), 20_000);
        let known: f64 = lab.known(stream.rank)[0].parse().unwrap();
        let replayed = info["compute_cpu_ns"]["per_rank"][stream.rank as usize].as_f64();
        (replayed.unwrap() / known - 1.0).abs()
    });
    of_streams.max_by(f64::total_cmp).unwrap()
}
