//! Names near to a mistyped one.

use std::path::Path;

/// Most characters of a word that is compared: as many as a file name has. The comparison takes as much memory as both
/// texts multiplied.
const MOST_CHARACTERS: usize = 255;

/// Most files of a directory among which a similar name is looked for.
const MAX_ENTRIES: usize = 10_000;

/// Returns the candidate most like `word`, if it is close enough to be a slip: at most one letter in three is
/// another one, too many, missing or in another place.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MOST_CHARACTERS {
        return None;
    }
    let lower = word.to_lowercase();
    let slip = |distance: usize, c: &str| {
        let c = c.to_lowercase();
        // Of a short name at most its last letter is missing or too many.
        let prefix = !lower.is_empty() && (c.starts_with(&lower) || lower.starts_with(&c));
        let letters = lower.chars().count().max(c.chars().count());
        3 * distance <= letters || (distance == 1 && prefix)
    };
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&lower, &c.to_lowercase()), c))
        .min_by_key(|&(distance, _)| distance)
        .filter(|&(distance, c)| slip(distance, c))
        .map(|(_, c)| c)
}

/// Returns the name in the directory of `path` that is most like the name of `path`, if there is a similar one.
#[must_use]
pub fn similar_file(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let entries = std::fs::read_dir(dir.unwrap_or(Path::new("."))).ok()?;
    let names = entries
        .take(MAX_ENTRIES)
        .flatten()
        .map(|entry| entry.file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort_unstable();
    let mut names = names.iter().map(String::as_str);
    // Often only the extension is missing. A directory may have the name of the file beside it.
    let extended = names.clone().find(|known| {
        let is_stem = Path::new(known).file_stem() == path.file_name();
        is_stem && path.with_file_name(known).is_file()
    });
    extended
        .or_else(|| nearest(name, &mut names))
        .map(str::to_owned)
}
