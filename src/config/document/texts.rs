//! The texts that a document is made of, and the places in them.

use crate::config::document::error::{Location, SET};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The texts that a document is made of. Byte positions count through all of
/// them, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    sources: Vec<Source>,
}

#[derive(Debug, Clone)]
struct Source {
    name: String,
    text: Arc<str>,
    base: usize,
    /// The origin of the text, if messages show it.
    place: Option<Box<Location>>,
    /// The origin of the key in front of its `=`, if it is another one.
    key_place: Option<Box<Location>>,
    /// Directory of the study file that it was taken from.
    dir: Option<PathBuf>,
}

impl Texts {
    /// Adds a text and returns its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> usize {
        self.add_from([None, None], None, name, text)
    }

    /// As [`add`](Self::add); messages about the text `KEY=VALUE` show the place of the key or of the value instead, and
    /// traces that it names are looked for in `dir` first.
    pub fn add_from(
        &mut self,
        [key_place, place]: [Option<Box<Location>>; 2],
        dir: Option<PathBuf>,
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
    ) -> usize {
        // From 1 on, so that the start of the first text is not the span 0..0.
        let base = self.sources.last().map_or(1, |s| s.base + s.text.len() + 1);
        self.sources.push(Source {
            name: name.into(),
            text: text.into(),
            base,
            place,
            key_place,
            dir,
        });
        self.sources.len() - 1
    }

    /// Adds the texts of `--set` and returns their indices.
    pub fn add_sets(&mut self, sets: &[String]) -> Vec<usize> {
        sets.iter().map(|set| self.add(SET, set.as_str())).collect()
    }

    pub fn text(&self, index: usize) -> &str {
        &self.sources[index].text
    }

    /// The position at which text `index` begins.
    pub fn base(&self, index: usize) -> usize {
        self.sources[index].base
    }

    /// The text at `span`; empty if the span is in no text.
    pub fn written(&self, span: &Range<usize>) -> &str {
        let mut sources = self.sources.iter().rev();
        let source = sources.find(|s| s.base <= span.start);
        let text = source.and_then(|s| {
            s.text
                .get(span.start - s.base..span.end.max(s.base) - s.base)
        });
        text.unwrap_or_default()
    }

    /// The directory of the study file that `span` was taken from.
    pub fn dir(&self, span: &Range<usize>) -> Option<&Path> {
        let source = self.sources.iter().rev().find(|s| s.base <= span.start)?;
        source.dir.as_deref()
    }

    /// The place of `span`, with its line.
    pub fn locate(&self, span: Range<usize>) -> Option<Box<Location>> {
        // Values that no text contains, such as an implied preset, have the span 0..0.
        if span == (0..0) {
            return None;
        }
        let source = self.sources.iter().rev().find(|s| s.base <= span.start)?;
        if source.place.is_some() {
            let key = source.text.split('=').next().unwrap_or_default();
            let in_key = span.start - source.base < key.len();
            let key_place = source.key_place.as_ref().filter(|_| in_key);
            return key_place.or(source.place.as_ref()).cloned();
        }
        let start = floor_char(&source.text, span.start - source.base);
        let end = floor_char(&source.text, span.end.saturating_sub(source.base)).max(start);
        let line_start = source.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line = source.text[line_start..].lines().next().unwrap_or("");
        let column = source.text[line_start..start].chars().count();
        let left_on_line = line.chars().count().saturating_sub(column);
        let number = source.text[..line_start].matches('\n').count() + 1;
        let width = source.text[start..end].chars().count().min(left_on_line);
        let place = Location::of(&source.name, [number, column + 1], line, width);
        Some(Box::new(place))
    }
}

fn floor_char(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
