//! Studies on a cluster. Commands with the names of Slurm's, which run the elements of arrays one after the other
//! on this machine, stand for one; `tests/slurm/study.sh` does the same with a real one.

use super::{End, command, end, names, run, text_of};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const SBATCH: &str = r#"#!/bin/sh
for argument in "$@"; do
    case $argument in
        --array=*) last=${argument#--array=0-}; last=${last%%%*} ;;
        --output=*) log=${argument#--output=} ;;
        --job-name=*) name=${argument#--job-name=} ;;
        --partition=nowhere) echo "sbatch: error: invalid partition specified: nowhere" >&2; exit 1 ;;
    esac
    script=$argument
done
echo "$@" >> "$FAKE/submitted"
id=$(wc -l < "$FAKE/submitted")
for i in $(seq 0 "$last"); do echo "$id $i $name" > "$FAKE/queue/$id.$i"; done
(
    for i in $(seq 0 "$last"); do
        [ -e "$FAKE/queue/$id.$i" ] || continue
        log_of=$(echo "$log" | sed "s/%a/$i/")
        if [ -e "$FAKE/lose-all" ] || rm "$FAKE/lose-one" 2> /dev/null; then
            echo "slurmstepd: error: Detected 1 oom_kill event" > "$log_of"
        else
            SLURM_ARRAY_TASK_ID=$i sh "$script" > "$log_of" 2>&1
        fi
        rm -f "$FAKE/queue/$id.$i"
    done
) > /dev/null 2>&1 &
echo "$id"
"#;
const SQUEUE: &str = "#!/bin/sh\ncat \"$FAKE\"/queue/* 2> /dev/null || true\n";
const SCANCEL: &str = "#!/bin/sh\nfor id in \"$@\"; do rm -f \"$FAKE/queue/$id\".*; done\necho \"$@\" > \"$FAKE/cancelled\"\n";
const SCONTROL: &str = "#!/bin/sh\necho 'MaxArraySize            = 5'\n";

/// A cluster, a study file and where its results go.
struct Cluster {
    dir: tempfile::TempDir,
    file: String,
}

impl Cluster {
    /// A study of six runs. With `broken` three more do not fit into their fabric.
    fn new(broken: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fake = dir.path().join("fake");
        std::fs::create_dir_all(fake.join("queue")).unwrap();
        for (name, text) in [
            ("sbatch", SBATCH),
            ("squeue", SQUEUE),
            ("scancel", SCANCEL),
            ("scontrol", SCONTROL),
        ] {
            let path = fake.join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let small = if broken {
            "small = { \"fabric.topology.n\" = 1 }\n"
        } else {
            ""
        };
        let root = env!("CARGO_MANIFEST_DIR");
        let text = format!(
            "name = \"a cluster's\"\nseeds = \"1..3\"\n\
             [experiment.fabric]\ntopology = {{ kind = \"k-ary-n-tree\", k = 4, n = 2 }}\n\
             [[experiment.job]]\ntrace = \"{root}/traces/randomaccess-16.vef.gz\"\n\
             placement = \"random\"\ncompute_scale = 0.05\n\
             [[experiment.background]]\nrate = 0.1\n\
             [[axis]]\nname = \"case\"\n[axis.variants]\n\
             light = {{ \"background.0.rate\" = 0.1 }}\nheavy = {{ \"background.0.rate\" = 0.3 }}\n{small}"
        );
        let file = dir.path().join("study file.toml");
        std::fs::write(&file, text).unwrap();
        let file = text_of(&file);
        Self { dir, file }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn fake(&self, name: &str) -> PathBuf {
        self.path("fake").join(name)
    }

    /// `flitwise study` with these arguments, on this cluster.
    fn study(&self, args: &[&str]) -> (End, String, String) {
        let mut command = command(&["study"]);
        let path = std::env::var("PATH").unwrap();
        command
            .args(args)
            .env("FAKE", self.path("fake"))
            .env("PATH", format!("{}:{path}", self.path("fake").display()));
        end(command.spawn().unwrap())
    }

    fn slurm(&self, out: &str, more: &[&str]) -> (End, String, String) {
        let out = text_of(&self.path(out));
        let mut args = vec![self.file.as_str(), "--engine", "slurm", "--poll", "0.05"];
        args.extend(["--out", &out]);
        args.extend(more);
        self.study(&args)
    }

    fn local(&self, out: &str) -> End {
        let out = text_of(&self.path(out));
        self.study(&[&self.file, "--out", &out]).0
    }

    /// The tables, the slowest run, and the names of the records; without commands, which say where they wrote.
    fn content(&self, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let dir = self.path(out);
        let mut files: Vec<PathBuf> = names(&dir).into_iter().map(PathBuf::from).collect();
        for inner in ["records", "slowest-run"].map(Path::new) {
            files.extend(names(&dir.join(inner)).iter().map(|name| inner.join(name)));
        }
        files.retain(|file| !file.ends_with("command.txt"));
        files.retain(|file| {
            file.extension()
                .is_none_or(|extension| extension != "failed")
        });
        let bytes = |file: &PathBuf| {
            if file.starts_with("records") || dir.join(file).is_dir() {
                Vec::new()
            } else {
                std::fs::read(dir.join(file)).unwrap()
            }
        };
        let all = files.iter().map(|file| (file.clone(), bytes(file)));
        all.filter(|(file, _)| !file.ends_with("cluster")).collect()
    }

    fn submitted(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.fake("submitted")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_cluster_yields_the_same_bytes() {
    let cluster = Cluster::new(true);
    assert_eq!(cluster.local("here"), End::Exit(1), "three runs do not fit");
    let options = [
        "--time=1:00:00",
        "--memory",
        "4G",
        "--max-elements",
        "2",
        "--sbatch=--account=x",
    ];
    let (how, out, err) = cluster.slurm("there", &options);
    assert_eq!(how, End::Exit(1), "{err}");
    assert!(
        out.contains("light") && err.contains("3 of 9 runs failed"),
        "{err}"
    );
    assert!(cluster.content("here") == cluster.content("there"), "{err}");
    // No more elements than MaxArraySize, and what was asked for.
    let submitted = cluster.submitted();
    assert_eq!(submitted.len(), 1, "{submitted:?}");
    for part in [
        "--array=0-4%2",
        "--time=1:00:00",
        "--mem=4G",
        "--cpus-per-task=1",
        "--account=x",
        "--job-name=a-cluster-s.",
    ] {
        assert!(submitted[0].contains(part), "{part}: {submitted:?}");
    }
    // Only what failed is tried again.
    let (how, _, err) = cluster.slurm("there", &[]);
    assert_eq!(how, End::Exit(1), "{err}");
    let there = cluster.path("there");
    let list = std::fs::read_to_string(there.join("cluster/2/tasks")).unwrap();
    let records = names(&there.join("records"));
    let failed = records.iter().filter(|name| name.ends_with(".failed"));
    assert_eq!(list.lines().count() - 1, failed.count(), "{list}");
    assert!(cluster.content("here") == cluster.content("there"), "{err}");
}

#[test]
fn elements_that_are_lost_are_tried_again_and_then_a_reason() {
    let cluster = Cluster::new(false);
    assert_eq!(cluster.local("here"), End::Exit(0));
    std::fs::write(cluster.fake("lose-one"), "").unwrap();
    let (how, _, err) = cluster.slurm("one", &["--tasks-per-element", "100"]);
    assert_eq!(how, End::Exit(0), "{err}");
    assert_eq!(cluster.submitted().len(), 2, "{err}");
    assert!(cluster.content("here") == cluster.content("one"), "{err}");
    std::fs::write(cluster.fake("lose-all"), "").unwrap();
    let (how, out, err) = cluster.slurm("all", &[]);
    assert_eq!(how, End::Exit(1), "{err}");
    // Three times each; elements that ended later than others may be an array of their own.
    assert!(cluster.submitted().len() >= 2 + 3, "{err}");
    let reason = "3 elements of this task ended without a record: slurmstepd: error: Detected 1 oom_kill event";
    let rows = std::fs::read_to_string(cluster.path("all").join("runs.csv")).unwrap();
    assert!(rows.contains(reason), "{out}{rows}");
    // The same command goes on when the cluster is well again.
    std::fs::remove_file(cluster.fake("lose-all")).unwrap();
    let (how, _, err) = cluster.slurm("all", &[]);
    assert_eq!(how, End::Exit(0), "{err}");
    assert!(cluster.content("here") == cluster.content("all"), "{err}");
}

#[test]
fn what_is_in_the_queue_is_not_submitted_again_and_can_be_cancelled() {
    let cluster = Cluster::new(false);
    // Elements that stay in the queue.
    let (how, _, err) = cluster.slurm("out", &["--partition", "nowhere"]);
    assert_eq!(how, End::Exit(1));
    assert!(
        err.contains("sbatch: sbatch: error: invalid partition specified"),
        "{err}"
    );
    let name = std::fs::read_to_string(cluster.path("out").join("cluster").join("name")).unwrap();
    let list = cluster.path("out").join("cluster").join("1").join("tasks");
    assert!(std::fs::read_to_string(&list).unwrap().lines().count() > 6);
    for element in 0..5 {
        let line = format!("7 {element} {}.1\n", name.trim());
        std::fs::write(cluster.fake("queue").join(format!("7.{element}")), line).unwrap();
    }
    let out = text_of(&cluster.path("out"));
    let mut waiting = command(&["study", &cluster.file, "--engine=slurm", "--poll=0.05"]);
    let path = std::env::var("PATH").unwrap();
    waiting
        .args(["--out", &out])
        .env("FAKE", cluster.path("fake"));
    waiting.env("PATH", format!("{}:{path}", cluster.path("fake").display()));
    let waiting = waiting.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert_eq!(
        cluster.submitted().len(),
        0,
        "what is queued was submitted again"
    );
    super::signal(&waiting, super::SIGINT);
    let (how, _, err) = end(waiting);
    assert_eq!(how, End::Signal(super::SIGINT), "{err}");
    assert!(err.contains("flitwise study cancel"), "{err}");
    let (how, text, err) = cluster.study(&["cancel", &out]);
    assert_eq!(
        (how, text.as_str()),
        (End::Exit(0), "cancelled 5 elements of job 7\n"),
        "{err}"
    );
    let (_, text, _) = cluster.study(&["cancel", &out]);
    assert!(text.contains("no element of this study"), "{text}");
    // Cancelled while a command follows, it stays cancelled.
    std::fs::write(
        cluster.fake("queue").join("7.0"),
        format!("7 0 {}.1\n", name.trim()),
    )
    .unwrap();
    let mut following = command(&["study", &cluster.file, "--engine=slurm", "--poll=0.05"]);
    following
        .args(["--out", &out, "--quiet"])
        .env("FAKE", cluster.path("fake"));
    following.env("PATH", format!("{}:{path}", cluster.path("fake").display()));
    let following = following.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(cluster.study(&["cancel", &out]).0, End::Exit(0));
    let (how, _, err) = end(following);
    assert!(
        how != End::Exit(0) && err.contains("the study was cancelled"),
        "{how:?} {err}"
    );
    let (how, _, err) = cluster.slurm("out", &[]);
    assert_eq!(how, End::Exit(0), "{err}");
    assert!(!cluster.submitted().is_empty());
}

#[test]
fn tasks_are_words_that_any_process_can_do() {
    let cluster = Cluster::new(false);
    assert_eq!(cluster.local("here"), End::Exit(0));
    let out = text_of(&cluster.path("out"));
    let study = |words: &[&str]| {
        let mut args = vec![words[0], &cluster.file, "--out", &out];
        args.extend(&words[1..]);
        cluster.study(&args)
    };
    let (how, list, err) = study(&["tasks"]);
    assert_eq!(how, End::Exit(0), "{err}");
    assert!(!Path::new(&out).exists(), "a list changes nothing");
    let tasks: Vec<&str> = list.lines().collect();
    assert!(tasks.len() > 6, "{list}");
    // Some are done twice.
    let (how, _, err) = study(&["task", tasks[0], tasks[1], "--jobs", "2"]);
    assert_eq!(how, End::Exit(0), "{err}");
    assert!(err.contains("2 tasks: 2 done, 0 recorded before"), "{err}");
    let (_, _, err) = study(&["task", tasks[1], tasks[2]]);
    assert!(err.contains("2 tasks: 1 done, 1 recorded before"), "{err}");
    let (_, rest, _) = study(&["tasks"]);
    assert_eq!(rest.lines().collect::<Vec<_>>(), tasks[3..]);
    let mut all = vec!["task"];
    all.extend(&tasks);
    assert_eq!(study(&all).0, End::Exit(0));
    assert_eq!(study(&["tasks"]).1, "");
    assert_eq!(cluster.local("out"), End::Exit(0));
    assert!(cluster.content("here") == cluster.content("out"));
    // What is no task, and what is none any more.
    let (how, _, err) = study(&["task", "first"]);
    assert_eq!(how, End::Exit(2));
    assert!(
        err.contains("`first`: no task; `flitwise study tasks` prints them"),
        "{err}"
    );
    let (how, _, err) = study(&["task", tasks[0], "--set", "background.0.message=2KiB"]);
    assert_eq!(how, End::Exit(1));
    assert!(err.contains("is no task of this study"), "{err}");
    let far = format!("{}.99.1", tasks[0].split('.').next().unwrap());
    assert_eq!(study(&["task", &far]).0, End::Exit(1));
}

#[test]
fn where_there_is_no_cluster_it_is_said() {
    let cluster = Cluster::new(false);
    let out = text_of(&cluster.path("out"));
    let (how, _, err) = run(&["study", &cluster.file, "--out", &out, "--partition", "main"]);
    assert_eq!(how, End::Exit(2), "{err}");
    assert!(
        err.contains("--partition is for a cluster; add --engine slurm"),
        "{err}"
    );
    let mut nowhere = command(&["study", &cluster.file, "--out", &out, "--engine", "slurm"]);
    nowhere.env("PATH", cluster.path("nothing"));
    let (how, _, err) = end(nowhere.spawn().unwrap());
    assert_eq!(how, End::Exit(1), "{err}");
    assert!(
        err.contains("there is no `squeue`: --engine slurm runs where"),
        "{err}"
    );
    let (how, _, err) = run(&["study", "cancel", &text_of(cluster.dir.path())]);
    assert_eq!(how, End::Exit(2), "{err}");
    assert!(
        err.contains("is not the directory of a study that ran with --engine slurm"),
        "{err}"
    );
    let (how, _, err) = run(&["study", &cluster.file, "--engine", "slurm", "--poll", "0"]);
    assert_eq!(how, End::Exit(2), "{err}");
}
