//! Tables of interactions: how the differences of one axis of a study change over another.

use super::section::Table;
use super::tables::difference;
use crate::figure::Estimate;
use crate::report::source::{Change, Source, StudySource, studies};
use crate::study::change_columns;

/// A table for each two axes of each study.
pub(super) fn tables(sources: &[Source]) -> Vec<Table> {
    studies(sources).flat_map(of_study).collect()
}

fn of_study(study: &StudySource) -> Vec<Table> {
    let mut pairs: Vec<[&str; 2]> = Vec::new();
    for change in &study.changes {
        let pair = [&change.axis, &change.over].map(|names| names[0].as_str());
        let [axis, over] = pair;
        let numeric = [axis, over].map(|name| is_numeric(study, name));
        // The other way round it is the same change: words are compared over numbers.
        let other_way = numeric == [true, false] || pairs.contains(&[over, axis]);
        if !other_way && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs.iter().map(|pair| of_pair(study, *pair)).collect()
}

/// Whether all settings of an axis are numbers; loads are.
fn is_numeric(study: &StudySource, axis: &str) -> bool {
    let Some(at) = study.axes.iter().position(|name| name == axis) else {
        return true;
    };
    let mut labels = study.rows.iter().filter_map(|row| row.labels.get(at));
    labels.all(|label| label.parse::<f64>().is_ok())
}

fn of_pair(study: &StudySource, pair: [&str; 2]) -> Table {
    let of_pair = |change: &&Change| [&change.axis[0], &change.over[0]] == pair;
    let changes: Vec<&Change> = study.changes.iter().filter(of_pair).collect();
    let measures: Vec<(usize, String)> = change_columns()
        .enumerate()
        .map(|(at, (_, title))| (at, title))
        .filter(|(at, _)| changes.iter().any(|change| change.means[*at][0].is_some()))
        .collect();
    let row = |change: &&Change| {
        let mut row = vec![change.labels.join(", "), change.seeds.clone()];
        row.extend(measures.iter().map(|(at, _)| match change.means[*at] {
            [Some(mean), half] => difference(Estimate { mean, half }),
            [None, _] => "–".to_owned(),
        }));
        row
    };
    let mut head = vec!["point".to_owned(), "seeds".to_owned()];
    head.extend(measures.iter().map(|(_, title)| title.clone()));
    let references = changes
        .first()
        .map(|change| [&change.axis[1], &change.over[1]]);
    let [reference, before] = references.map_or(["", ""], |both| both.map(String::as_str));
    let [axis, over] = pair;
    Table {
        caption: format!(
            "Change of the differences from {axis} = {reference} against {over} = {before}: {}",
            study.label
        ),
        head,
        rows: changes.iter().map(row).collect(),
    }
}
