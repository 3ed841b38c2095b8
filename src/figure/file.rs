//! Figures as files: SVG, PDF and PNG.

use super::canvas::Theme;
use super::chart::Figure;
use super::svg;
use std::path::Path;
use thiserror::Error;

/// The format of a figure's file.
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

/// A file that cannot be made of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The crate lacks the feature `pictures`.
    #[error("PDF and PNG need the feature `pictures`")]
    NoPictures,
    /// A library refuses it, for which no figure is known.
    #[error("cannot write {0}: {1}")]
    Refused(&'static str, String),
}

/// The bytes of a figure that is `width` pixels wide.
///
/// # Errors
/// [`EncodeError::NoPictures`] for PDF and PNG without the feature `pictures`; or if the figure cannot be written.
pub fn encoded(figure: &Figure, width: u32, format: FileFormat) -> Result<Vec<u8>, EncodeError> {
    let sheet = figure.lay_out(width, Theme::File);
    match format {
        FileFormat::Svg => Ok(svg::svg(&sheet, Theme::File).into_bytes()),
        #[cfg(feature = "pictures")]
        FileFormat::Pdf => super::pdf::pdf(&sheet).map_err(|e| EncodeError::Refused("PDF", e)),
        #[cfg(feature = "pictures")]
        FileFormat::Png => super::png::png(&sheet).map_err(|e| EncodeError::Refused("PNG", e)),
        #[cfg(not(feature = "pictures"))]
        FileFormat::Pdf | FileFormat::Png => Err(EncodeError::NoPictures),
    }
}
