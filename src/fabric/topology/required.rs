//! The keys without which there is no topology of a kind.

use super::invalid;
use crate::error::SpecError;

/// A topology of each kind, with the keys that it needs.
const EXAMPLES: [(&str, &str); 13] = [
    ("single", "nics=16"),
    ("torus", "dimensions=[4,4]"),
    ("mesh", "dimensions=[4,4]"),
    ("k-ary-n-tree", "k=4,n=2"),
    ("xgft", "down=[4,4],up=[1,4]"),
    ("dragonfly", "p=2,a=4,h=2"),
    ("hyperx", "dimensions=[4,4]"),
    ("slim-fly", "q=5"),
    ("megafly", "p=2,s=2,h=2"),
    ("fat-tree", "levels=2,radix=8"),
    ("kns", "k=4,n=2"),
    ("graph", "switches=2,links=[[0,0,1,0]],nics=[[0,1],[1,1]]"),
    ("ibnetdiscover", "file=\"ibnetdiscover.txt\""),
];

/// Returns a topology of this `kind` as a TOML table on one line; `None` if there is no such kind.
#[must_use]
pub fn example(kind: &str) -> Option<String> {
    let (_, keys) = EXAMPLES.iter().find(|(name, _)| *name == kind)?;
    Some(format!("{{kind=\"{kind}\",{keys}}}"))
}

/// Returns the error of a topology of this `kind` without some of its `keys`. Each has a name, a meaning, and tells
/// whether it is missing.
#[must_use]
pub fn missing(kind: &str, keys: &[(&str, &str, bool)]) -> SpecError {
    let keys = keys.iter().filter(|(_, _, is_missing)| *is_missing);
    let mut names: Vec<String> = keys
        .map(|(name, meaning, _)| format!("`{name}` ({meaning})"))
        .collect();
    let last = names.pop().unwrap_or_default();
    let listed = if names.is_empty() {
        last
    } else {
        format!("{} and {last}", names.join(", "))
    };
    let example = example(kind).unwrap_or_default();
    invalid(format!("kind \"{kind}\" needs {listed}, such as {example}"))
}
