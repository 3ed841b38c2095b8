//! Figures as data: a title, a note and a chart of one of the kinds.

use super::bars::Bars;
use super::canvas::{Sheet, Theme};
use super::curves::Curves;
use super::frame::Frame;
use super::matrix::Matrix;
use super::network::Network;
use super::spans::Spans;
use super::stacks::Stacks;
use super::svg;

/// Narrowest figure that can be drawn, in pixels.
pub const MIN_WIDTH: u32 = 280;
/// Widest figure.
pub const MAX_WIDTH: u32 = 4000;

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// A remark that is needed to read it; may be empty.
    pub note: String,
    /// Its content.
    pub chart: Chart,
}

/// The content of a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    /// Upright bars with intervals.
    Bars(Bars),
    /// Lying bars made of parts.
    Stacks(Stacks),
    /// Curves, distributions and time series.
    Curves(Curves),
    /// A matrix of shades.
    Matrix(Matrix),
    /// The activities of rows over time.
    Spans(Spans),
    /// Nodes and the links between them.
    Network(Network),
    /// Several charts, one below the other.
    Column(Vec<Self>),
}

impl Figure {
    /// Draws the figure, `width` pixels wide, as an `svg` element.
    #[must_use]
    pub fn draw(&self, width: u32, theme: Theme) -> String {
        svg::svg(&self.lay_out(width, theme), theme)
    }

    pub(super) fn lay_out(&self, width: u32, theme: Theme) -> Sheet {
        let width = width.clamp(MIN_WIDTH, MAX_WIDTH);
        let mut frame = Frame::begin([&self.title, &self.note], f64::from(width), theme);
        self.chart.draw(&mut frame);
        frame.finish(&self.title)
    }
}

impl Chart {
    fn draw(&self, frame: &mut Frame) {
        match self {
            Self::Bars(bars) => bars.draw(frame),
            Self::Stacks(stacks) => stacks.draw(frame),
            Self::Curves(curves) => curves.draw(frame),
            Self::Matrix(matrix) => matrix.draw(frame),
            Self::Spans(spans) => spans.draw(frame),
            Self::Network(network) => network.draw(frame),
            Self::Column(charts) => {
                for chart in charts {
                    frame.y += 6.0;
                    chart.draw(frame);
                }
            }
        }
    }
}
