//! The outlines of shapes, for PDF and PNG.

use super::canvas::{Paint, Path, Segment, Shape, Stroke, tenths};
use tiny_skia::PathBuilder;

/// An outline, and how it is painted.
pub(super) struct Outline {
    pub path: tiny_skia::Path,
    pub fill: Option<Paint>,
    pub stroke: Option<Stroke>,
    /// Corners of its line are round.
    pub round: bool,
}

impl Outline {
    /// The outline of a shape; `None` of text and of what covers nothing.
    pub(super) fn of(shape: &Shape) -> Option<Self> {
        match shape {
            Shape::Path(path) => Some(Self {
                path: along(path)?,
                fill: path.fill,
                stroke: path.stroke,
                round: path.round,
            }),
            Shape::Circle {
                at,
                r,
                fill,
                stroke,
            } => {
                let [x, y] = short(*at);
                Some(Self {
                    path: PathBuilder::from_circle(x, y, tenths(*r) as f32)?,
                    fill: Some(*fill),
                    stroke: Some(*stroke),
                    round: false,
                })
            }
            Shape::Text { .. } | Shape::Begin(_) | Shape::End => None,
        }
    }
}

fn along(path: &Path) -> Option<tiny_skia::Path> {
    let mut out = PathBuilder::new();
    for segment in &path.segments {
        match *segment {
            Segment::Move(to) => out.move_to(short(to)[0], short(to)[1]),
            Segment::Line(to) => out.line_to(short(to)[0], short(to)[1]),
            Segment::Bend(by, to) => {
                let ([bx, by], [x, y]) = (short(by), short(to));
                out.quad_to(bx, by, x, y);
            }
            Segment::Rect([x, y, w, h]) => {
                let ([x, y], [w, h]) = (short([x, y]), short([w, h]));
                let rect = tiny_skia::Rect::from_xywh(x, y, w, h);
                rect.into_iter().for_each(|rect| out.push_rect(rect));
            }
            Segment::Close => out.close(),
        }
    }
    out.finish()
}

/// A point as SVG has it.
pub(super) fn short(point: [f64; 2]) -> [f32; 2] {
    point.map(|at| tenths(at) as f32)
}
