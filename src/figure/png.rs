//! Paints pixels.

use super::canvas::{Paint, Shape, Sheet};
use super::font::{Font, Letters};
use super::outline::Outline;
use tiny_skia::{
    Color, FillRule, LineJoin, Paint as Brush, PathBuilder, Pixmap, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

/// Pixels of a PNG for each pixel of the figure: enough for paper.
const SCALE: f32 = 2.0;

/// The file of a figure.
pub(super) fn png(sheet: &Sheet) -> Result<Vec<u8>, String> {
    let font = Font::new().map_err(|e| e.to_string())?;
    let [width, height] = [sheet.width, sheet.height].map(|size| size as u32 * SCALE as u32);
    let mut pixels = Pixmap::new(width, height).ok_or("the figure is too large")?;
    pixels.fill(Color::WHITE);
    for shape in &sheet.shapes {
        draw(&mut pixels, shape, &font);
    }
    pixels.encode_png().map_err(|e| e.to_string())
}

fn draw(pixels: &mut Pixmap, shape: &Shape, font: &Font) {
    let scale = Transform::from_scale(SCALE, SCALE);
    if let Shape::Text { at, style, text } = shape {
        let letters = font.letters(*at, *style, text);
        if let Some(path) = text_outline(&letters, style.size / font.units(), font) {
            let brush = brush(style.paint);
            pixels.fill_path(&path, &brush, FillRule::Winding, scale, None);
        }
    }
    let Some(outline) = Outline::of(shape) else {
        return;
    };
    if let Some(fill) = outline.fill {
        let (path, rule) = (&outline.path, FillRule::Winding);
        pixels.fill_path(path, &brush(fill), rule, scale, None);
    }
    if let Some(stroke) = outline.stroke {
        let dashes = stroke.dashes.iter().copied().map(f32::from).collect();
        let join = if outline.round {
            LineJoin::Round
        } else {
            LineJoin::Miter
        };
        let line = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_join: join,
            dash: StrokeDash::new(dashes, 0.0),
            ..tiny_skia::Stroke::default()
        };
        pixels.stroke_path(&outline.path, &brush(stroke.paint), &line, scale, None);
    }
}

fn brush(paint: Paint) -> Brush<'static> {
    let [_, r, g, b] = paint.rgb().to_be_bytes();
    let mut brush = Brush::default();
    brush.set_color_rgba8(r, g, b, 255);
    brush
}

/// Takes outlines of letters, in units of the font upwards, to where they stand.
struct Placed {
    out: PathBuilder,
    from: [f64; 2],
    along: [f64; 2],
    size: f64,
}

impl Placed {
    fn at(&self, x: f32, y: f32) -> [f32; 2] {
        let [x, y] = [x, y].map(|of| f64::from(of) * self.size);
        let ([fx, fy], [ax, ay]) = (self.from, self.along);
        [fx + x * ax + y * ay, fy + x * ay - y * ax].map(|at| at as f32)
    }
}

impl OutlineBuilder for Placed {
    fn move_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.out.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.out.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ([x1, y1], [x, y]) = (self.at(x1, y1), self.at(x, y));
        self.out.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ([x1, y1], [x2, y2]) = (self.at(x1, y1), self.at(x2, y2));
        let [x, y] = self.at(x, y);
        self.out.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.out.close();
    }
}

fn text_outline(letters: &Letters, size: f64, font: &Font) -> Option<tiny_skia::Path> {
    let mut placed = Placed {
        out: PathBuilder::new(),
        from: letters.from,
        along: letters.along,
        size,
    };
    let ([x, y], [ax, ay]) = (letters.from, letters.along);
    for &(glyph, _, by) in &letters.glyphs {
        placed.from = [x + ax * by, y + ay * by];
        font.0.outline_glyph(glyph, &mut placed);
    }
    placed.out.finish()
}
