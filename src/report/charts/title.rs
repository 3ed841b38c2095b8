//! The titles of figures.

/// `TITLE: LABEL`, or the title alone where there is one run.
pub(super) fn titled(what: &str, label: &str) -> String {
    if label.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {label}")
    }
}

/// `WHAT of “JOB”`; the marks keep a name apart from the words around it.
pub(crate) fn for_job(what: &str, job: &str) -> String {
    format!("{what} of “{job}”")
}
