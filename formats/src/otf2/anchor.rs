//! The anchor file, which names the parts of an archive.

use std::path::Path;

use flitwise_base::place::PlaceError;
use flitwise_base::quote::quoted;

use super::wire::{Fault, Fields, Order};
use crate::error::Error;
use crate::source::open_regular;
use std::io::Read;

/// Most bytes of an anchor file: recorders write some hundred, with a dozen properties.
const MAX_ANCHOR: u64 = 1 << 20;
/// The byte that ends an anchor file, and each file of the archive.
pub(super) const END_OF_FILE: u8 = 2;
/// Bytes before the first value.
const HEAD: u64 = 2;

/// The contents of an anchor file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anchor {
    /// The version of the library that wrote the archive.
    pub version: [u8; 3],
    /// Bytes of a chunk of events.
    pub event_chunk: u64,
    /// Bytes of a chunk of definitions.
    pub definition_chunk: u64,
    /// Whether the other files are compressed with zlib.
    pub zlib: bool,
    /// Number of locations.
    pub locations: u64,
    /// The program that recorded: `Score-P 8.4`.
    pub creator: String,
    /// Names and values of properties.
    pub properties: Vec<(String, String)>,
}

/// Kinds of files of an archive.
mod substrate {
    pub const POSIX: u8 = 1;
    pub const SION: u8 = 2;
    pub const NONE: u8 = 3;
}

impl Anchor {
    /// True if a file that begins with `head` is an anchor file.
    #[must_use]
    pub fn probe(head: &[u8]) -> bool {
        matches!(head, [3, b'B' | b'#', b'O', b'T', b'F', b'2', 0, ..])
    }

    /// Reads the anchor file at `path`.
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let mut bytes = Vec::new();
        let read =
            open_regular(path).and_then(|file| file.take(MAX_ANCHOR).read_to_end(&mut bytes));
        read.map_err(|e| Error::io(path, e))?;
        Self::parse(&bytes).map_err(|e| Error::broken(e.of(&path.into())))
    }

    /// The contents of an anchor file.
    fn parse(bytes: &[u8]) -> Result<Self, PlaceError> {
        let order = match bytes {
            [3, order, ..] => Order::of(*order),
            _ => None,
        };
        let Some(order) = order else {
            return Err(PlaceError::byte(0, "is no anchor file of an OTF2 archive"));
        };
        let rest = bytes.get(HEAD as usize..).unwrap_or_default();
        let mut fields = Fields::new(rest, order);
        let found = Self::fields(&mut fields);
        let at = HEAD + (rest.len() - fields.len()) as u64;
        match found {
            Ok(Ok(anchor)) => Ok(anchor),
            Ok(Err(problem)) => Err(PlaceError::byte(at, problem)),
            Err(_) => Err(PlaceError::byte(
                at,
                "the anchor file is cut short; copy it again, or record the program to its end",
            )),
        }
    }

    fn fields(fields: &mut Fields<'_>) -> Result<Result<Self, String>, Fault> {
        let bad = |problem: &str| Ok(Err(problem.to_owned()));
        if fields.text()? != "OTF2" {
            return bad("is no anchor file of an OTF2 archive");
        }
        let format = fields.u8()?;
        fields.u8()?;
        let version = [fields.u8()?, fields.u8()?, fields.u8()?];
        let (event_chunk, definition_chunk) = (fields.full_u64()?, fields.full_u64()?);
        let substrate = fields.u8()?;
        let compression = fields.u8()?;
        let locations = fields.full_u64()?;
        fields.full_u64()?;
        let (_, creator, _) = (fields.text()?, fields.text()?, fields.text()?);
        let mut properties = Vec::new();
        if format > 1 {
            // A count that is too large ends at the end of the bytes.
            for _ in 0..fields.full_u32()? {
                properties.push((fields.text()?, fields.text()?));
            }
            fields.full_u64()?;
        }
        if format > 2 {
            fields.full_u32()?;
            fields.full_u32()?;
        }
        // Later versions may have more here, so the end mark is not looked for.
        if fields.u8()? != END_OF_FILE && format <= 3 {
            return bad("the anchor file has no end mark; copy it again");
        }
        let chunks = [event_chunk, definition_chunk];
        if let Some(problem) = unreadable(substrate, compression, chunks) {
            return Ok(Err(problem));
        }
        Ok(Ok(Self {
            version,
            event_chunk,
            definition_chunk,
            zlib: compression == ZLIB,
            locations,
            creator,
            properties,
        }))
    }

    /// The value of a property.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&str> {
        let found = self.properties.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The recorder as messages quote it.
    #[must_use]
    pub fn creator(&self) -> String {
        match self.creator.as_str() {
            "" => "an unnamed recorder".to_owned(),
            name => quoted(name).to_string(),
        }
    }
}

/// The reason why the files of an archive can't be read, if there is one.
fn unreadable(substrate: u8, compression: u8, chunks: [u64; 2]) -> Option<String> {
    match substrate {
        substrate::POSIX => {}
        substrate::SION => {
            return Some(
                "its files are packed with SIONlib, which this version does not read; record with one file per location \
                 (SCOREP_TRACING_USE_SION=false)"
                    .to_owned(),
            );
        }
        substrate::NONE => return Some("it says that no events were written".to_owned()),
        other => return Some(format!("it has files of the unknown kind {other}")),
    }
    if compression > 2 {
        return Some(format!("it is compressed in the unknown way {compression}"));
    }
    let smallest = chunks[0].min(chunks[1]);
    (smallest < MIN_CHUNK)
        .then(|| format!("it says that chunks have {smallest} bytes, too few for their header"))
}

/// The compression by zlib.
const ZLIB: u8 = 2;

/// Fewest bytes of a chunk: the header and a byte.
pub(super) const MIN_CHUNK: u64 = 19;
