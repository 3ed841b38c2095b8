//! Rewriting what tests expect. With `FLITWISE_BLESS=1` a test whose file says something else than
//! the program writes what the program says into the file. `git diff` then shows what has changed.

use std::path::Path;

/// True if tests are to rewrite what they expect.
pub fn is_on() -> bool {
    std::env::var_os("FLITWISE_BLESS").is_some_and(|value| value == "1")
}

/// Writes `text` to the file that a test expects it in, unless it says so already.
pub fn write(path: &Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    if before != text {
        std::fs::write(path, text).unwrap();
        println!("rewritten: {}", path.display());
    }
}

/// The piece of a line of `text` that takes the fewest edits from `part`, extended to whole words:
/// the first line if there is no part. `None` if `text` is blank.
pub fn nearest<'t>(text: &'t str, part: &str) -> Option<&'t str> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    if part.is_empty() {
        return lines.next().map(str::trim);
    }
    let best = lines.map(|line| nearest_in_line(line, part));
    // Of equally near pieces the first.
    best.min_by_key(|&(edits, _)| edits).map(|(_, piece)| piece)
}

/// The edits from `part` to a piece of `line`, and the piece (Sellers, *The theory and computation
/// of evolutionary distances: pattern recognition*, 1980).
fn nearest_in_line<'t>(line: &'t str, part: &str) -> (usize, &'t str) {
    let line_chars: Vec<(usize, char)> = line.char_indices().collect();
    // Of every piece that ends at column j: edits from the first rows of `part`, and its start.
    let mut row: Vec<(usize, usize)> = (0..=line_chars.len()).map(|j| (0, j)).collect();
    for wanted in part.chars() {
        let mut next = vec![(row[0].0 + 1, 0)];
        for (j, &(_, found)) in line_chars.iter().enumerate() {
            let (replaced, removed, inserted) = (row[j], row[j + 1], next[j]);
            let cost = usize::from(found != wanted);
            let ways = [
                (replaced.0 + cost, replaced.1),
                (removed.0 + 1, removed.1),
                (inserted.0 + 1, inserted.1),
            ];
            next.push(ways.into_iter().min_by_key(|&(edits, _)| edits).unwrap());
        }
        row = next;
    }
    let ends = row.into_iter().enumerate();
    let (mut end, (edits, mut start)) = ends.min_by_key(|&(_, (edits, _))| edits).unwrap();
    let in_word = |at: usize| {
        let c = line_chars[at].1;
        c.is_alphanumeric() || matches!(c, '_' | '.')
    };
    while 0 < start && start < line_chars.len() && in_word(start - 1) && in_word(start) {
        start -= 1;
    }
    while 0 < end && end < line_chars.len() && in_word(end - 1) && in_word(end) {
        end += 1;
    }
    let byte = |at: usize| line_chars.get(at).map_or(line.len(), |&(byte, _)| byte);
    (edits, line[byte(start)..byte(end)].trim())
}
