//! How much links are used, drawn on the topology.

use super::subject::{Heading, Subject, each};
use super::title::titled;
use crate::figure::{Chart, Figure};
use crate::oblivious::plan_of;
use crate::report::source::{LinkUse, RunSource};
use crate::wiring::{Measure, TAGGED, WiredLink, draw};

pub(super) const SUBJECT: Subject = Subject {
    name: "links",
    heading: Heading::of_runs("links", "Links"),
    needs: (
        "links (links.csv; with series.format = \"parquet\" set it to \"both\")",
        "flitwise run EXP.toml --out DIR",
    ),
    has_axes: false,
    draw: |sources, _| Ok(each(sources, |run| figure(run).into_iter().collect())),
};

/// The links that are used most, at most `n`; of equal ones the first.
pub(crate) fn hottest(run: &RunSource, n: usize) -> Vec<&LinkUse> {
    let mut links: Vec<&LinkUse> = run.links.iter().filter(|link| link.used > 0.0).collect();
    links.sort_by(|a, b| b.used.total_cmp(&a.used));
    links.truncate(n);
    links
}

fn figure(run: &RunSource) -> Option<Figure> {
    let links: Vec<WiredLink<'_>> = run.links.iter().map(wired).collect();
    let tagged: Vec<WiredLink<'_>> = hottest(run, TAGGED).into_iter().map(wired).collect();
    let measure = Measure {
        name: "in use",
        percent: true,
        nics: "NICs",
    };
    let drawing = draw(&plan_of(&run.topology), &links, &tagged, measure)?;
    Some(Figure {
        title: titled("Use of the links", &run.label),
        note: drawing.note,
        chart: Chart::Network(drawing.network),
    })
}

fn wired(link: &LinkUse) -> WiredLink<'_> {
    WiredLink {
        from: link.from,
        to: link.to,
        names: [&link.names[0], &link.names[1]],
        value: link.used,
    }
}
