//! `recording.toml`: a text about all of a recording, which rank 0 writes.

use serde::Deserialize;
use std::io::Read;

use super::header::VERSION;
use crate::error::Error;
use crate::limits::{MAX_RECORDING_TOML, MAX_TASKS};
use crate::member::{Member, Open};
use flitwise_base::place::{PlaceError, Problem};

/// The name of the file.
pub(super) const NAME: &str = "recording.toml";

/// The facts about a recording.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Description {
    format: u32,
    #[serde(deserialize_with = "digits")]
    pub(super) run: [u8; 16],
    /// The version of the recorder.
    #[serde(default)]
    pub flitwise: String,
    /// Seconds since 1970.
    #[serde(default)]
    pub started: u64,
    /// The arguments of rank 0.
    #[serde(default)]
    pub command: Vec<String>,
    /// The MPI library, as it describes itself.
    #[serde(default)]
    pub mpi: String,
    /// The version of the standard.
    #[serde(default)]
    pub mpi_version: String,
    /// The level of threads.
    #[serde(default)]
    pub thread_level: String,
    /// The number of ranks.
    pub ranks: u32,
    /// The names of the hosts.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// The host of each rank, as a place in `hosts`.
    #[serde(default)]
    pub host_of_rank: Vec<u32>,
    /// The number of processors that each rank may use.
    #[serde(default)]
    pub processors_of_rank: Vec<u32>,
    /// The number of ranks of its host, itself included, that may use no processors besides its own.
    #[serde(default)]
    pub sharers_of_rank: Vec<u32>,
    /// Whether rank 0 came to the end of `MPI_Finalize`.
    #[serde(default)]
    pub finalised: bool,
    /// Of a part of another recording: the clock of its computations, which the part alone may not tell.
    pub compute_time: Option<Clock>,
}

/// The clock that measures computations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The wall clock.
    Wall,
    /// The CPU time of the threads.
    Cpu,
}

/// A number of 32 hexadecimal digits.
fn digits<'de, D: serde::Deserializer<'de>>(from: D) -> Result<[u8; 16], D::Error> {
    let text = String::deserialize(from)?;
    let number = u128::from_str_radix(&text, 16).ok();
    let number = number.filter(|_| text.len() == 32 && !text.starts_with('+'));
    let number = number.ok_or_else(|| serde::de::Error::custom("not 32 hexadecimal digits"))?;
    Ok(number.to_be_bytes())
}

impl Description {
    /// Reads the file.
    pub(super) fn read(file: &Member, open: &Open) -> Result<Self, Error> {
        let path = file.name();
        let mut text = String::new();
        let bytes = file.raw(0, open);
        let read = bytes.take(MAX_RECORDING_TOML + 1).read_to_string(&mut text);
        read.map_err(|e| Error::io(path, e))?;
        if text.len() as u64 > MAX_RECORDING_TOML {
            let problem = format!("has more than {MAX_RECORDING_TOML} bytes");
            return Err(Error::set(path, problem));
        }
        Self::parse(&text).map_err(|error| match error {
            (Some(line), message) => Error::broken(PlaceError::line(line, message).of(path)),
            (None, message) => Error::broken(Problem::whole(path, message)),
        })
    }

    /// The meaning of `text`, or the line that is wrong, and why.
    fn parse(text: &str) -> Result<Self, (Option<u64>, String)> {
        let description: Self = toml::from_str(text).map_err(|e| {
            let before = e.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() as u64 + 1);
            let problem = e.message().replace('\n', "; ");
            let cure = "the file is damaged: copy it or record the program again";
            (line, format!("{problem}; {cure}"))
        })?;
        let whole = |problem: String| Err((None, problem));
        let Self { format, ranks, .. } = description;
        if format != VERSION {
            return whole(format!(
                "is of version {format} of the format, and this program reads version {VERSION}; use a newer one, or record the program again"
            ));
        }
        if ranks == 0 || ranks > MAX_TASKS {
            return whole(format!("has {ranks} ranks; it may have 1 to {MAX_TASKS}"));
        }
        for (key, len) in [
            ("host_of_rank", description.host_of_rank.len()),
            ("processors_of_rank", description.processors_of_rank.len()),
            ("sharers_of_rank", description.sharers_of_rank.len()),
        ] {
            if len > 0 && len != ranks as usize {
                return whole(format!(
                    "`{key}` has {len} entries for {ranks} ranks; the file is damaged: copy it again"
                ));
            }
        }
        Ok(description)
    }

    /// The facts about a part of the recording, with these ranks, which calls its run `run` and takes computations from `clock`.
    #[must_use]
    pub fn of_part(&self, ranks: &[u32], run: [u8; 16], clock: Clock) -> Self {
        let of = |all: &[u32]| -> Vec<u32> {
            let kept = ranks.iter().filter_map(|&rank| all.get(rank as usize));
            kept.copied().collect()
        };
        Self {
            run,
            ranks: ranks.len() as u32,
            host_of_rank: of(&self.host_of_rank),
            processors_of_rank: of(&self.processors_of_rank),
            sharers_of_rank: of(&self.sharers_of_rank),
            finalised: true,
            compute_time: Some(clock),
            ..self.clone()
        }
    }

    /// The number that all streams of the recording repeat.
    #[must_use]
    pub fn run(&self) -> [u8; 16] {
        self.run
    }

    /// The text of the file.
    pub(super) fn text(&self) -> String {
        let run = u128::from_be_bytes(self.run);
        let texts = |all: &[String]| all.iter().map(|one| literal(one)).collect::<Vec<_>>();
        let numbers = |all: &[u32]| all.iter().map(u32::to_string).collect::<Vec<_>>();
        let mut text = format!("format = {VERSION}\nrun = \"{run:032x}\"\n");
        let mut put = |key: &str, value: String| {
            let line = format!("{key} = {value}\n");
            text.push_str(&line);
        };
        put("flitwise", literal(&self.flitwise));
        put("started", self.started.to_string());
        put("command", list(&texts(&self.command)));
        put("mpi", literal(&self.mpi));
        put("mpi_version", literal(&self.mpi_version));
        put("thread_level", literal(&self.thread_level));
        put("ranks", self.ranks.to_string());
        put("hosts", list(&texts(&self.hosts)));
        put("host_of_rank", list(&numbers(&self.host_of_rank)));
        put(
            "processors_of_rank",
            list(&numbers(&self.processors_of_rank)),
        );
        put("sharers_of_rank", list(&numbers(&self.sharers_of_rank)));
        put("finalised", self.finalised.to_string());
        match self.compute_time {
            Some(Clock::Wall) => put("compute_time", literal("wall")),
            Some(Clock::Cpu) => put("compute_time", literal("cpu")),
            None => {}
        }
        text
    }

    /// The hosts on which ranks shared processors: the name, and the most ranks, with the processors that were theirs. Without
    /// [`sharers_of_rank`](Self::sharers_of_rank) all ranks of a host are taken to share the processors of one.
    pub fn crowded_hosts(&self) -> impl Iterator<Item = (&str, u32, u32)> {
        let mut ranks_of = vec![0_u32; self.hosts.len()];
        for &host in &self.host_of_rank {
            if let Some(ranks) = ranks_of.get_mut(host as usize) {
                *ranks += 1;
            }
        }
        let mut crowds = vec![None; self.hosts.len()];
        let ranks = self.host_of_rank.iter().zip(&self.processors_of_rank);
        for (rank, (&host, &processors)) in ranks.enumerate() {
            let of_host = ranks_of.get(host as usize).copied().unwrap_or(0);
            let sharers = self.sharers_of_rank.get(rank).copied().unwrap_or(of_host);
            let crowd = crowds
                .get_mut(host as usize)
                .filter(|_| sharers > processors);
            if let Some(crowd) = crowd {
                // The fewest processors of the most ranks.
                let this = (sharers, std::cmp::Reverse(processors));
                *crowd = (*crowd).max(Some(this));
            }
        }
        let hosts = self.hosts.iter().zip(crowds);
        hosts.filter_map(|(name, crowd)| {
            crowd.map(|(ranks, processors)| (name.as_str(), ranks, processors.0))
        })
    }
}

/// A list in TOML.
fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

/// A text in TOML.
fn literal(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\U{:08X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "format = 1\nrun = \"000102030405060708090a0b0c0d0e0f\"\nranks = 3\n";

    #[test]
    fn a_description_has_what_is_needed() {
        let description = Description::parse(LEAST).unwrap();
        assert_eq!(description.run[15], 15);
        assert_eq!(description.crowded_hosts().count(), 0);
        let hosts =
            "hosts = [\"a\", \"b\"]\nhost_of_rank = [0, 1, 1]\nprocessors_of_rank = [1, 1, 1]\n";
        let description = Description::parse(&format!("{LEAST}{hosts}")).unwrap();
        assert_eq!(
            description.crowded_hosts().collect::<Vec<_>>(),
            [("b", 2, 1)]
        );
    }

    #[test]
    fn a_description_that_is_written_is_read() {
        let given = "flitwise = \"0.1\"\nstarted = 7\ncommand = [\"./a b\", \"\\\"q\\\\\\n\\u0007é\"]\nmpi = \"Open MPI\"\n\
                     mpi_version = \"3.1\"\nthread_level = \"single\"\nhosts = [\"a\", \"b\"]\nhost_of_rank = [0, 1, 1]\n\
                     processors_of_rank = [1, 2, 2]\nsharers_of_rank = [1, 2, 2]\ncompute_time = \"cpu\"\n";
        let description = Description::parse(&format!("{LEAST}{given}")).unwrap();
        assert_eq!(description.compute_time, Some(Clock::Cpu));
        assert_eq!(
            Description::parse(&description.text()),
            Ok(description.clone())
        );
        let part = description.of_part(&[0, 2], [1; 16], Clock::Wall);
        assert_eq!(Description::parse(&part.text()), Ok(part.clone()));
        assert_eq!((part.ranks, part.host_of_rank), (2, vec![0, 1]));
    }

    #[test]
    fn bound_ranks_share_no_processors() {
        let hosts = "hosts = [\"a\", \"b\"]\nhost_of_rank = [0, 1, 1]\n";
        let crowded = |keys: &str| -> Vec<(String, u32, u32)> {
            let description = Description::parse(&format!("{LEAST}{hosts}{keys}")).unwrap();
            let crowded = description.crowded_hosts();
            crowded
                .map(|(host, ranks, processors)| (host.to_owned(), ranks, processors))
                .collect()
        };
        let bound = "processors_of_rank = [1, 1, 1]\nsharers_of_rank = [1, 1, 1]\n";
        assert_eq!(crowded(bound), []);
        // Rank 1 may use both processors, of which one is rank 2's.
        let within = "processors_of_rank = [1, 2, 1]\nsharers_of_rank = [1, 2, 1]\n";
        assert_eq!(crowded(within), []);
        let both = "processors_of_rank = [1, 1, 1]\nsharers_of_rank = [1, 2, 2]\n";
        assert_eq!(crowded(both), [("b".to_owned(), 2, 1)]);
        let (_, why) = Description::parse(&format!("{LEAST}sharers_of_rank = [1]\n")).unwrap_err();
        assert!(
            why.contains("`sharers_of_rank` has 1 entries for 3 ranks"),
            "{why}"
        );
    }

    #[test]
    fn broken_descriptions_are_refused() {
        for (from, to, message) in [
            ("format = 1", "format = 2", "version 2"),
            ("ranks = 3", "ranks = 0", "1 to"),
            ("ranks = 3", "ranks = 3\nhost_of_rank = [0]", "1 entries"),
            ("0f\"", "0\"", "32 hexadecimal digits"),
            ("ranks = 3", "", "ranks"),
        ] {
            let (_, found) = Description::parse(&LEAST.replace(from, to)).unwrap_err();
            assert!(found.contains(message), "{found}");
        }
        let (line, _) = Description::parse(&LEAST.replace("= 3", "=")).unwrap_err();
        assert_eq!(line, Some(3));
    }
}
