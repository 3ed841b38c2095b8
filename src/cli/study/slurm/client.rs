//! Slurm's commands: `scontrol`, `sbatch`, `squeue`, `scancel`.

use super::refused;
use anyhow::anyhow;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// The value of `MaxArraySize` if a cluster does not report it.
const USUAL_MAX_ARRAY_SIZE: usize = 1001;

/// Calls the commands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client;

/// An array to submit.
pub(super) struct Submission<'a> {
    pub name: &'a str,
    /// The pattern of the log files of elements.
    pub log: &'a Path,
    pub script: &'a Path,
    pub elements: usize,
    pub at_a_time: Option<u32>,
    pub options: &'a [String],
}

/// An element that is queued or running.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Element {
    /// Id of its array.
    pub job: String,
    /// Name of its array.
    pub name: String,
    pub index: usize,
}

impl Client {
    /// The largest number of elements of an array.
    pub(super) fn max_array_size(self) -> anyhow::Result<usize> {
        let text = output("scontrol", ["show", "config"])?;
        Ok(parse_max_array_size(&text).unwrap_or(USUAL_MAX_ARRAY_SIZE))
    }

    /// Submits an array and returns its id.
    pub(super) fn submit(self, array: &Submission<'_>) -> anyhow::Result<String> {
        let last = array.elements.saturating_sub(1);
        let at_a_time = array.at_a_time.map_or(String::new(), |n| format!("%{n}"));
        let mut arguments = vec![
            "--parsable".to_owned(),
            format!("--job-name={}", array.name),
            format!("--array=0-{last}{at_a_time}"),
            format!("--output={}", log_pattern(array.log)),
            "--no-requeue".to_owned(),
        ];
        arguments.extend(array.options.iter().cloned());
        let script = array.script.display().to_string();
        let text = output("sbatch", arguments.into_iter().chain([script]))?;
        parse_job(&text)
            .ok_or_else(|| anyhow!("sbatch printed no number of a job: {}", text.trim()))
    }

    /// The elements of arrays whose names begin with `prefix`.
    pub(super) fn live(self, prefix: &str) -> anyhow::Result<Vec<Element>> {
        let text = output(
            "squeue",
            ["--me", "--noheader", "--array", "--format=%F %K %j"],
        )?;
        Ok(parse_queue(&text, prefix))
    }

    /// Ends these jobs.
    pub(super) fn cancel(self, jobs: &[&str]) -> anyhow::Result<()> {
        output("scancel", jobs).map(|_| ())
    }
}

/// The pattern of the logs of an array, whose name has the only part that Slurm replaces.
fn log_pattern(log: &Path) -> String {
    let dir = log.parent().unwrap_or(Path::new(""));
    let dir = dir.display().to_string().replace('%', "%%");
    let name = log.file_name().unwrap_or_default();
    Path::new(&dir).join(name).display().to_string()
}

/// The output of a command.
fn output<S: AsRef<OsStr>>(
    command: &str,
    arguments: impl IntoIterator<Item = S>,
) -> anyhow::Result<String> {
    let output = Command::new(command).args(arguments).output();
    let output = output.map_err(|e| match e.kind() {
        ErrorKind::NotFound => anyhow!(
            "there is no `{command}`: --engine slurm runs where Slurm's commands are, such as the login node \
             of a cluster"
        ),
        _ => anyhow!("cannot run `{command}`: {e}"),
    })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(refused(command, &String::from_utf8_lossy(&output.stderr)))
    }
}

/// `MaxArraySize            = 1001`.
fn parse_max_array_size(text: &str) -> Option<usize> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let value = |(key, value): (&str, &str)| {
        (key.trim() == "MaxArraySize").then(|| value.trim().parse::<usize>().ok())
    };
    lines.filter_map(value).next()?.filter(|&size| size > 0)
}

/// `123`, or `123;cluster`.
fn parse_job(text: &str) -> Option<String> {
    let id = text.lines().next_back()?.split(';').next()?.trim();
    let digits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| id.to_owned())
}

/// Lines of array, index and name.
fn parse_queue(text: &str, prefix: &str) -> Vec<Element> {
    let element = |line: &str| {
        let mut words = line.split_whitespace();
        let (job, index, name) = (words.next()?, words.next()?, words.next()?);
        name.starts_with(prefix).then_some(())?;
        Some(Element {
            job: job.to_owned(),
            name: name.to_owned(),
            index: index.parse().ok()?,
        })
    };
    text.lines().filter_map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_of_a_directory_is_no_pattern() {
        let log = log_pattern(Path::new("/a%b/100%/log-%a"));
        assert_eq!(log, "/a%%b/100%%/log-%a");
    }

    #[test]
    fn what_slurm_prints_is_read() {
        let config = "Configuration data as of 2026-11-23T19:00:00\nMaxArraySize            = 1001\n\
                      MaxJobCount             = 10000\n";
        assert_eq!(parse_max_array_size(config), Some(1001));
        assert_eq!(parse_max_array_size("MaxArraySize = 0\n"), None);
        assert_eq!(parse_max_array_size("slurm"), None);
        assert_eq!(parse_job("17\n").as_deref(), Some("17"));
        assert_eq!(parse_job("17;alpha\n").as_deref(), Some("17"));
        assert_eq!(parse_job("sbatch: hello\n18\n").as_deref(), Some("18"));
        assert_eq!(parse_job("submitted\n"), None);
        assert_eq!(parse_job(""), None);
        let queue = "17 0 hpl.12ab.1\n17 12 hpl.12ab.1\n18 N/A other\n19 3 hpl.12abc.1\n20 N/A hpl.12ab.2\n\n";
        let live = parse_queue(queue, "hpl.12ab.");
        let element = |index| Element {
            job: "17".into(),
            name: "hpl.12ab.1".into(),
            index,
        };
        assert_eq!(live, [element(0), element(12)]);
    }
}
