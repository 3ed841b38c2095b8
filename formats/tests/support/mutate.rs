//! Broken texts.

/// Edits `text`: each edit has a place, a manner and a byte, of any value or one of the `likely` ones.
pub fn mutate(text: &mut Vec<u8>, edits: &[(usize, u8, u8)], likely: &[u8]) {
    for &(at, how, byte) in edits {
        if text.is_empty() {
            return;
        }
        let at = at % text.len();
        let other = likely[usize::from(byte) % likely.len()];
        match how % 5 {
            0 => text[at] = byte,
            1 => drop(text.remove(at)),
            2 => text.insert(at, other),
            3 => text[at] = other,
            // A line is lost.
            _ => {
                let from = text[..at]
                    .iter()
                    .rposition(|&b| b == b'\n')
                    .map_or(0, |i| i + 1);
                let to = text[at..]
                    .iter()
                    .position(|&b| b == b'\n')
                    .map_or(text.len(), |i| at + i + 1);
                text.drain(from..to);
            }
        }
    }
}
