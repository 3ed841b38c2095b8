//! Names of patterns, with their arguments.

use super::OrcsArgs;
use crate::cli::error::CliError;
use flitwise::oblivious::{Pattern, Versus};

/// The names that ORCS has, in the order of its help; the three names of the report stand beside `neighbor`.
const NAMES: [&str; 15] = [
    "rand",
    "null",
    "bisect",
    "bisect_fb_sym",
    "tree",
    "bruck",
    "gather",
    "scatter",
    "ring",
    "recdbl",
    "2neighbor",
    "4neighbor",
    "6neighbor",
    "neighbor",
    "ptrnvsptrn",
];

/// The pattern that was asked for, or the two.
pub(super) enum Traffic {
    One(Part),
    Two(Part, Part),
}

/// A pattern and its name.
pub(super) struct Part {
    /// `tree`; `neighbor,2`.
    pub shown: String,
    pattern: Pattern,
}

impl Traffic {
    pub(super) fn of(args: &OrcsArgs) -> Result<Self, CliError> {
        Self::parse(args).map_err(CliError::BadInput)
    }

    fn parse(args: &OrcsArgs) -> Result<Self, String> {
        let argument = args.ptrnarg.as_deref();
        if args.ptrn != "ptrnvsptrn" {
            let given = [("--ptrnfst", &args.ptrnfst), ("--ptrnsec", &args.ptrnsec)];
            if let Some((option, _)) = given.iter().find(|(_, name)| name.is_some()) {
                return Err(format!(
                    "{option}: only --ptrn ptrnvsptrn has two patterns, and it is {}",
                    args.ptrn
                ));
            }
            return Part::parse("--ptrn", &args.ptrn, argument).map(Self::One);
        }
        let both = argument.and_then(|both| both.split_once("::"));
        let (first, second) = match (&args.ptrnfst, &args.ptrnsec, both) {
            (Some(first), Some(second), None) if argument.is_none() => {
                (first.as_str(), second.as_str())
            }
            (None, None, Some(both)) => both,
            _ => {
                return Err(
                    "--ptrn ptrnvsptrn needs two patterns: --ptrnfst tree --ptrnsec bisect, or --ptrnarg tree::bisect"
                        .into(),
                );
            }
        };
        let part = |option, text: &str| match text.split_once(':') {
            Some((name, argument)) => Part::parse(option, name, Some(argument)),
            None => Part::parse(option, text, None),
        };
        Ok(Self::Two(
            part("first pattern", first)?,
            part("second pattern", second)?,
        ))
    }

    /// The message of ORCS if there are fewer ranks than a pattern of neighbours needs.
    pub(super) fn corrections(&self, ranks: u32, part: u32) -> String {
        let of = |one: &Part, ranks: u32| match one.pattern {
            Pattern::Neighbor(most) if most >= ranks => format!(
                "#*** correcting neighbor number to {} (commsize: {ranks})\n",
                ranks - 1
            ),
            _ => String::new(),
        };
        match self {
            Self::One(one) => of(one, ranks),
            Self::Two(first, second) => of(first, part) + &of(second, ranks - part),
        }
    }

    /// The pattern; of two the first has `part` ranks.
    pub(super) fn pattern(&self, part: u32) -> Pattern {
        match self {
            Self::One(one) => one.pattern.clone(),
            Self::Two(first, second) => Pattern::Versus(Box::new(Versus {
                first: first.pattern.clone(),
                second: second.pattern.clone(),
                ranks: part,
            })),
        }
    }
}

impl Part {
    fn parse(place: &str, name: &str, argument: Option<&str>) -> Result<Self, String> {
        if name == "neighbor" {
            let number = argument.and_then(|text| text.parse().ok());
            let Some(number) = number.filter(|&number: &u32| number > 0) else {
                return Err(format!(
                    "{place}: neighbor needs a number of neighbours above 0: --ptrn neighbor --ptrnarg 4, or neighbor:4 in \
                     one of two patterns"
                ));
            };
            return Ok(Self {
                shown: format!("neighbor,{number}"),
                pattern: Pattern::Neighbor(number),
            });
        }
        if !NAMES.contains(&name) {
            return Err(format!(
                "{place}: there is no pattern `{name}`; there are {}",
                NAMES.join(", ")
            ));
        }
        if let Some(argument) = argument {
            return Err(format!(
                "{place}: {name} has no argument, and there is `{argument}`"
            ));
        }
        let pattern = match name {
            "rand" => Pattern::Derangement,
            "ptrnvsptrn" => {
                return Err(format!(
                    "{place}: a part of ptrnvsptrn cannot be ptrnvsptrn"
                ));
            }
            name => Pattern::parse(name)?,
        };
        Ok(Self {
            shown: name.to_owned(),
            pattern,
        })
    }
}
