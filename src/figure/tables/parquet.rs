//! Writes a table row by row into a Parquet file.

use super::{Cell, Column, ColumnKind};
use anyhow::Context;
use flitwise_formats::sink::Sink;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows of a Parquet row group; that many are kept in memory.
const GROUP: usize = 1 << 16;

/// Apache Parquet: texts as UTF-8, integers as INT64, reals as DOUBLE; packed with Snappy.
pub(super) struct ParquetTable {
    out: SerializedFileWriter<Sink>,
    columns: Vec<Buffer>,
    rows: usize,
}

/// The cells of a column that are not written yet.
struct Buffer {
    cells: Cells,
    /// Per row 1, or 0 for an empty cell; `None` where no cell may be empty.
    present: Option<Vec<i16>>,
}

enum Cells {
    Text(Vec<ByteArray>),
    Integer(Vec<i64>),
    Real(Vec<f64>),
}

impl ParquetTable {
    pub(super) fn create(path: &Path, name: &str, columns: &[Column<'_>]) -> anyhow::Result<Self> {
        let mut schema = format!("message {name} {{");
        for column in columns {
            let repetition = if column.optional {
                "OPTIONAL"
            } else {
                "REQUIRED"
            };
            let (kind, meaning) = match column.kind {
                ColumnKind::Text => ("BYTE_ARRAY", " (UTF8)"),
                ColumnKind::Integer => ("INT64", ""),
                ColumnKind::Real => ("DOUBLE", ""),
            };
            write!(schema, "{repetition} {kind} {}{meaning};", column.name)?;
        }
        schema.push('}');
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let schema = Arc::new(parse_message_type(&schema)?);
        let out = SerializedFileWriter::new(Sink::create(path)?, schema, Arc::new(properties))?;
        let buffer = |column: &Column<'_>| Buffer {
            cells: match column.kind {
                ColumnKind::Text => Cells::Text(Vec::new()),
                ColumnKind::Integer => Cells::Integer(Vec::new()),
                ColumnKind::Real => Cells::Real(Vec::new()),
            },
            present: column.optional.then(Vec::new),
        };
        Ok(Self {
            out,
            columns: columns.iter().map(buffer).collect(),
            rows: 0,
        })
    }

    /// Writes what is buffered as a row group.
    fn flush(&mut self) -> anyhow::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.out.next_row_group()?;
        for buffer in &mut self.columns {
            let mut column = group.next_column()?.context("a column is missing")?;
            let present = buffer.present.as_deref();
            match &mut buffer.cells {
                Cells::Text(cells) => {
                    let out = column.typed::<ByteArrayType>();
                    out.write_batch(cells, present, None)?;
                    cells.clear();
                }
                Cells::Integer(cells) => {
                    let out = column.typed::<Int64Type>();
                    out.write_batch(cells, present, None)?;
                    cells.clear();
                }
                Cells::Real(cells) => {
                    let out = column.typed::<DoubleType>();
                    out.write_batch(cells, present, None)?;
                    cells.clear();
                }
            }
            if let Some(present) = &mut buffer.present {
                present.clear();
            }
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    pub(super) fn row(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        for (buffer, cell) in self.columns.iter_mut().zip(cells) {
            match (&mut buffer.cells, *cell) {
                (Cells::Text(cells), Cell::Text(text)) => cells.push(text.into()),
                (Cells::Integer(cells), Cell::Integer(value)) => {
                    cells.push(i64::try_from(value).unwrap_or(i64::MAX));
                }
                (Cells::Real(cells), Cell::Real(value)) => cells.push(value),
                _ => {}
            }
            if let Some(present) = &mut buffer.present {
                present.push((!matches!(cell, Cell::Empty)).into());
            }
        }
        self.rows += 1;
        if self.rows < GROUP {
            return Ok(());
        }
        self.flush()
    }

    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        self.flush()?;
        Ok(self.out.into_inner()?.finish()?)
    }
}
