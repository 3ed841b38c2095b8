//! Routes of single pairs of NICs, a line each: `SRC DST: SWITCH.PORT SWITCH.PORT …`. The words of a line from the first that
//! begins with `#` on are a comment.

use flitwise_base::quote::quoted;

/// The route of a pair, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRoute<'a> {
    /// Sending and receiving NIC.
    pub pair: [&'a str; 2],
    /// Switches in order, each with its out-port.
    pub steps: Vec<(&'a str, u32)>,
}

/// Reads a line; `None` if it has no route.
///
/// # Errors
/// The mistake, and what is expected.
///
/// # Examples
/// ```
/// use flitwise_formats::source_routes::read_line;
///
/// let route = read_line("0 9: leaf1.4 2.8  # by the second spine").unwrap().unwrap();
/// assert_eq!(route.pair, ["0", "9"]);
/// assert_eq!(route.steps, [("leaf1", 4), ("2", 8)]);
/// assert!(read_line("0 9 4 8").is_err());
/// ```
pub fn read_line(line: &str) -> Result<Option<SourceRoute<'_>>, String> {
    let words = line.split_whitespace();
    let mut words = words.take_while(|word| !word.starts_with('#'));
    let Some(src) = words.next() else {
        return Ok(None);
    };
    let dst = words.next().and_then(|dst| dst.strip_suffix(':'));
    let Some(dst) = dst.filter(|dst| !dst.is_empty()) else {
        return Err("no route; expected `SRC DST: SWITCH.PORT SWITCH.PORT …`".into());
    };
    Ok(Some(SourceRoute {
        pair: [src, dst],
        steps: words.map(step).collect::<Result<_, _>>()?,
    }))
}

fn step(word: &str) -> Result<(&str, u32), String> {
    let parts = word
        .rsplit_once('.')
        .filter(|(switch, _)| !switch.is_empty());
    let step = parts.and_then(|(switch, port)| Some((switch, port.parse().ok()?)));
    step.ok_or_else(|| {
        let word = quoted(word);
        format!("{word} is no step; expected SWITCH.PORT, such as 3.12")
    })
}
