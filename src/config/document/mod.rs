//! The TOML document of an experiment: the file, with the values that `--set` and `[baseline]`
//! replace. Each value keeps the place where it was written, for error messages.

pub(super) mod emit;
pub(super) mod error;
pub(super) mod forms;
pub(super) mod kinds;
pub(super) mod read;
mod set;
pub(super) mod tagged;
pub(super) mod texts;
pub(super) mod values;
mod wording;

pub(crate) use emit::{quoted_key, quoted_text};
pub(crate) use error::{ConfigError, Location, SET, VARY, check_name, refused, small, suggestion};
pub(crate) use forms::{Forms, form_schemas, given, read_forms};
pub(crate) use kinds::kinds_of;
pub(crate) use read::{read, read_at_most};
pub(crate) use tagged::{Tagged, text};
pub(crate) use texts::Texts;
pub(crate) use values::{TypeName, value_at};

use self::error::is_argument;
use self::set::set_in;
use self::tagged::{explain_foreign_key, one_bracket, wrap_kinds};
use self::values::child;
use self::wording::{UNKNOWN_KEY, UNKNOWN_VALUE, friendly, missing};
use flitwise_base::quote::{cut, quoted};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most parts of a dotted key: bounds the recursion.
const MAX_DEPTH: usize = 16;

/// The keys of a document.
pub(crate) trait Keys: DeserializeOwned {
    /// Its tables whose `kind` decides their keys. Inner tables come before the tables that contain them.
    const TAGGED: &'static [Tagged] = &[];
    /// The page in `docs/reference` that describes them.
    const PAGE: &'static str = "experiment.md";

    /// Checks the values of `root` on which the meaning of other keys depends, so that no good key is blamed for them.
    fn check_first(_root: &DeTable<'_>) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Says more of an unknown value below `root`, if there is more to say.
    fn explain_value(_root: &DeTable<'_>, _error: &mut ConfigError) {}

    /// Says where an unknown key belongs, and how a table is written in whose place `root` has a word.
    fn explain_place(_root: &DeTable<'_>, _error: &mut ConfigError) {}
}

/// A document whose values borrow from [`Texts`].
#[derive(Clone)]
pub(crate) struct Document<'t> {
    texts: &'t Texts,
    root: DeTable<'t>,
}

impl<'t> Document<'t> {
    /// Parses text `index`.
    pub fn parse(texts: &'t Texts, index: usize) -> Result<Self, ConfigError> {
        let base = texts.base(index);
        let text = texts.text(index);
        let table = DeTable::parse(text).map_err(|e| {
            let mut error = from_toml(texts, &e, base);
            if error.location.is_none() {
                let line = line_of(text, e.message());
                error.location = texts.locate(line.start + base..line.end + base);
            }
            error
        })?;
        Ok(Self {
            texts,
            root: shift_table(table.into_inner(), base),
        })
    }

    /// The table that the document has as `key`, as a document of its own; `None` if there is no such
    /// table.
    pub fn inside(&self, key: &str) -> Option<Self> {
        match self.root.get(key)?.get_ref() {
            DeValue::Table(table) => Some(Self {
                texts: self.texts,
                root: table.clone(),
            }),
            _ => None,
        }
    }

    /// Takes the key of this name out.
    pub fn remove(&mut self, key: &str) {
        self.root.remove(key);
    }

    /// The same document in `texts`, which begin with its own.
    pub fn seen_in<'u>(self, texts: &'u Texts) -> Document<'u>
    where
        't: 'u,
    {
        Document {
            texts,
            root: self.root,
        }
    }

    /// The texts that it is made of.
    pub fn texts(&self) -> &'t Texts {
        self.texts
    }

    /// Deserialises the whole document.
    pub fn read<T: Keys>(&self) -> Result<T, ConfigError> {
        T::check_first(&self.root).map_err(|e| self.locate(e))?;
        let mut root = self.root.clone();
        wrap_kinds(T::TAGGED, &mut root).map_err(|mut e| {
            T::explain_place(&self.root, &mut e);
            self.locate(e)
        })?;
        let root = Spanned::new(0..0, root);
        T::deserialize(toml::Deserializer::from(root)).map_err(|e| {
            let mut error = from_toml(self.texts, &e, 0);
            if let Some(key) = missing(e.message()) {
                error.problem = format!(
                    "`{key}` is missing; add it (docs/reference/{} describes every key)",
                    T::PAGE
                );
            }
            if let Some(span) = e.span() {
                error.key = path_of(&self.root, &span).unwrap_or_default();
            }
            if e.message().starts_with(UNKNOWN_KEY) {
                explain_foreign_key(T::TAGGED, self.texts, &self.root, &mut error);
            }
            if e.message().starts_with(UNKNOWN_VALUE) {
                T::explain_value(&self.root, &mut error);
                explain_spaces(&mut error);
            }
            T::explain_place(&self.root, &mut error);
            explain_brackets(&self.root, &mut error);
            error
        })
    }

    /// Adds the place of the error's key, or of its nearest parent.
    pub fn locate(&self, mut error: ConfigError) -> ConfigError {
        if error.location.is_none()
            && let Some(span) = self.span_of(&error.key)
        {
            error.location = self.texts.locate(span);
        }
        error
    }

    /// The value at `path` (`job.0.sl`).
    pub fn get(&self, path: &str) -> Option<&DeValue<'t>> {
        value_at(&self.root, path)
    }

    /// The directory of the study file in which the value at `path` was written, if one holds it.
    pub fn dir_of(&self, path: &str) -> Option<&'t Path> {
        self.texts.dir(&self.span_of(path)?)
    }

    fn span_of(&self, path: &str) -> Option<Range<usize>> {
        let mut segments = path.split('.');
        let first = segments.next()?;
        let (key, mut value) = self.root.get_key_value(first)?;
        let mut span = named_span(key.span(), value);
        for segment in segments {
            let Some(next) = child(value.get_ref(), segment) else {
                break;
            };
            value = next;
            span = value.span();
        }
        Some(span)
    }

    /// Applies one `--set a.b=c`, which is text `index`.
    pub fn set_from_text(&mut self, index: usize) -> Result<(), ConfigError> {
        let text = self.texts.text(index);
        let base = self.texts.base(index);
        let Some((path, value)) = text.split_once('=') else {
            let problem = format!(
                "{} must have the form a.b=c: write {}=VALUE",
                quoted(text),
                cut(text.trim())
            );
            return refused(SET, problem);
        };
        let at = base + text.len() - value.trim_start().len();
        let value = value.trim();
        let value = match DeValue::parse(value) {
            Ok(value) => shift(value, at),
            // A bare word is a string: `--set job.0.sl=BK`.
            Err(_) => Spanned::new(at..at + value.len(), DeValue::String(Cow::Borrowed(value))),
        };
        // Each part of the path, for errors of the key itself.
        let end = base + path.trim_end().len();
        let path = path.trim();
        let part = |behind: usize| {
            let mut parts = path.rsplit('.');
            let behind: usize = parts.by_ref().take(behind).map(|part| part.len() + 1).sum();
            let end = end - behind;
            end - parts.next().map_or(0, str::len)..end
        };
        self.put(path, &part, value)
    }

    /// Puts `value` at `path`, creating tables on the way.
    pub fn set(&mut self, path: &str, value: Spanned<DeValue<'t>>) -> Result<(), ConfigError> {
        let at = value.span();
        self.put(path, &|_| at.clone(), value)
    }

    /// Like [`set`](Self::set), but the part of the path with `n` parts behind it is written at `part(n)`.
    fn put(
        &mut self,
        path: &str,
        part: &dyn Fn(usize) -> Range<usize>,
        value: Spanned<DeValue<'t>>,
    ) -> Result<(), ConfigError> {
        let segments: Vec<&str> = path.split('.').collect();
        if segments.len() > MAX_DEPTH {
            let problem = format!("has more than {MAX_DEPTH} parts; no key is that deep");
            let mut error = ConfigError::new(SET, problem);
            error.location = self.texts.locate(part(0));
            return Err(error);
        }
        set_in(&mut self.root, &segments, path, part, value).map_err(|mut error| {
            error.location = self.texts.locate(part(0));
            error
        })
    }

    /// Lays every value of `table` over the document; keys may be dotted, tables
    /// are merged, everything else is replaced.
    pub fn merge(&mut self, prefix: &str, table: &DeTable<'t>) -> Result<(), ConfigError> {
        for (key, value) in table {
            let path = if prefix.is_empty() {
                key.get_ref().to_string()
            } else {
                format!("{prefix}.{}", key.get_ref())
            };
            match value.get_ref() {
                DeValue::Table(inner) => self.merge(&path, inner)?,
                _ => self.set(&path, value.clone())?,
            }
        }
        Ok(())
    }

    /// The root table.
    pub fn root(&self) -> &DeTable<'t> {
        &self.root
    }
}

/// Tables written as `[header]` have an unhelpful span; point at their key.
fn named_span(key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Range<usize> {
    match value.get_ref() {
        DeValue::Table(_) | DeValue::Array(_) => key,
        _ => value.span(),
    }
}

fn shift_range(span: &Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

fn shift(value: Spanned<DeValue<'_>>, by: usize) -> Spanned<DeValue<'_>> {
    let span = shift_range(&value.span(), by);
    let inner = match value.into_inner() {
        DeValue::Array(array) => DeValue::Array(array.into_iter().map(|v| shift(v, by)).collect()),
        DeValue::Table(table) => DeValue::Table(shift_table(table, by)),
        leaf => leaf,
    };
    Spanned::new(span, inner)
}

fn shift_table(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    table
        .into_iter()
        .map(|(key, value)| {
            (
                Spanned::new(shift_range(&key.span(), by), key.into_inner()),
                shift(value, by),
            )
        })
        .collect()
}

/// The lists of tables of experiments and studies.
const LISTS: [&str; 6] = ["job", "background", "vfabric", "event", "axis", "exclude"];

/// Says how a list of tables is written where a table stands in its place, and how a table where a list does.
fn explain_brackets(root: &DeTable<'_>, error: &mut ConfigError) {
    const PROBLEM: &str = "wrong type: a table, expected a list";
    let top = error.key.split('.').next().unwrap_or_default().to_owned();
    let is_listed = LISTS.contains(&&*top);
    let value = root.get(&*top).map(Spanned::get_ref);
    if let (Some(DeValue::Array(list)), false) = (value, is_listed)
        && !list.is_empty()
        && !error.is_unknown_key()
        && list.iter().all(|one| one.get_ref().is_table())
    {
        error.problem = one_bracket(&top);
        error.key = top;
        return;
    }
    let is_argument = (error.location.as_ref()).is_some_and(|at| is_argument(&at.source));
    if let (Some(DeValue::Table(_)), true, true) = (value, is_listed, is_argument)
        && error.problem == PROBLEM
    {
        error.problem = error.no_list(&top);
        return;
    }
    let is_table = matches!(value_at(root, &error.key), Some(DeValue::Table(_)));
    if error.problem == PROBLEM
        && is_argument
        && let Some(list) = list_of_entry(&error.key)
    {
        error.problem = format!("the file has no list `{list}` to change; write it in the file");
        return;
    }
    if !is_table || error.problem != PROBLEM {
        return;
    }
    let names: Vec<&str> = error
        .key
        .split('.')
        .filter(|part| !is_index(part))
        .collect();
    let name = names.join(".");
    let line = error.location.as_ref().map_or("", |at| at.text.as_str());
    error.problem = if line.trim_start().starts_with('[') {
        format!("there may be several, so the header has two brackets: [[{name}]]")
    } else {
        "there may be several, so it is a list of tables: [{ … }]".to_owned()
    };
}

/// `LIST` of a key `LIST.INDEX.KEY`.
fn list_of_entry(key: &str) -> Option<&str> {
    let (entry, _) = key.rsplit_once('.')?;
    let (list, index) = entry.rsplit_once('.')?;
    is_index(index).then_some(list)
}

/// Whether the part of a key is the index of an entry of a list.
fn is_index(part: &str) -> bool {
    part.parse::<usize>().is_ok()
}

/// Says of several words in place of a value of `--vary` how they are separated.
fn explain_spaces(error: &mut ConfigError) {
    let word = error.problem.split('`').nth(1).unwrap_or_default();
    let is_typed = error.location.as_ref().is_some_and(|at| at.source == VARY);
    if is_typed && word.contains(char::is_whitespace) {
        let values: Vec<&str> = word.split_whitespace().collect();
        error.problem = format!("commas separate values: {}", values.join(","));
    }
}

/// Path of the innermost key or value that has exactly `span`.
fn path_of(table: &DeTable<'_>, span: &Range<usize>) -> Option<String> {
    fn inside(value: &DeValue<'_>, span: &Range<usize>) -> Option<String> {
        match value {
            DeValue::Table(table) => path_of(table, span),
            DeValue::Array(array) => array.iter().enumerate().find_map(|(i, v)| {
                if v.span() == *span && !matches!(v.get_ref(), DeValue::Table(_)) {
                    return Some(i.to_string());
                }
                inside(v.get_ref(), span).map(|rest| format!("{i}.{rest}"))
            }),
            _ => None,
        }
    }
    table.iter().find_map(|(key, value)| {
        let name = key.get_ref();
        if let Some(rest) = inside(value.get_ref(), span) {
            return Some(format!("{name}.{rest}"));
        }
        (key.span() == *span || value.span() == *span).then(|| name.to_string())
    })
}

/// The line of `text` with which the error `message` begins, which the parser does not say of keys
/// with too many parts.
#[cold]
fn line_of(text: &str, message: &str) -> Range<usize> {
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    // A text that is cut elsewhere has other errors.
    let fails = |end: usize| DeTable::parse(&text[..end]).is_err_and(|e| e.message() == message);
    let line = ends.partition_point(|&end| !fails(end));
    let start = line.checked_sub(1).map_or(0, |before| ends[before]);
    let end = ends.get(line).map_or(text.len(), |&end| end - 1);
    start..end
}

/// Rewrites serde's and TOML's messages.
#[cold]
fn from_toml(texts: &Texts, error: &toml::de::Error, base: usize) -> ConfigError {
    let location = error
        .span()
        .and_then(|span| texts.locate(shift_range(&span, base)));
    ConfigError {
        location,
        key: String::new(),
        problem: friendly(error.message()),
    }
}
