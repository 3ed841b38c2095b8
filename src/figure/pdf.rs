//! Writes PDF: a page of a figure's size, with the letters that it uses. Its text can be searched and copied.

use super::canvas::{Paint, Shape, Sheet, Style};
use super::font::{self, Font};
use super::outline::{Outline, short};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::BTreeMap;
use std::io::Write;
use subsetter::GlyphRemapper;
use tiny_skia::{PathSegment, Point};
use ttf_parser::GlyphId;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const CID_FONT: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const CMAP: Ref = Ref::new(8);
const FONT_FILE: Ref = Ref::new(9);
const INFO: Ref = Ref::new(10);

/// The font in the resources of the page.
const FONT_KEY: Name<'static> = Name(b"F");
/// The font of a part of the letters: a tag of six letters stands before its name (ISO 32000-1, 9.6.4).
const FONT_NAME: Name<'static> = Name(b"FLITWI+DejaVuSans");
const SYSTEM_INFO: SystemInfo<'static> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};
/// The file of a figure.
pub(super) fn pdf(sheet: &Sheet) -> Result<Vec<u8>, String> {
    let font = Font::new().map_err(|e| e.to_string())?;
    let mut page = Page {
        content: Content::new(),
        font,
        subset: GlyphRemapper::new(),
        shown: BTreeMap::new(),
    };
    let [width, height] = [sheet.width, sheet.height].map(|size| size as f32);
    // Figures count from the top, pages from the bottom.
    page.content
        .transform([1.0, 0.0, 0.0, -1.0, 0.0, height])
        .set_miter_limit(4.0);
    for shape in &sheet.shapes {
        page.draw(shape);
    }
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    let mut of_page = pdf.page(PAGE);
    of_page.media_box(Rect::new(0.0, 0.0, width, height));
    of_page.parent(PAGES);
    of_page.contents(CONTENT);
    of_page.resources().fonts().pair(FONT_KEY, FONT);
    of_page.finish();
    pdf.document_info(INFO).title(TextStr(&sheet.label));
    let content = std::mem::replace(&mut page.content, Content::new());
    let content = packed(&content.finish())?;
    pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
    page.write_font(&mut pdf)?;
    Ok(pdf.finish())
}

struct Page {
    content: Content,
    font: Font,
    /// The letters used.
    subset: GlyphRemapper,
    /// The character that each of them shows, by its number in the file.
    shown: BTreeMap<u16, char>,
}

impl Page {
    fn draw(&mut self, shape: &Shape) {
        if let Shape::Text { at, style, text } = shape {
            self.text(*at, *style, text);
        }
        let Some(outline) = Outline::of(shape) else {
            return;
        };
        if let Some(fill) = outline.fill {
            let [r, g, b] = rgb(fill);
            self.content.set_fill_rgb(r, g, b);
        }
        if let Some(stroke) = outline.stroke {
            let [r, g, b] = rgb(stroke.paint);
            let join = if outline.round {
                LineJoinStyle::RoundJoin
            } else {
                LineJoinStyle::MiterJoin
            };
            let dashes = stroke.dashes.iter().copied().map(f32::from);
            self.content
                .set_stroke_rgb(r, g, b)
                .set_line_width(stroke.width as f32)
                .set_line_join(join)
                .set_dash_pattern(dashes, 0.0);
        }
        self.trace(&outline.path);
        match (outline.fill, outline.stroke) {
            (Some(_), Some(_)) => self.content.fill_nonzero_and_stroke(),
            (Some(_), None) => self.content.fill_nonzero(),
            (None, _) => self.content.stroke(),
        };
    }

    fn trace(&mut self, path: &tiny_skia::Path) {
        let mut from = Point::zero();
        for segment in path.segments() {
            let to = match segment {
                PathSegment::MoveTo(to) => {
                    self.content.move_to(to.x, to.y);
                    to
                }
                PathSegment::LineTo(to) => {
                    self.content.line_to(to.x, to.y);
                    to
                }
                PathSegment::QuadTo(by, to) => {
                    // PDF has curves with two control points.
                    let towards = |end: f32, by: f32| end + (by - end) * 2.0 / 3.0;
                    let (x1, y1) = (towards(from.x, by.x), towards(from.y, by.y));
                    let (x2, y2) = (towards(to.x, by.x), towards(to.y, by.y));
                    self.content.cubic_to(x1, y1, x2, y2, to.x, to.y);
                    to
                }
                PathSegment::CubicTo(a, b, to) => {
                    self.content.cubic_to(a.x, a.y, b.x, b.y, to.x, to.y);
                    to
                }
                PathSegment::Close => {
                    self.content.close_path();
                    from
                }
            };
            from = to;
        }
    }

    fn text(&mut self, at: [f64; 2], style: Style, text: &str) {
        let letters = self.font.letters(at, style, text);
        let mut codes = Vec::new();
        for &(glyph, shown, _) in &letters.glyphs {
            let code = self.subset.remap(glyph.0);
            self.shown.entry(code).or_insert(shown);
            codes.extend(code.to_be_bytes());
        }
        let [x, y] = short(letters.from);
        let [along, up] = letters.along.map(|at| at as f32);
        let [r, g, b] = rgb(style.paint);
        // Letters stand upwards, against the direction in which figures count.
        self.content
            .set_fill_rgb(r, g, b)
            .begin_text()
            .set_font(FONT_KEY, style.size as f32)
            .set_text_matrix([along, up, up, -along, x, y])
            .show(Str(&codes))
            .end_text();
    }

    /// The letters used, as a font whose characters are their numbers (ISO 32000-1, 9.7).
    fn write_font(&self, pdf: &mut Pdf) -> Result<(), String> {
        let (face, units) = (&self.font.0, self.font.units());
        let thousandths = |of: i16| (1000.0 * f64::from(of) / units) as f32;
        pdf.type0_font(FONT)
            .base_font(FONT_NAME)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(CID_FONT)
            .to_unicode(CMAP);
        let mut cid_font = pdf.cid_font(CID_FONT);
        cid_font
            .subtype(CidFontType::Type2)
            .base_font(FONT_NAME)
            .system_info(SYSTEM_INFO)
            .font_descriptor(DESCRIPTOR)
            .cid_to_gid_map_predefined(Name(b"Identity"));
        let widths = self.subset.remapped_gids().map(|glyph| {
            let advance = self.font.advance(GlyphId(glyph));
            (1000.0 * advance / units) as f32
        });
        cid_font.widths().consecutive(0, widths);
        cid_font.finish();
        let bounds = face.global_bounding_box();
        let [x1, y1, x2, y2] =
            [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(thousandths);
        let ascent = thousandths(face.ascender());
        pdf.font_descriptor(DESCRIPTOR)
            .name(FONT_NAME)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(x1, y1, x2, y2))
            .italic_angle(0.0)
            .ascent(ascent)
            .descent(thousandths(face.descender()))
            .cap_height(face.capital_height().map_or(ascent, thousandths))
            .stem_v(95.0)
            .font_file2(FONT_FILE);
        let mut cmap = UnicodeCmap::new(Name(b"Custom"), SYSTEM_INFO);
        for (&code, &shown) in &self.shown {
            cmap.pair(code, shown);
        }
        pdf.cmap(CMAP, &cmap.finish());
        let letters =
            subsetter::subset(font::bytes(), 0, &self.subset).map_err(|e| e.to_string())?;
        let file = packed(&letters)?;
        pdf.stream(FONT_FILE, &file).filter(Filter::FlateDecode);
        Ok(())
    }
}

fn rgb(paint: Paint) -> [f32; 3] {
    let [_, r, g, b] = paint.rgb().to_be_bytes();
    [r, g, b].map(|part| f32::from(part) / 255.0)
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = out.write_all(bytes).and_then(|()| out.finish());
    written.map_err(|e| e.to_string())
}
