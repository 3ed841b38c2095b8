//! The commands whose results fill a directory, and the files that each writes there.

use flitwise::oblivious::CONGESTION_SCHEMA;
use flitwise::record::{RECORDING_FILE, is_recording_file};
use flitwise::results::{ANALYSIS_FILE, RESULT_FILE, SCHEMA, is_analysis_file, is_result_file};
use flitwise::study::{STUDY_RESULT_FILE, TABLE_FILES};
use flitwise_formats::temporary;
use std::path::Path;

/// A command whose results take a whole directory.
#[derive(Debug)]
pub(in crate::cli) struct Owner {
    /// The name of its results in messages.
    pub noun: &'static str,
    /// The file that every result has, and by which one is known.
    pub marker: &'static str,
    /// The `schema` in this file.
    pub schema: &'static str,
    /// Whether a result may have a file of this name.
    pub owns: fn(&str) -> bool,
}

/// `flitwise run`.
pub(in crate::cli) static RUN: Owner = Owner {
    noun: "a result",
    marker: RESULT_FILE,
    schema: SCHEMA,
    owns: is_result_file,
};

/// `flitwise congestion`.
pub(in crate::cli) static ANALYSIS: Owner = Owner {
    noun: "a static analysis",
    marker: ANALYSIS_FILE,
    schema: CONGESTION_SCHEMA,
    owns: is_analysis_file,
};

/// `flitwise record`, whose description has no schema.
pub(in crate::cli) static RECORDING: Owner = Owner {
    noun: "a recording",
    marker: RECORDING_FILE,
    schema: "",
    owns: is_recording_file,
};

/// Whether an unfinished result of any command may have a file of this name.
pub(super) fn is_own_file(name: &str) -> bool {
    [&RUN, &ANALYSIS].iter().any(|owner| (owner.owns)(name))
        || TABLE_FILES.contains(&name)
        || temporary::is_temporary(name)
}

/// Whether the file `path` lies in the directory of a result, a static analysis or a study, which has no file of this name.
pub(in crate::cli) fn crowded(path: &Path) -> bool {
    let dir = path.parent().unwrap_or(Path::new(""));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let holds = |marker: &str| dir.join(marker).is_file();
    let of_one = |owner: &Owner| holds(owner.marker) && !(owner.owns)(&name);
    of_one(&RUN) || of_one(&ANALYSIS) || holds(STUDY_RESULT_FILE) && !TABLE_FILES.contains(&&*name)
}
