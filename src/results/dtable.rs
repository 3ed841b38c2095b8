//! The tables of `flitwise qos dtable`, as text and as JSON. `docs/reference/qos-dtable.md`
//! describes every column.

use super::table::write_table;
use crate::config::DTableInput;
use crate::fabric::qos::dtable_proposal::{
    Change, MAX_ENTRIES_FOR_BOTH, MAX_K_WITH_DISTANCES, Proposal, propose,
};
use crate::fabric::qos::dtable_table::{
    DTableColumn, DTableError, DTableSl, DTableTable, MAX_W, Shortfall, construct,
};
use crate::fabric::qos::sbt_weight;
use crate::fabric::spec::hierarchical::{DTABLE_UNIT_BYTES, DTableEntry};
use crate::units::{Ratio, human_bytes};
use serde_json::{Value, json};
use std::fmt::{self, Write};

/// Version of the JSON.
pub const DTABLE_SCHEMA: &str = "flitwise-qos-dtable-1";

/// Entries per line of the arbitration table, as in Hiperion's Table 6.
const PER_LINE: usize = 8;

/// A table, its problems, and settings without them.
#[derive(Debug, Clone)]
pub struct DTableReport {
    input: DTableInput,
    table: DTableTable,
    shortfalls: Vec<Shortfall>,
    proposals: Vec<Proposal>,
}

impl DTableReport {
    /// Builds the table, and looks for other settings if a share is out of range.
    ///
    /// # Errors
    /// If no table can be built.
    pub fn new(input: DTableInput) -> Result<Self, DTableError> {
        let table = construct(&input.parameters)?;
        let shortfalls = table.shortfalls();
        let proposals = if shortfalls.is_empty() {
            Vec::new()
        } else {
            propose(&input.parameters)
        };
        Ok(Self {
            input,
            table,
            shortfalls,
            proposals,
        })
    }

    /// Per service level: its specification, its column, MTU in bytes, injection.
    fn levels(&self) -> impl Iterator<Item = (&DTableSl, &DTableColumn, u64, Ratio)> {
        let asked = self.input.parameters.service_levels.iter();
        let beside = self.input.mtu_bytes.iter().zip(&self.input.injection);
        asked
            .zip(&self.table.columns)
            .zip(beside)
            .map(|((sl, column), (&mtu, &injection))| (sl, column, mtu, injection))
    }

    fn warnings(&self) -> impl Iterator<Item = String> {
        let explain = |s| self.table.explain(&self.input.parameters, s);
        self.shortfalls.iter().map(explain)
    }

    /// The whole report, with numbers as JSON numbers in full precision.
    #[must_use]
    pub fn json(&self) -> Value {
        let (p, t) = (&self.input.parameters, &self.table);
        let entry = |(i, (before, after)): (usize, (&DTableEntry, &DTableEntry))| {
            let sl = p.service_levels.get(usize::from(after.sl));
            json!({
                "entry": i,
                "sl": sl.map(|sl| &sl.name),
                "weight": after.weight,
                "weight_before": before.weight,
            })
        };
        let warning = |(s, text): (&Shortfall, String)| {
            let (kind, i) = match s {
                Shortfall::BelowRange(i) => ("below-min-phi", i),
                Shortfall::AboveRange(i) => ("above-max-phi", i),
                Shortfall::Uncorrected(i) => ("uncorrected", i),
            };
            let sl = p.service_levels.get(*i).map(|sl| &sl.name);
            json!({ "sl": sl, "kind": kind, "message": text })
        };
        json!({
            "schema": DTABLE_SCHEMA,
            "parameters": {
                "entries": p.entries,
                "gmtu": p.gmtu,
                "w": p.w,
                "k": p.k,
                "max_entry_weight": t.max_entry_weight,
                "pool": t.pool,
                "weight_unit_bytes": DTABLE_UNIT_BYTES,
            },
            "service_levels": self.levels().enumerate()
                .map(|(i, level)| self.column(i, level))
                .collect::<Vec<_>>(),
            "totals": self.totals(),
            "table": t.uncorrected.iter().zip(&t.entries).enumerate().map(entry)
                .collect::<Vec<_>>(),
            "warnings": self.shortfalls.iter().zip(self.warnings()).map(warning)
                .collect::<Vec<_>>(),
            "proposals": self.proposals.iter().map(|p| self.proposal(p)).collect::<Vec<_>>(),
            "searched": (!self.shortfalls.is_empty()).then(searched),
        })
    }

    /// Column `i` of the table: a service level, with its MTU in bytes and its injection.
    fn column(
        &self,
        i: usize,
        (sl, c, mtu_bytes, injection): (&DTableSl, &DTableColumn, u64, Ratio),
    ) -> Value {
        let t = &self.table;
        let (lightest, heaviest) = t.final_entry_weights(i);
        json!({
            "sl": sl.name,
            "distance": sl.distance,
            "entries": c.entries,
            "percent_entries": percent(c.entry_share),
            "injection": injection.to_f64(),
            "mtu": c.mtu,
            "mtu_bytes": mtu_bytes,
            "min_phi": c.min_share.to_f64(),
            "max_phi": c.max_share.to_f64(),
            "phi": c.share.to_f64(),
            "pool": t.pool,
            "entry_weight": c.entry_weight,
            "tweight": c.target_weight.to_f64(),
            "sum_weight": c.weight,
            "r_phi": c.real_share.to_f64(),
            "diff_phi": c.difference(),
            "dweight": c.correction,
            "fweight": c.final_weight,
            "f_phi": c.final_share.to_f64(),
            "final_entry_weight_min": lightest,
            "final_entry_weight_max": heaviest,
            "sbt_weight": sbt_weight(c.share),
        })
    }

    fn totals(&self) -> Value {
        let columns = &self.table.columns;
        json!({
            "entries": self.input.parameters.entries,
            "percent_entries": 100.0 * total(columns.iter().map(|c| c.entry_share)),
            "injection": total(self.input.injection.iter().copied()),
            "min_phi": total(columns.iter().map(|c| c.min_share)),
            "max_phi": total(columns.iter().map(|c| c.max_share)),
            "phi": total(columns.iter().map(|c| c.share)),
            "tweight": total(columns.iter().map(|c| c.target_weight)),
            "sum_weight": self.table.weight_sum,
            "fweight": self.table.final_sum,
        })
    }

    fn proposal(&self, proposal: &Proposal) -> Value {
        let p = &proposal.parameters;
        let levels = p.service_levels.iter().zip(&proposal.table.columns);
        json!({
            "keeps": keeps(proposal.change),
            "entries": p.entries,
            "w": p.w,
            "k": p.k,
            "service_levels": levels.map(|(sl, c)| json!({
                "sl": sl.name,
                "distance": sl.distance,
                "entries": c.entries,
                "min_phi": c.min_share.to_f64(),
                "max_phi": c.max_share.to_f64(),
                "f_phi": c.final_share.to_f64(),
            })).collect::<Vec<_>>(),
            "set": self.input.settings(p),
        })
    }

    /// The columns of Tables 5, 9 and 10, the table in the form of Table 6, warnings and
    /// proposals.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String does not fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let (p, t) = (&self.input.parameters, &self.table);
        writeln!(
            out,
            "N = {}, GMTU = {} ({}), w = {}, k = {}: M = {}, pool = {}; weights and MTUs in \
             credits of {DTABLE_UNIT_BYTES} B",
            p.entries,
            p.gmtu,
            human_bytes(u64::from(p.gmtu) * u64::from(DTABLE_UNIT_BYTES)),
            p.w,
            p.k,
            t.max_entry_weight,
            t.pool,
        )?;
        self.write_ranges(out)?;
        self.write_weights(out)?;
        self.write_entries(out)?;
        if !self.shortfalls.is_empty() {
            writeln!(out)?;
        }
        for warning in self.warnings() {
            writeln!(out, "warning: {warning}")?;
        }
        for (i, proposal) in self.proposals.iter().enumerate() {
            self.write_proposal(out, i + 1, proposal)?;
        }
        if !self.shortfalls.is_empty() && self.proposals.is_empty() {
            writeln!(
                out,
                "\nno proposal: no settings reach all shares; searched: {}",
                searched()
            )?;
        }
        Ok(())
    }

    /// Table 9, the shares, and the injection of Table 10.
    fn write_ranges(&self, out: &mut String) -> fmt::Result {
        let head = [
            "SL", "distance", "#entr.", "%entr.", "MTU", "bytes", "minφ", "maxφ", "φ", "Inj.",
        ];
        let mut rows = vec![cells(head)];
        for (sl, c, mtu_bytes, injection) in self.levels() {
            rows.push(vec![
                sl.name.clone(),
                sl.distance.to_string(),
                c.entries.to_string(),
                decimal(percent(c.entry_share)),
                c.mtu.to_string(),
                mtu_bytes.to_string(),
                decimal(c.min_share.to_f64()),
                decimal(c.max_share.to_f64()),
                decimal(c.share.to_f64()),
                decimal(injection.to_f64()),
            ]);
        }
        let columns = &self.table.columns;
        rows.push(vec![
            "total".into(),
            String::new(),
            self.input.parameters.entries.to_string(),
            decimal(100.0 * total(columns.iter().map(|c| c.entry_share))),
            String::new(),
            String::new(),
            decimal(total(columns.iter().map(|c| c.min_share))),
            decimal(total(columns.iter().map(|c| c.max_share))),
            decimal(total(columns.iter().map(|c| c.share))),
            decimal(total(self.input.injection.iter().copied())),
        ]);
        write_table(out, &rows)
    }

    /// The right half of Table 5; E.W. after the correction, and of SBT, as in Table 10.
    fn write_weights(&self, out: &mut String) -> fmt::Result {
        let head = [
            "SL",
            "pool",
            "E.W.",
            "Tweight",
            "Σ weight",
            "Rφ",
            "Rφ − φ",
            "Dweight",
            "Fweight",
            "Fφ",
            "final E.W.",
            "SBT",
        ];
        let mut rows = vec![cells(head)];
        for (i, (sl, c, ..)) in self.levels().enumerate() {
            let weights = match self.table.final_entry_weights(i) {
                (lightest, heaviest) if lightest == heaviest => lightest.to_string(),
                (lightest, heaviest) => format!("{lightest}–{heaviest}"),
            };
            rows.push(vec![
                sl.name.clone(),
                self.table.pool.to_string(),
                c.entry_weight.to_string(),
                decimal(c.target_weight.to_f64()),
                c.weight.to_string(),
                decimal(c.real_share.to_f64()),
                decimal(c.difference()),
                c.correction.to_string(),
                c.final_weight.to_string(),
                decimal(c.final_share.to_f64()),
                weights,
                sbt_weight(c.share).map_or_else(String::new, |weight| weight.to_string()),
            ]);
        }
        let tweight = total(self.table.columns.iter().map(|c| c.target_weight));
        let mut last = cells(["total", "", ""]);
        last.extend([decimal(tweight), self.table.weight_sum.to_string()]);
        last.extend(cells(["", "", ""]));
        last.push(self.table.final_sum.to_string());
        let sbt = self.table.columns.iter().map(|c| sbt_weight(c.share));
        let sbt: Option<u32> = sbt.sum();
        last.extend(cells(["", ""]));
        last.push(sbt.map_or_else(String::new, |sum| sum.to_string()));
        rows.push(last);
        write_table(out, &rows)
    }

    /// The table itself, as in the last rows of Table 6.
    fn write_entries(&self, out: &mut String) -> fmt::Result {
        let mut head = vec!["SL, weight".to_owned()];
        head.extend((0..PER_LINE).map(|i| format!("+{i}")));
        let mut rows = vec![head];
        let levels = &self.input.parameters.service_levels;
        for (line, entries) in self.table.entries.chunks(PER_LINE).enumerate() {
            let mut row = vec![(line * PER_LINE).to_string()];
            row.extend(entries.iter().map(|e| {
                let name = levels.get(usize::from(e.sl)).map_or("", |sl| &sl.name);
                format!("{name}, {}", e.weight)
            }));
            row.resize(1 + PER_LINE, String::new());
            rows.push(row);
        }
        write_table(out, &rows)
    }

    fn write_proposal(&self, out: &mut String, number: usize, proposal: &Proposal) -> fmt::Result {
        let p = &proposal.parameters;
        let sets: Vec<String> = self.input.settings(p).iter().map(|s| argument(s)).collect();
        writeln!(
            out,
            "\nproposal {number}, keeps {}: w = {}, k = {}\n  {}",
            keeps(proposal.change),
            p.w,
            p.k,
            sets.join(" ")
        )?;
        let mut rows = vec![cells([
            "SL", "distance", "#entr.", "minφ", "maxφ", "φ", "Fφ",
        ])];
        for (sl, c) in p.service_levels.iter().zip(&proposal.table.columns) {
            rows.push(vec![
                sl.name.clone(),
                sl.distance.to_string(),
                c.entries.to_string(),
                decimal(c.min_share.to_f64()),
                decimal(c.max_share.to_f64()),
                decimal(c.share.to_f64()),
                decimal(c.final_share.to_f64()),
            ]);
        }
        write_table(out, &rows)
    }
}

fn searched() -> String {
    format!(
        "w from 1 to {MAX_W}, each with the smallest k and the next 64, with these distances; distances that are powers of two with \
         these w and k; both, with k up to {MAX_K_WITH_DISTANCES}, for tables of at most \
         {MAX_ENTRIES_FOR_BOTH} entries"
    )
}

fn keeps(change: Change) -> &'static str {
    match change {
        Change::Weights => "the distances",
        Change::Distances => "w and k",
        Change::Both => "only the number of entries",
    }
}

/// `--set a.b=c`, quoted for a shell where necessary.
fn argument(set: &str) -> String {
    if set.contains(|c: char| c.is_whitespace() || "{}\"$`&;|".contains(c)) {
        format!("--set '{}'", set.replace('\'', "'\\''"))
    } else {
        format!("--set {set}")
    }
}

fn percent(share: Ratio) -> f64 {
    let hundred = share.checked_mul(Ratio::whole(100));
    hundred.map_or(100.0 * share.to_f64(), Ratio::to_f64)
}

/// The sum, exact as long as it fits 64 bits.
fn total(ratios: impl Iterator<Item = Ratio> + Clone) -> f64 {
    let exact = ratios
        .clone()
        .try_fold(Ratio::ZERO, |sum, r| sum.checked_add(r));
    exact.map_or_else(|| ratios.map(Ratio::to_f64).sum(), Ratio::to_f64)
}

/// At most five decimals, as the publication prints.
fn decimal(value: f64) -> String {
    let text = format!("{value:.5}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        _ => text.to_owned(),
    }
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(String::from).to_vec()
}

#[cfg(test)]
mod tests {
    use super::argument;

    #[test]
    fn settings_are_quoted_for_the_shell() {
        assert_eq!(argument("dtable.w=8"), "--set dtable.w=8");
        assert_eq!(argument("a={ x = 1 }"), "--set 'a={ x = 1 }'");
        assert_eq!(
            argument("a={ \"it's\" = 1 }"),
            "--set 'a={ \"it'\\''s\" = 1 }'"
        );
    }
}
