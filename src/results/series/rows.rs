//! The rows of time series in tables.

use super::{RunFiles, power};
use crate::config::Experiment;
use crate::config::experiment::SeriesKind;
use crate::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::fabric::topology::Names;
use crate::figure::tables::{Cell, Column, ColumnKind, NONE, Row};

impl RunFiles<'_> {
    /// Calls `write` with the row as cells, in the order of [`columns`].
    pub(super) fn with_cells<T>(
        &self,
        label: &str,
        kind: SeriesKind,
        interval: u64,
        row: &Row,
        write: impl FnOnce(&[Cell<'_>]) -> T,
    ) -> T {
        let units = self.experiment.fabric.units;
        let ps = |ticks: u64| units.tick.ps(ticks);
        let levels = &self.experiment.fabric.qos.service_levels;
        let sl = |sl: u32| Cell::Text(levels.get(sl as usize).map_or("", |level| &level.name));
        let [run, load] = [Cell::Text(label), self.load.map_or(Cell::Empty, Cell::Real)];
        let time = Cell::Integer(ps(row.ticks));
        let id = |id: u32| Cell::Integer(id.into());
        let ([a, b, c], [x, y]) = (row.key, row.values);
        let names = self.experiment.fabric.topology.names();
        let nic = |id| names.map(|names| names.nic_label(NicId::new(id)));
        match kind {
            SeriesKind::Flows => {
                let rate = Cell::Real(value(kind, self.experiment, interval, x));
                let mut cells = vec![run, load, time, id(a), id(b), sl(c), Cell::Integer(x), rate];
                cells.extend([nic(a), nic(b)].into_iter().flatten().map(Cell::Text));
                write(&cells)
            }
            SeriesKind::PortVls => {
                let bytes = x.saturating_mul(units.flit_bytes.into());
                let [flits, bytes, marked] = [x, bytes, y].map(Cell::Integer);
                let at = SwitchPort::new(SwitchId::new(a), PortId::new(b));
                let name = names.map(|names| names.port_label(at));
                let mut cells = vec![run, load, time, id(a), id(b), id(c), flits, bytes, marked];
                cells.extend(name.iter().map(|name| Cell::Text(name)));
                write(&cells)
            }
            SeriesKind::Sources => {
                let to = match c {
                    NONE => Cell::Empty,
                    nic => id(nic),
                };
                let [level, delay] = [x, ps(y)].map(Cell::Integer);
                let mut cells = vec![run, load, time, id(a), sl(b), to, level, delay];
                cells.extend(nic(a).map(Cell::Text));
                write(&cells)
            }
            SeriesKind::Power => {
                let (links, state) = (power::links(a), power::state(b));
                let mean = value(kind, self.experiment, interval, x);
                let watts = mean * power::watts(self.experiment, b);
                let [links, state] = [links, state].map(Cell::Text);
                let [mean, watts] = [mean, watts].map(Cell::Real);
                write(&[run, load, time, links, state, mean, watts])
            }
        }
    }
}

/// The sampled value of a row in the unit of tables: Gb/s, waiting bytes, a control level, or a mean number of links.
pub(super) fn value(kind: SeriesKind, experiment: &Experiment, interval: u64, sampled: u64) -> f64 {
    let units = experiment.fabric.units;
    match kind {
        SeriesKind::Flows => gbit_per_s(sampled, units.tick.ps(interval)),
        SeriesKind::PortVls => sampled.saturating_mul(units.flit_bytes.into()) as f64,
        SeriesKind::Sources => sampled as f64,
        SeriesKind::Power => sampled as f64 / interval as f64,
    }
}

/// Gb/s of `bytes` in `ps`: an integer divided once, so that every machine prints the same
/// digits.
fn gbit_per_s(bytes: u64, ps: u64) -> f64 {
    (u128::from(bytes) * 8000) as f64 / ps.max(1) as f64
}

/// The columns of a series; `docs/reference/result.md` describes them.
pub(super) fn columns(kind: SeriesKind, names: Option<&Names>) -> Vec<Column<'static>> {
    let column = |kind: ColumnKind, optional: bool| {
        move |name: &'static str| Column {
            name,
            kind,
            optional,
        }
    };
    let text = column(ColumnKind::Text, false);
    let integer = column(ColumnKind::Integer, false);
    let real = column(ColumnKind::Real, false);
    let mut columns = vec![
        text("run"),
        column(ColumnKind::Real, true)("load"),
        integer("time_ps"),
    ];
    columns.extend(match kind {
        SeriesKind::Flows => vec![
            integer("from_nic"),
            integer("to_nic"),
            text("sl"),
            integer("bytes"),
            real("gbit_per_s"),
        ],
        SeriesKind::PortVls => [
            "switch",
            "port",
            "vl",
            "waiting_flits",
            "waiting_bytes",
            "marked",
        ]
        .map(integer)
        .to_vec(),
        SeriesKind::Sources => vec![
            integer("nic"),
            text("sl"),
            column(ColumnKind::Integer, true)("to_nic"),
            integer("control_level"),
            integer("delay_ps"),
        ],
        SeriesKind::Power => vec![
            text("links"),
            text("state"),
            real("mean_links"),
            real("watts"),
        ],
    });
    if names.is_some() {
        columns.extend(match kind {
            SeriesKind::Flows => vec![text("from_name"), text("to_name")],
            SeriesKind::PortVls => vec![text("port_name")],
            SeriesKind::Sources => vec![text("nic_name")],
            SeriesKind::Power => Vec::new(),
        });
    }
    columns
}
