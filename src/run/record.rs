//! Records: the results of tasks, as files. The last key of a record is its own checksum, so a damaged one is made again.

use super::task::{Network, TaskId};
use super::traces::TraceDigest;
use super::{RunError, Simulation, Status};
use anyhow::Context;
use flitwise_formats::sink::{Batch, Sink, packed};
use flitwise_formats::source::{read_packed_text, read_regular_text};
use flitwise_formats::temporary;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;
use twox_hash::XxHash3_128;

/// Version of the layout.
pub(super) const RECORD_SCHEMA: &str = "flitwise-record-4";

/// No record takes this long to write: the process that wrote a temporary file of this age is gone.
const LEFT_OVER: Duration = Duration::from_secs(24 * 3600);

/// The result of a task. A record read back from a file equals the one written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    schema: String,
    /// Id of the task.
    id: String,
    /// Version of the program that ran it.
    version: String,
    /// The network that carried the messages.
    pub network: Network,
    /// The traces of its jobs, each once.
    pub traces: Vec<TraceDigest>,
    /// The result.
    pub simulation: Simulation,
}

impl Record {
    pub(super) fn new(
        id: TaskId,
        network: Network,
        traces: Vec<TraceDigest>,
        simulation: Simulation,
    ) -> Self {
        Self {
            schema: RECORD_SCHEMA.to_owned(),
            id: id.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            network,
            traces,
            simulation,
        }
    }
}

/// A directory with records, a file each, named by the id of its task. Each is JSON in a line, packed with zstd: a
/// study may have a million of them.
#[derive(Debug, Clone)]
pub(super) struct Records {
    dir: PathBuf,
}

impl Records {
    /// The records in `dir`, which is created if need be.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn in_dir(dir: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        temporary::remove_older(dir, LEFT_OVER);
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The file of a task's record.
    fn path(&self, id: TaskId) -> PathBuf {
        self.dir.join(format!("{id}.json.zst"))
    }

    /// The file of a task's record as it was before records were packed.
    fn plain_path(&self, id: TaskId) -> PathBuf {
        self.dir.join(format!("{id}.json"))
    }

    /// Whether a task has a record, which may be damaged.
    pub(super) fn has(&self, id: TaskId) -> bool {
        self.path(id).exists() || self.plain_path(id).exists()
    }

    /// The file that says why a task has no record.
    fn note(&self, id: TaskId) -> PathBuf {
        self.dir.join(format!("{id}.failed"))
    }

    /// Keeps why a task has no record.
    pub(super) fn note_failure(&self, id: TaskId, reason: &str) -> anyhow::Result<()> {
        let mut files = Batch::default();
        files.add(
            Sink::replace(&self.note(id))?,
            format!("{reason}\n").as_bytes(),
        )?;
        Ok(files.finish()?)
    }

    /// Why a task has no record, if that was noted.
    pub(super) fn failure(&self, id: TaskId) -> Option<String> {
        let reason = read_regular_text(&self.note(id)).ok()?;
        Some(reason.trim_end().to_owned())
    }

    /// Forgets why a task had no record.
    pub(super) fn forget_failure(&self, id: TaskId) {
        // Mostly there is none.
        let _ = std::fs::remove_file(self.note(id));
    }

    /// The record of a task; `None` if there is none, or its file is damaged: its task runs again.
    pub(super) fn read(&self, id: TaskId) -> Option<Record> {
        let text = read_packed_text(&self.path(id))
            .or_else(|_| read_regular_text(&self.plain_path(id)))
            .ok()?;
        let record: Record = serde_json::from_str(&checked(&text)?).ok()?;
        (record.schema == RECORD_SCHEMA && record.id == id.to_string()).then_some(record)
    }

    /// Keeps a record, unless its task was stopped before the end.
    pub(super) fn write(&self, id: TaskId, record: &Record) -> Result<(), RunError> {
        if let Status::Interrupted | Status::Saturated = record.simulation.status {
            return Ok(());
        }
        let write = || -> anyhow::Result<()> {
            let text = with_checksum(&serde_json::to_string(record)?);
            let mut files = Batch::default();
            files.add(
                Sink::replace_as_is(&self.path(id))?,
                &packed(text.as_bytes())?,
            )?;
            Ok(files.finish()?)
        };
        write()
            .context("cannot keep a record")
            .map_err(RunError::Unkept)
    }
}

/// The key of the checksum, behind all others of a record.
const CHECKSUM: &str = ",\"checksum\":\"";

fn checksum(text: &str) -> String {
    format!("{:032x}", XxHash3_128::oneshot(text.as_bytes()))
}

/// A JSON object and, as its last key, the XXH3 (128 bits) of the text before this key; a line.
fn with_checksum(object: &str) -> String {
    let body = object.strip_suffix('}').unwrap_or(object);
    format!("{body}{CHECKSUM}{}\"}}\n", checksum(body))
}

/// The object in a text of [`with_checksum`]; `None` if the text is not as it was written.
fn checked(text: &str) -> Option<String> {
    let (body, end) = text.rsplit_once(CHECKSUM)?;
    let sum = end.strip_suffix("\"}\n")?;
    (sum == checksum(body)).then(|| format!("{body}}}"))
}
