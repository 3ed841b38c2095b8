//! The letters of PDF and PNG: DejaVu Sans, which is part of the program, so that a figure looks the same everywhere.

use super::canvas::{Anchor, Style};
use ttf_parser::{Face, GlyphId};

/// The file of the font.
pub(super) fn bytes() -> &'static [u8] {
    dejavu::sans::regular()
}

/// The font.
pub(super) struct Font(pub Face<'static>);

/// A text as the glyphs of its letters.
pub(super) struct Letters {
    /// Each letter, with the character that it shows and its distance from the first in pixels.
    pub glyphs: Vec<(GlyphId, char, f64)>,
    /// Where the first one stands.
    pub from: [f64; 2],
    /// Where one that is a pixel further on stands, from there.
    pub along: [f64; 2],
}

impl Font {
    pub(super) fn new() -> Result<Self, ttf_parser::FaceParsingError> {
        Face::parse(bytes(), 0).map(Self)
    }

    /// Units of the font in the size of a letter.
    pub(super) fn units(&self) -> f64 {
        self.0.units_per_em().into()
    }

    /// How far the next letter is, in units of the font.
    pub(super) fn advance(&self, glyph: GlyphId) -> f64 {
        self.0.glyph_hor_advance(glyph).unwrap_or(0).into()
    }

    /// The letters of a text; characters that the font lacks show as boxes.
    pub(super) fn letters(&self, [x, y]: [f64; 2], style: Style, text: &str) -> Letters {
        let mut width = 0.0;
        let mut glyphs = Vec::new();
        for c in text.chars().filter(|c| !c.is_control()) {
            let glyph = self.0.glyph_index(c).unwrap_or_default();
            glyphs.push((glyph, c, width));
            width += self.advance(glyph) * style.size / self.units();
        }
        let back = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        let along = if style.upright {
            [0.0, -1.0]
        } else {
            [1.0, 0.0]
        };
        Letters {
            glyphs,
            from: [x - back * along[0], y - back * along[1]],
            along,
        }
    }
}
