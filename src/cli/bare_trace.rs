//! A trace given in place of an experiment: what to do with it.

use super::CliError;
use flitwise_formats::vef::Reader;
use flitwise_formats::{Foreign, Source};
use std::path::{Path, PathBuf};

/// NICs of the switch that an experiment has without a word about its fabric.
const USUAL_NICS: u32 = 48;

/// Says how to replay the file if it is a trace, or what it is if it is a trace that is not read;
/// `None` if it is neither, or no file that can be read again.
pub(super) fn instead_of_experiment(file: &Path) -> Option<CliError> {
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return None;
    }
    let name = file.display();
    let mut source = Source::open(file).ok()?;
    let head = source.head().ok()?;
    if !head.starts_with(b"VEF") {
        let format = Foreign::of(head).filter(|format| format.is_trace())?;
        return Some(CliError::BadInput(format!(
            "`{name}` is no experiment but {format}"
        )));
    }
    let ranks = Reader::open(file).map_or(0, |reader| reader.header().tasks);
    let experiment = experiment_of(file, ranks);
    // In single quotes a shell takes everything but these as it is.
    let cure = match experiment.contains('\'') {
        true => format!("name it in one: {experiment}"),
        false => {
            let new = unused(file);
            format!(
                "name it in one:\n  echo '{experiment}' > {new}\n  flitwise run {new}",
                new = new.display()
            )
        }
    };
    Some(CliError::BadInput(format!(
        "`{name}` is a trace, and `run` takes an experiment (docs/experiment.md); {cure}"
    )))
}

/// The smallest experiment with the trace at `file`, on a fabric with room for its `ranks`.
fn experiment_of(file: &Path, ranks: u32) -> String {
    // A text of JSON is one of TOML, too.
    let trace = serde_json::Value::from(file.display().to_string());
    let job = format!("job = [{{ trace = {trace} }}]");
    let fits = |&(k, n): &(u32, u32)| k.checked_pow(n).is_some_and(|nics| nics >= ranks);
    let sizes = (2..=5).flat_map(|n| (2..=32).map(move |k| (k, n)));
    match sizes.filter(|_| ranks > USUAL_NICS).find(fits) {
        None => job,
        Some((k, n)) => {
            format!("{job}\nfabric.topology = {{ kind = \"k-ary-n-tree\", k = {k}, n = {n} }}")
        }
    }
}

/// A name for the experiment, in the current directory, that no file has.
fn unused(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem: String = name
        .chars()
        .take_while(|&c| c != '.')
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    let stem = stem.trim_start_matches('-');
    let stem = if stem.is_empty() { "experiment" } else { stem };
    let names = (1..).map(|i| match i {
        1 => format!("{stem}.toml"),
        _ => format!("{stem}-{i}.toml"),
    });
    let free = names.map(PathBuf::from).find(|path| !path.exists());
    free.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_traces_get_a_tree() {
        let of = |ranks| experiment_of(Path::new("a \"b\".vef"), ranks);
        assert_eq!(of(48), r#"job = [{ trace = "a \"b\".vef" }]"#);
        assert!(of(49).ends_with("\nfabric.topology = { kind = \"k-ary-n-tree\", k = 7, n = 2 }"));
        assert!(of(1025).ends_with("k = 11, n = 3 }"));
    }
}
