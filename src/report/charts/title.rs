//! The titles of figures.

/// `TITLE: LABEL`, or the title alone where there is one run.
pub(super) fn titled(what: &str, label: &str) -> String {
    if label.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {label}")
    }
}

/// The setting of an axis among other words: `dtable`, or `rate 0.05` where the label is a number.
pub(super) fn setting(axis: &str, label: &str) -> String {
    if label.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        format!("{axis} {label}")
    } else {
        label.to_owned()
    }
}

/// `WHAT of “JOB”`; the marks keep a name apart from the words around it.
pub(crate) fn for_job(what: &str, job: &str) -> String {
    format!("{what} of “{job}”")
}
