//! Figures as files: SVG as it is, PDF and PNG through libraries.
//!
//! No font of the system is used, so a figure looks the same everywhere: text is set in DejaVu Sans, which is part of
//! the program. A PDF has the letters that it uses; its text can be searched and copied.

use super::{Figure, Theme};
#[cfg(not(feature = "plots"))]
use crate::results::MissingFeature;
use std::path::Path;

/// What a figure is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Document Format.
    Pdf,
    /// Pixels, twice as many as the figure is wide.
    Png,
}

impl FileFormat {
    /// The format that the name of a file asks for.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// The bytes of a figure that is `width` pixels wide.
///
/// # Errors
/// A [`MissingFeature`](crate::results::MissingFeature) for PDF and PNG without the feature `plots`; or if a library refuses, for which no figure is
/// known.
pub fn encoded(figure: &Figure, width: u32, format: FileFormat) -> anyhow::Result<Vec<u8>> {
    let svg = figure.draw(width, Theme::File);
    match format {
        FileFormat::Svg => Ok(svg.into_bytes()),
        #[cfg(feature = "plots")]
        FileFormat::Pdf => libraries::pdf(&svg),
        #[cfg(feature = "plots")]
        FileFormat::Png => libraries::png(&svg),
        #[cfg(not(feature = "plots"))]
        FileFormat::Pdf | FileFormat::Png => Err(MissingFeature::PICTURES.into()),
    }
}

#[cfg(feature = "plots")]
mod libraries {
    use anyhow::{Context, anyhow};
    use std::sync::Arc;
    use svg2pdf::usvg::{Options, Tree, fontdb};
    use svg2pdf::{ConversionOptions, PageOptions};

    /// Pixels of a PNG for each pixel of the figure: enough for paper.
    const SCALE: f32 = 2.0;
    const FONT: &str = "DejaVu Sans";

    fn tree(svg: &str) -> anyhow::Result<Tree> {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family(FONT);
        let options = Options {
            font_family: FONT.to_owned(),
            fontdb: Arc::new(fonts),
            ..Options::default()
        };
        Tree::from_str(svg, &options).context("cannot read the figure")
    }

    pub(super) fn pdf(svg: &str) -> anyhow::Result<Vec<u8>> {
        let (conversion, page) = (ConversionOptions::default(), PageOptions::default());
        svg2pdf::to_pdf(&tree(svg)?, conversion, page).map_err(|e| anyhow!("cannot write PDF: {e}"))
    }

    pub(super) fn png(svg: &str) -> anyhow::Result<Vec<u8>> {
        use resvg::tiny_skia::{Pixmap, Transform};
        let tree = tree(svg)?;
        let size = tree.size().to_int_size().scale_by(SCALE);
        let size = size.context("the figure has no size")?;
        let pixels = Pixmap::new(size.width(), size.height());
        let mut pixels = pixels.context("the figure is too large")?;
        let scale = Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        pixels.encode_png().context("cannot write PNG")
    }
}
