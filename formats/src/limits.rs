//! Every cap on the resources that a file may need, with its reason.
//!
//! No number in a file decides the size of an allocation; these caps bound the memory that
//! grows with the file's contents.

/// Longest line of a header or record in bytes, line feed excluded. Nine fields of at
/// most 20 digits, a letter and a space each take fewer than 200, so a longer line is
/// junk and is refused without buffering it.
pub const MAX_RECORD_LINE: usize = 256;

/// Most tasks of one trace: beyond any recorded machine, and small enough that a table
/// per task stays below 100 MB.
pub const MAX_TASKS: u32 = 1 << 20;

/// Most communicators of one trace.
pub const MAX_COMMS: u32 = 1 << 20;

/// Longest communicator line in bytes: [`MAX_TASKS`] tasks of at most seven digits and a
/// space each, after the name.
pub const MAX_COMM_LINE: usize = 16 + 8 * MAX_TASKS as usize;

/// Most members of all communicators together: 64 MB of ranks, and 128 MB to look them up.
pub const MAX_COMM_MEMBERS: usize = 1 << 24;

/// Most digits of a number: as many as the largest 64-bit number has.
pub const MAX_DIGITS: usize = 20;

pub use flitwise_base::place::MAX_PROBLEMS;

/// Most records that are kept while they wait for later lines: about half a gigabyte.
/// Files in the order of the recording clock need a few thousand. A check refuses a file
/// that needs more in any order of events. A replay keeps fewer, and the others on disk.
pub const MAX_WAITING: usize = 1 << 23;

/// Message ids whose source and destination a check remembers (8 bytes each). Of older
/// messages it knows only that they exist.
pub const MAX_TRACKED_IDS: usize = 1 << 25;

/// Rank pairs that a summary counts separately; it only totals the traffic of further pairs.
pub const MAX_PAIRS: usize = 1 << 22;

/// Bytes per block of decompressed data.
pub const BLOCK: usize = 256 * 1024;

/// Blocks in flight between the decompressing thread and the parser.
pub const BLOCKS_IN_FLIGHT: usize = 2;

/// A compressed file up to this size that is read several times is unpacked once and kept,
/// if its content has at most [`MAX_KEPT_UNPACKED`] bytes: unpacking is slower than reading.
pub const MAX_KEPT_PACKED: u64 = 4 << 20;

/// Most bytes of such a file when unpacked.
pub const MAX_KEPT_UNPACKED: usize = 32 << 20;

/// The pages of a memory-mapped file are released after this many bytes were read, so that
/// the resident memory does not grow with the file.
pub const MAP_WINDOW: usize = 32 << 20;

/// Most nodes of a graph: far beyond any machine, and their index stays below 1 GB.
pub const MAX_GRAPH_NODES: usize = 1 << 24;

/// Most edges of a graph.
pub const MAX_GRAPH_EDGES: usize = 1 << 24;

/// Most entries of forwarding tables, of 8 bytes each: all 49,151 LIDs at 2,700 switches.
pub const MAX_FORWARDING_ENTRIES: usize = 1 << 27;

/// Most bytes of the record of one DUMPI call: six arrays over [`MAX_TASKS`] ranks, as `MPI_Alltoallw` has them, take 20 MB.
pub const MAX_DUMPI_RECORD: usize = 32 << 20;

/// Most bytes that follow the calls of a DUMPI file: its counters take 2.4 kB, names of instrumented functions may take
/// some MB.
pub const MAX_DUMPI_TRAILER: usize = 16 << 20;

/// Bytes of a file of one rank that are read at once: of thousands of ranks, one block each is in memory.
pub const RANK_BLOCK: usize = 32 * 1024;

/// Files of ranks that are open at a time; further ones are opened for each block. Systems allow 1,024 files and more.
pub const MAX_OPEN_RANKS: usize = 256;

/// Most bytes of the metafile of a DUMPI trace, which has eight short lines.
pub const MAX_METAFILE: usize = 64 * 1024;

/// Most bytes of the name of a file in a tar archive, and of what else the archive says of it.
pub const MAX_TAR_NAME: u64 = 64 * 1024;

/// Numbers of requests of one DUMPI rank that a check or a summary remembers: recorders use a few thousand again and again.
pub const MAX_REQUESTS: usize = 1 << 22;

/// Calls of a DUMPI trace that make groups and communicators, of all ranks together: they are kept while the trace is checked,
/// 100 bytes each.
pub const MAX_CONSTRUCTIONS: usize = 1 << 23;

/// Names of regions of a program, of all ranks together.
pub const MAX_REGIONS: usize = 1 << 16;

/// Receives of a DUMPI trace, of all ranks together, of which a replay keeps what they got, because they would take a message from
/// anyone and return before it comes: 16 bytes each.
pub const MAX_OUTCOMES: usize = 1 << 26;

/// Longest line of a GOAL schedule in bytes, the line feed and comments of their own excluded.
pub const MAX_GOAL_LINE: usize = 1024;

/// Most operations of a rank of a GOAL schedule in its text form, of which a rank is held in memory
/// while it is read: 1 GB. In the binary form a rank has up to 2^32 operations.
pub const MAX_GOAL_RANK_OPS: usize = 1 << 24;

/// Most dependencies of such a rank: 0.4 GB.
pub const MAX_GOAL_RANK_EDGES: usize = 1 << 25;

/// Most bytes of the labels of such a rank, with 64 bytes for each of them. Labels `l1`, `l2`, … of the
/// first, second, … operation do not count.
pub const MAX_GOAL_LABELS: usize = 1 << 28;

/// Most bytes of a node of a Chakra trace: the one that defines the process groups of [`MAX_TASKS`] ranks has 8 MB for each way of
/// parallelism.
pub const MAX_CHAKRA_NODE: usize = 64 << 20;

/// Messages that a check of a GOAL schedule, a TI trace or a DUMPI recording counts by sender, receiver and tag, of those
/// that lack their counterpart so far; of further ones it compares the numbers by receiver only.
pub const MAX_UNMATCHED: usize = 1 << 22;

/// Bytes of a line of a TI trace, besides what it has for each rank.
pub const MAX_TI_LINE: usize = 512;

/// Bytes that a line of a TI trace may have for each rank: two counts of 20 digits and their spaces.
pub const MAX_TI_LINE_PER_RANK: usize = 42;

/// Largest count of elements, and of bytes in a TI trace: up to here a number in floating point is exact, and
/// its product with the size of a datatype fits 64 bits.
pub const MAX_TI_COUNT: u64 = 1 << 53;

/// Bytes for the lines of all ranks together that wait to be written to their rank's part of a file
/// without a name.
pub const MAX_LANE_BUFFERS: usize = 64 << 20;

/// Collectives that a check compares one by one between ranks: of a TI trace, and of each communicator of a DUMPI recording.
pub const MAX_TRACKED_COLLECTIVES: usize = 1 << 22;

/// Most bytes that are copied of a pipe or a device, which may never end: more than any recorded trace has.
pub const MAX_SPOOLED: u64 = 1 << 36;

/// Most bytes of the list of the files of a TI trace: 250 for each of [`MAX_TASKS`] names.
pub const MAX_TI_LIST: usize = 1 << 28;

/// Most bytes of a record of an OTF2 archive that is read: as many as a chunk of the library may have. Records that a replay does
/// not need may have more.
pub const MAX_OTF2_RECORD: usize = 16 << 20;

/// Most definitions of an OTF2 archive that are kept: names of regions and files, locations, communicators.
pub const MAX_OTF2_DEFINITIONS: usize = 1 << 24;

/// Most functions of MPI that a rank of an OTF2 archive is in at a time: a library calls a few within another. As many regions
/// of the program are followed.
pub const MAX_OTF2_DEPTH: usize = 1 << 10;

/// Visits of regions of an OTF2 archive that a replay follows in any case, of all ranks together: two operations each. It follows
/// more if the archive has more events of communication.
pub const MAX_OTF2_VISITS: u64 = 1 << 20;

/// Sizes of members of collectives of an OTF2 archive that a replay keeps, 8 bytes each: of collectives whose blocks differ.
pub const MAX_OTF2_SIZES: usize = 1 << 26;

/// Most bytes of a block of a recording: the format has no longer ones, and recorders write 64 KiB at once.
pub const MAX_RECORDING_BLOCK: usize = 16 << 20;

/// Most bytes of the tuples that a stream of a recording may repeat: recorders repeat 4096 of at most 512 bytes.
pub const MAX_RECORDING_SLOTS: usize = 64 << 20;

/// Most numbers of a sequence in a call of a recording: as many as ranks, of which each gets a block.
pub const MAX_RECORDING_LIST: u64 = 1 << 20;

/// Most functions that a stream of a recording names: MPI has some 500.
pub const MAX_RECORDING_FUNCTIONS: usize = 1 << 12;

/// Most threads of a rank in a recording, whose streams are read side by side.
pub const MAX_RECORDING_THREADS: usize = 1 << 10;

/// Most bytes of the description of a recording: 20 for each of [`MAX_TASKS`] ranks, and as many hosts of 255 bytes as fit.
pub const MAX_RECORDING_TOML: u64 = 128 << 20;
