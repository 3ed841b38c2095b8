//! Figures as data, and how they are drawn; [tables] of data, and how they are written.
//!
//! Nothing here knows of runs or fabrics. A [`Figure`] says what is drawn: bars, stacks, curves, a matrix, spans of
//! time or a network. [`Figure::draw`] makes SVG of it, for a file (fixed colours, on white) or for a page whose style
//! sheet has the colours; [`encoded`] makes the bytes of a file, with the feature `pictures` as PDF and PNG, too. No
//! font of the system is used. Series differ in colour and, because colours are not always printed or seen, in marks,
//! dashes or patterns as well. [`wiring`] draws links with a value each on the topology that they make.
//!
//! ```
//! use flitwise_figure::{Axis, Chart, CurvePanel, CurvePoint, Curves, Figure, Line, Theme};
//!
//! let point = |x, y| CurvePoint { x, y, ..CurvePoint::default() };
//! let line = Line { series: 0, points: vec![point(0.2, 310.0), point(0.8, 950.0)] };
//! let curves = Curves {
//!     x: Axis::new("offered", "Gb/s"),
//!     y: Axis::new("latency", "ns"),
//!     series: vec!["torus".to_owned()],
//!     panels: vec![CurvePanel { lines: vec![line], ..CurvePanel::default() }],
//!     ..Curves::default()
//! };
//! let figure = Figure { title: "Latency".into(), note: String::new(), chart: Chart::Curves(curves) };
//! assert!(figure.draw(600, Theme::File).contains(">latency (ns)</text>"));
//! ```

mod axis;
mod bars;
mod canvas;
mod chart;
mod curves;
mod file;
#[cfg(feature = "pictures")]
mod font;
mod frame;
mod labels;
mod matrix;
mod network;
#[cfg(feature = "pictures")]
mod outline;
#[cfg(feature = "pictures")]
mod pdf;
#[cfg(feature = "pictures")]
mod png;
mod scale;
mod spans;
mod stacks;
mod svg;
pub mod tables;
mod text;
pub mod wiring;

pub use axis::{Axis, Estimate};
pub use bars::{BarGroup, BarPanel, Bars};
pub use canvas::{PALETTE_CSS, Theme};
pub use chart::{Chart, Figure, MAX_WIDTH, MIN_WIDTH};
pub use curves::{CurvePanel, CurvePoint, Curves, Line, SeriesStyle};
pub use file::{EncodeError, FileFormat, encoded};
pub use matrix::{Cell, Matrix};
pub use network::{Link, Network, Node};
pub use spans::{Row, Span, Spans};
pub use stacks::{Stack, Stacks};
