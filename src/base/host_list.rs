//! Lists of hosts as Slurm writes them: `node[001-016,020],login1`.

/// Most hosts of a list.
pub const MOST_HOSTS: usize = 1 << 22;

/// The names of a list: names with commas between them, and with ranges in brackets as Slurm has them
/// (`SLURM_JOB_NODELIST`).
///
/// # Errors
/// If the list cannot be read, names no host, or more than [`MOST_HOSTS`].
///
/// # Examples
/// ```
/// let names = flitwise_base::host_list::expand("node[08-10],login").unwrap();
/// assert_eq!(names, ["node08", "node09", "node10", "login"]);
/// ```
pub fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for part in split_outside_brackets(text) {
        names.extend(expand_part(part.trim())?);
        if names.len() > MOST_HOSTS {
            return Err(format!("more than {MOST_HOSTS} hosts"));
        }
    }
    if names.is_empty() {
        Err("the list names no host".into())
    } else {
        Ok(names)
    }
}

/// The parts between commas that are not in brackets.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut depth = 0u32;
    let parts = text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// The names that a part with brackets stands for.
fn expand_part(text: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = text.split_once('[') else {
        return Ok(vec![text.to_owned()]);
    };
    let wrong = |what: &str| format!("`{text}`: {what}; write ranges as in `node[001-016,020]`");
    let (inside, after) = rest
        .split_once(']')
        .ok_or_else(|| wrong("the bracket is not closed"))?;
    let tails = expand_part(after)?;
    let mut names = Vec::new();
    for range in inside.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |digits: &str| {
            let all = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            all.then(|| digits.parse::<u64>().ok()).flatten()
        };
        let (Some(from), Some(to)) = (number(first), number(last)) else {
            return Err(wrong(&format!("`{range}` is no number or range")));
        };
        let count = to
            .checked_sub(from)
            .and_then(|more| usize::try_from(more).ok());
        let fits = |count: usize| {
            let more = count.checked_add(1)?.checked_mul(tails.len())?;
            names
                .len()
                .checked_add(more)
                .filter(|all| *all <= MOST_HOSTS)
        };
        if count.and_then(fits).is_none() {
            return Err(wrong(&format!("`{range}` has no hosts, or too many")));
        }
        let width = first.len();
        for at in from..=to {
            names.extend(
                tails
                    .iter()
                    .map(|tail| format!("{before}{at:0width$}{tail}")),
            );
        }
    }
    Ok(names)
}
