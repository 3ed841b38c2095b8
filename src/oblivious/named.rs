//! Names that no pattern or routing has.

use flitwise_base::near::nearest;

/// Says that there is no `what` called `text`, with the name that may be meant and all names.
pub(crate) fn unknown(what: &str, text: &str, names: &[&str]) -> String {
    let all = names.join(", ");
    match nearest(text, names.iter().copied()) {
        Some(name) => {
            format!("there is no {what} `{text}`; did you mean `{name}`? There are {all}")
        }
        None => format!("there is no {what} `{text}`; there are {all}"),
    }
}
