//! How wide texts are, and texts that are cut or broken to fit.

/// About how wide a text is: no font is needed to know it, and none is much wider.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' => 0.32,
        'f' | 't' | 'r' | ' ' | '(' | ')' | '[' | ']' | '/' | '-' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.92,
        c if c.is_ascii_uppercase() => 0.69,
        c if c.is_ascii() => 0.61,
        c if (c as u32) >= 0x2e80 => 1.0,
        _ => 0.64,
    };
    size * text.chars().map(of).sum::<f64>()
}

/// A text of at most `room` pixels: what does not fit is cut off.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width_of(&kept, size) + size * 0.7 > room {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

/// The lines of a text that is broken at spaces.
pub(super) fn broken(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) + 0.4 * size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fitted(line, size, room)).collect()
}
