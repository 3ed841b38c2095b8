//! The shares of the flows to one NIC. If there are many flows, the smallest are combined in one band.

use super::colours::Colours;
use super::figure::{Lines, Samples, SeriesFigure, Sum, largest, totals};
use super::labels::name;
use crate::config::experiment::SeriesKind;
use crate::figure::tables::Key;
use crate::figure::{Axis, CurvePoint, Figure, SeriesStyle};
use std::collections::BTreeMap;
use std::io;

impl SeriesFigure<'_> {
    /// Draws the shares of the flows to the NIC that receives most from several; `None` without such a NIC.
    pub(super) fn shares(
        &self,
        samples: &mut dyn Samples,
        colours: &mut Colours,
    ) -> io::Result<Option<Figure>> {
        let totals = totals(samples)?;
        let Some(nic) = shared_nic(&totals) else {
            return Ok(None);
        };
        let of_nic = || totals.iter().filter(|(key, _)| key[1] == nic);
        let (all, shown) = (of_nic().count(), largest(of_nic(), self.lines));
        let others = all - shown.len();
        let bands = shown.len() + usize::from(others > 0);
        let sums = self.sums(samples, bands, |key| {
            let own = shown.iter().position(|shown| *shown == key);
            own.or((key[1] == nic).then_some(shown.len()))
        })?;
        let top = |band: usize, point: usize| {
            let sum =
                |bands: &[Vec<Sum>]| -> f64 { bands.iter().map(|band| band[point].value).sum() };
            let all = sum(&sums);
            // Where nothing was received, there is a gap down to 0.
            let part = if all > 0.0 {
                sum(&sums[..=band]) / all
            } else {
                0.0
            };
            CurvePoint::at(self.middle_ps(point), 100.0 * part)
        };
        let places = colours.of(SeriesKind::Flows, &shown);
        let mut lines = Lines {
            names: shown
                .iter()
                .map(|key| name(self.kind, self.labels, *key))
                .collect(),
            styles: places.into_iter().map(SeriesStyle::Number).collect(),
            points: (0..bands)
                .map(|band| {
                    (0..sums[band].len())
                        .map(|point| top(band, point))
                        .collect()
                })
                .collect(),
        };
        let seen = match others {
            0 => format!("all {all} flows to it"),
            _ => {
                let flows = if others == 1 { "flow" } else { "flows" };
                lines.names.push(format!("{others} other {flows}"));
                lines.styles.push(SeriesStyle::Rest);
                format!(
                    "{} of {all} flows to it: those with the most bytes; the others are one band",
                    shown.len()
                )
            }
        };
        let title = format!("Shares of what {} receives", self.labels.nic(nic));
        let axis = Axis::new("share of the payload", "%");
        Ok(Some(self.drawn(&title, &seen, lines, axis, 1.0, true)))
    }
}

/// The NIC that receives most from several flows; of equal ones the first.
fn shared_nic(totals: &BTreeMap<Key, f64>) -> Option<u32> {
    let mut received: BTreeMap<u32, (usize, f64)> = BTreeMap::new();
    for (&[_, to, _], total) in totals {
        let (flows, all) = received.entry(to).or_default();
        *flows += 1;
        *all += total;
    }
    let several = received.into_iter().filter(|(_, (flows, _))| *flows > 1);
    // `max_by` returns the last of equal ones, so the order is reversed.
    let most = several
        .rev()
        .max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
    most.map(|(nic, _)| nic)
}
