//! Names that differ from a known one only in their writing.

/// Says that there is no `what` called `text`, with the name that may be meant and all names.
pub(crate) fn unknown(what: &str, text: &str, names: &[&str]) -> String {
    let all = names.join(", ");
    match meant(text, names) {
        Some(name) => {
            format!("there is no {what} `{text}`; did you mean `{name}`? There are {all}")
        }
        None => format!("there is no {what} `{text}`; there are {all}"),
    }
}

/// Returns the name that `text` means: the one with the same letters and digits.
fn meant<'a>(text: &str, names: &[&'a str]) -> Option<&'a str> {
    let letters = |text: &str| -> String {
        let kept = text.chars().filter(char::is_ascii_alphanumeric);
        kept.map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = letters(text);
    let mut same = names.iter().filter(|name| letters(name) == wanted);
    same.next().copied()
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn hyphens_and_case_do_not_matter() {
        assert_eq!(
            meant("all-to-all", &["shift", "alltoall"]),
            Some("alltoall")
        );
        assert_eq!(meant("MINHOP", &["min-hop"]), Some("min-hop"));
        assert_eq!(meant("", &["min-hop"]), None);
    }
}
