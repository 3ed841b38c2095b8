//! The header of a stream.

/// The first bytes of a stream.
pub(super) const MAGIC: &[u8; 8] = b"FLITREC\n";

/// Bytes of a header.
pub(super) const SIZE: usize = 80;

/// The version of the format that is read.
pub(super) const VERSION: u32 = 1;

/// The facts that a stream begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The rank in `MPI_COMM_WORLD`.
    pub rank: u32,
    /// The thread of the rank: 0 called `MPI_Init`.
    pub thread: u32,
    /// The number of ranks.
    pub ranks: u32,
    /// The same in all streams of a recording.
    pub run: [u8; 16],
    /// Nanoseconds since 1970.
    pub started_ns: u64,
    /// The time that the recorder adds to each call.
    pub overhead: Overhead,
    /// The number of processors that the process may use.
    pub processors: u32,
}

/// The time that the recorder adds to each call, in nanoseconds, as it measured on empty calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overhead {
    /// CPU time since the previous call.
    pub cpu_ns: u32,
    /// Wall time since the previous call.
    pub wall_ns: u32,
    /// Wall time in a call.
    pub inside_ns: u32,
    /// The whole cost of a call.
    pub call_ns: u32,
}

impl Header {
    /// The header at the start of a stream.
    ///
    /// # Errors
    /// The byte that is wrong, and why.
    pub(super) fn parse(bytes: &[u8; SIZE]) -> Result<Self, (usize, String)> {
        if !bytes.starts_with(MAGIC) {
            let problem = "it does not begin with `FLITREC`: it is no stream of a recording";
            return Err((0, problem.to_owned()));
        }
        let (said, found) = (number(bytes, 76), checksum(&[&bytes[..76]]));
        if said != found {
            let problem = "the checksum of the header is wrong: the file is damaged";
            return Err((0, problem.to_owned()));
        }
        let version = number(bytes, 8);
        if version != VERSION {
            let problem = format!(
                "it is of version {version} of the format, and this program reads version {VERSION}; use a newer one, or record \
                 the program again"
            );
            return Err((8, problem));
        }
        Ok(Self {
            rank: number(bytes, 12),
            thread: number(bytes, 16),
            ranks: number(bytes, 20),
            run: chunk(bytes, 24),
            started_ns: u64::from_le_bytes(chunk(bytes, 40)),
            overhead: Overhead {
                cpu_ns: number(bytes, 48),
                wall_ns: number(bytes, 52),
                inside_ns: number(bytes, 56),
                call_ns: number(bytes, 60),
            },
            processors: number(bytes, 64),
        })
    }
}

/// The bytes from `at` on; zeros beyond the end.
pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let chunk = bytes.get(at..).and_then(|rest| rest.first_chunk());
    chunk.copied().unwrap_or([0; N])
}

/// A little-endian number of four bytes.
pub(super) fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(chunk(bytes, at))
}

/// CRC-32, as in gzip, of these bytes in sequence.
pub(super) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut crc = flate2::Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum()
}
