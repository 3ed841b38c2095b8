//! The activities of the ranks, as rows.

use super::output::{Change, Output, StreamTrack};
use crate::replay::Doing;
use flitwise_base::quote::csv_cell;
use flitwise_formats::sink::Sink;

const RANK: [&str; 4] = ["job", "rank", "stream", "nic"];
const SLICE: [&str; 5] = ["doing", "start_ps", "end_ps", "peer_rank", "region"];

/// RFC 4180: a row for each activity of a rank, written when it ends.
pub(super) struct Slices {
    out: csv::Writer<Sink>,
    /// First cells of the rows, by track.
    tracks: Vec<Vec<String>>,
}

impl Slices {
    /// `named`: whether the NICs have names, which then have a column of their own.
    pub(super) fn new(sink: Sink, named: bool) -> anyhow::Result<Self> {
        let mut out = csv::Writer::from_writer(sink);
        let name = named.then_some("nic_name");
        out.write_record(RANK.into_iter().chain(name).chain(SLICE))?;
        let tracks = Vec::new();
        Ok(Self { out, tracks })
    }

    fn row(&mut self, change: &Change, doing: Doing, span: [u64; 2]) -> anyhow::Result<()> {
        for cell in self.tracks.get(change.track).into_iter().flatten() {
            self.out.write_field(csv_cell(cell).as_bytes())?;
        }
        self.out.write_field(doing.name())?;
        for ps in span {
            self.out.write_field(ps.to_string())?;
        }
        let peer = change.peer.map(|peer| peer.to_string());
        self.out.write_field(peer.unwrap_or_default())?;
        let region = change.regions[0].as_deref().unwrap_or_default();
        self.out.write_field(csv_cell(region).as_bytes())?;
        Ok(self.out.write_record(None::<&[u8]>)?)
    }
}

impl Output for Slices {
    fn track(&mut self, track: &StreamTrack<'_>) -> anyhow::Result<()> {
        let of = track.of;
        let mut cells = vec![
            track.job.to_owned(),
            of.rank.to_string(),
            of.stream.to_string(),
            track.nic.to_string(),
        ];
        cells.extend(track.nic_name.map(str::to_owned));
        self.tracks.push(cells);
        Ok(())
    }

    fn change(&mut self, ps: u64, change: &Change) -> anyhow::Result<()> {
        match change.from {
            Some((since, doing)) => self.row(change, doing, [since, ps]),
            None => Ok(()),
        }
    }

    fn finish(self: Box<Self>, _: u64) -> anyhow::Result<()> {
        let sink = self.out.into_inner().map_err(|e| anyhow::anyhow!("{e}"))?;
        Ok(sink.finish()?)
    }
}
