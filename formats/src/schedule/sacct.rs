//! Slurm's accounting, as `sacct --parsable2` prints it: columns by the names in the head, separated by `|`.

use super::Ran;
use crate::{PlaceError, at_line};

/// The places of the columns that are read.
struct Columns {
    id: usize,
    submit: usize,
    start: usize,
    end: usize,
    name: Option<usize>,
    nodes: Option<usize>,
    processors: Option<usize>,
    all: usize,
}

/// A row per job; `None` for one that never ran. `head`: the line with the names, from 1. Steps of jobs are left out.
pub(super) fn rows(text: &str, head: usize) -> Result<Vec<Option<Ran>>, PlaceError> {
    let mut lines = (1..).zip(text.lines().map(str::trim)).skip(head - 1);
    let columns = Columns::of(head, lines.next().map_or("", |(_, names)| names))?;
    let lines = lines.filter(|(_, text)| !text.is_empty());
    let rows = lines.map(|(line, text)| row(&columns, line, text));
    rows.filter_map(Result::transpose).collect()
}

impl Columns {
    fn of(line: usize, names: &str) -> Result<Self, PlaceError> {
        let names: Vec<&str> = names.split('|').collect();
        let find = |name: &str| {
            names
                .iter()
                .position(|have| have.eq_ignore_ascii_case(name))
        };
        let id = find("JobIDRaw").or_else(|| find("JobID"));
        let (nodes, processors) = (find("NNodes"), find("NCPUS"));
        let size = nodes.or(processors);
        match (id, find("Submit"), find("Start"), find("End"), size) {
            (Some(id), Some(submit), Some(start), Some(end), Some(_)) => Ok(Self {
                id,
                submit,
                start,
                end,
                name: find("JobName"),
                nodes,
                processors,
                all: names.len(),
            }),
            (id, submit, start, end, size) => {
                let known = [
                    (id, "JobID"),
                    (submit, "Submit"),
                    (start, "Start"),
                    (end, "End"),
                    (size, "NNodes or NCPUS"),
                ];
                let lacking = known.into_iter().filter(|(at, _)| at.is_none());
                let mut lacking: Vec<&str> = lacking.map(|(_, name)| name).collect();
                let last = lacking.pop().unwrap_or_default();
                let columns = match lacking.as_slice() {
                    [] => format!("the column {last}"),
                    _ => format!("the columns {} and {last}", lacking.join(", ")),
                };
                let command = "sacct --parsable2 -o JobID,JobName,Submit,Start,End,NNodes,NCPUS";
                at_line(line, format!("the head lacks {columns}; take `{command}`"))
            }
        }
    }
}

/// The job of a line: `None` for a step, `Some(None)` if it never ran.
fn row(columns: &Columns, line: usize, text: &str) -> Result<Option<Option<Ran>>, PlaceError> {
    let fields: Vec<&str> = text.split('|').collect();
    if fields.len() != columns.all {
        let problem = format!(
            "has {} fields, and the head has {}",
            fields.len(),
            columns.all
        );
        return at_line(line, problem);
    }
    if fields[columns.id].contains('.') {
        return Ok(None);
    }
    let time = |at: usize| match fields[at] {
        "Unknown" | "None" | "" => Ok(None),
        text => match seconds(text) {
            Some(seconds) => Ok(Some(seconds)),
            None => at_line(
                line,
                format!("`{text}` is no time such as 2026-01-31T12:00:00"),
            ),
        },
    };
    let times = (
        time(columns.submit)?,
        time(columns.start)?,
        time(columns.end)?,
    );
    let (Some(submitted_s), Some(started_s), Some(ended_s)) = times else {
        return Ok(Some(None));
    };
    if ended_s < started_s {
        return at_line(line, "ends before it starts");
    }
    let number = |at: Option<usize>| match at.map(|at| (fields[at], fields[at].parse::<u32>())) {
        None => Ok(None),
        Some((_, Ok(number))) if number > 0 => Ok(Some(number)),
        Some((text, _)) => at_line(
            line,
            format!("`{text}` is no number of nodes or processors"),
        ),
    };
    let (nodes, processors) = (number(columns.nodes)?, number(columns.processors)?);
    Ok(Some(Some(Ran {
        id: fields[columns.id].to_owned(),
        program: columns.name.map(|at| fields[at].to_owned()),
        submitted_s,
        started_s,
        ended_s,
        processors: processors.or(nodes).unwrap_or(1),
        nodes,
        line,
    })))
}

/// The seconds from the beginning of the year 1 to a time such as `2026-01-31T12:00:00`.
fn seconds(text: &str) -> Option<u64> {
    let (date, time) = text.split_once('T')?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time, ':')?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let february = if is_leap { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *months.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if !(1..=9999).contains(&year) || !(1..=length).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let whole = year - 1;
    let days = 365 * whole + whole / 4 - whole / 100 + whole / 400;
    let days = days + months[..month as usize - 1].iter().sum::<u64>() + day - 1;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

/// Three numbers of at most four digits.
fn numbers(text: &str, between: char) -> Option<[u64; 3]> {
    let numbers = text.split(between).map(|part| {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    });
    let numbers: Option<Vec<u64>> = numbers.collect();
    numbers?.try_into().ok()
}
