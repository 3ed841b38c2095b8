//! A reader of recordings for these tests, written from `docs/reference/recording.md` alone.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// One call of a stream, with its fields as text.
#[derive(Debug, Clone)]
pub struct Call {
    pub name: String,
    /// `comm=0 peer=1 tag=7 data=8*1`.
    pub fields: String,
    pub failed: bool,
    /// The number of equal polls that it stands for.
    pub times: u64,
    pub gap_cpu: u64,
    pub gap_wall: i64,
    pub inside: u64,
}

#[derive(Debug, Default)]
pub struct Stream {
    pub rank: u32,
    pub thread: u32,
    pub ranks: u32,
    pub run: [u8; 16],
    pub overhead: [u32; 4],
    pub calls: Vec<Call>,
    pub notes: Vec<String>,
    /// Communicators by id, as text.
    pub comms: HashMap<u64, String>,
    /// Reason, CPU of the process, CPU of the thread, threads.
    pub end: Option<[u64; 4]>,
    pub bytes: usize,
    /// Whether something follows the last whole block.
    pub cut: bool,
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn v(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return value;
            }
        }
        panic!("a number of more than 10 bytes");
    }

    fn s(&mut self) -> i64 {
        let v = self.v();
        if v & 1 == 1 {
            -((v >> 1) as i64) - 1
        } else {
            (v >> 1) as i64
        }
    }

    fn take(&mut self, len: u64) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(usize::try_from(len).unwrap());
        self.0 = rest;
        taken.to_vec()
    }

    fn text(&mut self) -> String {
        let len = self.v();
        String::from_utf8(self.take(len)).unwrap()
    }

    fn seq(&mut self) -> Vec<i64> {
        let mut all = Vec::new();
        for _ in 0..self.v() {
            let (count, first) = (self.v(), self.s());
            let stride = if count > 1 { self.s() } else { 0 };
            all.extend((0..count as i64).map(|i| first + i * stride));
        }
        all
    }

    fn peer(&mut self) -> String {
        match self.v() {
            0 => "any".into(),
            1 => "null".into(),
            2 => "root".into(),
            r => (r - 3).to_string(),
        }
    }

    fn tag(&mut self) -> String {
        match self.v() {
            0 => "any".into(),
            t => (t - 1).to_string(),
        }
    }

    fn data(&mut self) -> String {
        let (count, size) = (self.v(), self.v());
        format!("{count}*{size}")
    }

    fn envelope(&mut self) -> String {
        format!("comm={} peer={} tag={}", self.v(), self.peer(), self.tag())
    }

    fn result(&mut self) -> String {
        let flags = self.v();
        let mut text = String::from("got(");
        if flags & 1 > 0 {
            write!(text, "peer={} ", self.peer()).unwrap();
        }
        if flags & 2 > 0 {
            write!(text, "tag={} ", self.tag()).unwrap();
        }
        if flags & 4 > 0 {
            write!(text, "bytes={} ", self.v()).unwrap();
        }
        if flags & 8 > 0 {
            text.push_str("cancelled ");
        }
        if flags & 16 > 0 {
            text.push_str("error ");
        }
        text.truncate(text.trim_end().len());
        text + ")"
    }

    fn part(&mut self) -> String {
        match self.v() {
            0 => "-".into(),
            1 => "in-place".into(),
            2 => self.data(),
            3 => {
                let size = self.v();
                format!("{:?}*{size}", self.seq())
            }
            4 => format!("{:?}", self.seq()),
            other => panic!("part {other}"),
        }
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| {
            if c & 1 == 1 {
                0xedb8_8320 ^ (c >> 1)
            } else {
                c >> 1
            }
        })
    })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The names of requests: `THREAD:N`.
struct Made {
    thread: u32,
    requests: u64,
    messages: u64,
}

fn reference(code: u64, thread: u32, made: u64) -> String {
    match (code & 3, code >> 2) {
        (0, back) => format!("{thread}:{}", made - 1 - back),
        (1, n) => format!("{thread}:{n}"),
        (2, both) => format!("{}:{}", both & 0xffff, both >> 16),
        (_, 0) => "null".into(),
        _ => "unknown".into(),
    }
}

fn references(seq: &[i64], made: &Made) -> Vec<String> {
    let name = |code: &i64| reference(*code as u64, made.thread, made.requests);
    seq.iter().map(name).collect()
}

const RECEIVES: [&str; 4] = ["Recv", "Irecv", "Recv_init", "Precv_init"];
const MAKERS: [&str; 15] = [
    "Comm_dup",
    "Comm_dup_with_info",
    "Comm_idup",
    "Comm_idup_with_info",
    "Comm_create",
    "Comm_create_group",
    "Comm_split",
    "Comm_split_type",
    "Cart_create",
    "Cart_sub",
    "Graph_create",
    "Dist_graph_create",
    "Dist_graph_create_adjacent",
    "Intercomm_create",
    "Intercomm_merge",
];
const COLLECTIVES: [&str; 22] = [
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
];

/// Whether the call is a collective, and whether it makes a request.
fn collective(name: &str) -> Option<bool> {
    let lower = name.to_lowercase();
    let is = |name: &str| COLLECTIVES.contains(&name);
    match (lower.strip_prefix('i'), lower.strip_suffix("_init")) {
        _ if is(&lower) => Some(false),
        (Some(rest), _) if is(rest) => Some(true),
        (_, Some(rest)) if is(rest) => Some(true),
        _ => None,
    }
}

/// The fields of a call as text.
fn fields(name: &str, b: &mut Bytes<'_>, made: &mut Made) -> String {
    let short = name.strip_prefix("MPI_").unwrap_or(name);
    let request = |made: &mut Made, text: String| {
        made.requests += 1;
        format!("{text} -> {}:{}", made.thread, made.requests - 1)
    };
    if let Some(makes) = collective(short) {
        let op = |v| ["", " commutative", " ordered"][usize::try_from(v).unwrap()];
        let text = format!(
            "comm={} root={}{} {} {}",
            b.v(),
            b.peer(),
            op(b.v()),
            b.part(),
            b.part()
        );
        return if makes { request(made, text) } else { text };
    }
    if MAKERS.contains(&short) {
        let text = format!("comm={} new={}", b.v(), b.v());
        return if short.contains("idup") {
            request(made, text)
        } else {
            text
        };
    }
    match short {
        "Send" | "Ssend" | "Rsend" | "Bsend" => format!("{} {}", b.envelope(), b.data()),
        "Recv" => format!("{} {} {}", b.envelope(), b.data(), b.result()),
        "Psend_init" | "Precv_init" => {
            let text = format!("{} partitions={} {}", b.envelope(), b.v(), b.data());
            request(made, text)
        }
        "Sendrecv" | "Sendrecv_replace" | "Isendrecv" | "Isendrecv_replace" => {
            let text = format!(
                "{} {} peer={} tag={} {}",
                b.envelope(),
                b.data(),
                b.peer(),
                b.tag(),
                b.data()
            );
            if short.starts_with('I') {
                return request(made, text);
            }
            format!("{text} {}", b.result())
        }
        "Probe" => format!("{} {}", b.envelope(), b.result()),
        "Iprobe" | "Improbe" | "Mprobe" => {
            let envelope = b.envelope();
            if short != "Mprobe" && b.v() == 0 {
                return format!("{envelope} nothing");
            }
            let text = format!("{envelope} {}", b.result());
            if short == "Iprobe" {
                return text;
            }
            made.messages += 1;
            format!("{text} -> message {}", made.messages - 1)
        }
        "Mrecv" | "Imrecv" => {
            let message = reference(b.v(), made.thread, made.messages);
            let text = format!("message={message} {}", b.data());
            if short == "Imrecv" {
                return request(made, text);
            }
            format!("{text} {}", b.result())
        }
        "Pready" | "Pready_range" | "Pready_list" => {
            format!(
                "{} {:?}",
                reference(b.v(), made.thread, made.requests),
                b.seq()
            )
        }
        "Parrived" => format!(
            "{} {} {}",
            reference(b.v(), made.thread, made.requests),
            b.v(),
            b.v()
        ),
        "Request_get_status" => {
            format!("{} {}", reference(b.v(), made.thread, made.requests), b.v())
        }
        "Start" | "Startall" | "Request_free" | "Cancel" => references(&b.seq(), made).join(" "),
        "Comm_free" | "Comm_disconnect" => format!("comm={}", b.v()),
        "Init" | "Init_thread" => format!("level={}", b.v()),
        "Pcontrol" => format!("{} {}", b.s(), b.text()),
        _ if short.starts_with("Wait") || short.starts_with("Test") => completion(b, made),
        _ if short.ends_with("send") || short.ends_with("_init") || RECEIVES.contains(&short) => {
            let text = format!("{} {}", b.envelope(), b.data());
            request(made, text)
        }
        _ => String::new(),
    }
}

fn completion(b: &mut Bytes<'_>, made: &Made) -> String {
    let names = references(&b.seq(), made);
    let done: Vec<usize> = match b.v() {
        0 => Vec::new(),
        1 => (0..names.len()).collect(),
        2 => b
            .seq()
            .into_iter()
            .map(|i| usize::try_from(i).unwrap())
            .collect(),
        other => panic!("done {other}"),
    };
    let mut text = format!("of {}:", names.len());
    for at in done {
        let name = &names[at];
        write!(text, " {name}").unwrap();
        if name != "null" && name != "unknown" {
            text.push_str(&b.result());
        }
    }
    text
}

fn comm(b: &mut Bytes<'_>, names: &[String]) -> (u64, String) {
    let (id, parent, nth, flags, maker) = (b.v(), b.v(), b.v(), b.v(), b.v());
    let maker = &names[usize::try_from(maker).unwrap()];
    let mut text = format!("{maker} parent={parent} nth={nth} members={:?}", b.seq());
    if flags & 1 > 0 {
        write!(text, " remote={:?}", b.seq()).unwrap();
    }
    if flags & 2 > 0 {
        write!(text, " from={:?} to={:?}", b.seq(), b.seq()).unwrap();
    }
    (id, text)
}

/// Reads one file.
pub fn stream(path: &Path) -> Stream {
    let file = fs::read(path).unwrap();
    let header = &file[..80];
    assert_eq!(&header[..8], b"FLITREC\n");
    assert_eq!(u32_at(header, 8), 1, "version");
    assert_eq!(
        u32_at(header, 76),
        crc32(&header[..76]),
        "checksum of the header"
    );
    let mut stream = Stream {
        rank: u32_at(header, 12),
        thread: u32_at(header, 16),
        ranks: u32_at(header, 20),
        run: header[24..40].try_into().unwrap(),
        overhead: [48, 52, 56, 60].map(|at| u32_at(header, at)),
        bytes: file.len(),
        ..Stream::default()
    };
    let mut made = Made {
        thread: stream.thread,
        requests: 0,
        messages: 0,
    };
    let (mut names, mut slots, mut next) = (Vec::new(), vec![Vec::new(); 4096], 0);
    let mut rest = &file[80..];
    while rest.len() >= 16 {
        let len = u32_at(rest, 0) as usize;
        if rest.len() < 16 + len || u32_at(rest, 4) != crc32(&rest[8..16 + len]) {
            break;
        }
        let mut b = Bytes(&rest[16..16 + len]);
        while !b.0.is_empty() {
            record(
                &mut b,
                &mut stream,
                &mut made,
                (&mut names, &mut slots, &mut next),
            );
        }
        rest = &rest[16 + len..];
    }
    stream.cut = !rest.is_empty();
    stream
}

type Seen<'a> = (&'a mut Vec<String>, &'a mut Vec<Vec<u8>>, &'a mut usize);

fn record(b: &mut Bytes<'_>, stream: &mut Stream, made: &mut Made, seen: Seen<'_>) {
    let (names, slots, next) = seen;
    let mut times = 1;
    let mut kind = b.v();
    if kind == 2 {
        times = b.v();
        kind = b.v();
    }
    let tuple = match kind {
        0 | 1 => {
            let len = b.v();
            let tuple = b.take(len);
            if kind == 1 {
                slots[*next] = tuple.clone();
                *next = (*next + 1) % slots.len();
            }
            tuple
        }
        3 => return names.push(b.text()),
        4 => {
            let (id, text) = comm(b, names);
            stream.comms.insert(id, text);
            return;
        }
        5 => {
            stream.end = Some([b.v(), b.v(), b.v(), b.v()]);
            return;
        }
        6 => return stream.notes.push(b.text()),
        7 => {
            b.v();
            return;
        }
        kind => slots[usize::try_from(kind - 8).unwrap()].clone(),
    };
    let mut t = Bytes(&tuple);
    let first = t.v();
    let name = names[usize::try_from(first / 2).unwrap()].clone();
    let failed = first % 2 == 1;
    let fields = if failed {
        String::new()
    } else {
        fields(&name, &mut t, made)
    };
    assert!(
        t.0.is_empty(),
        "{name} {fields}: {} bytes are left",
        t.0.len()
    );
    let gap_cpu = b.v();
    let gap_wall = gap_cpu as i64 + b.s();
    let inside = b.v();
    stream.calls.push(Call {
        name,
        fields,
        failed,
        times,
        gap_cpu,
        gap_wall,
        inside,
    });
}

/// Reads all streams of a directory, by rank and thread.
pub fn recording(dir: &Path) -> Vec<Stream> {
    let paths = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let calls = paths.filter(|path| path.extension().is_some_and(|e| e == "calls"));
    let mut streams: Vec<Stream> = calls.map(|path| stream(&path)).collect();
    streams.sort_by_key(|s| (s.rank, s.thread));
    streams
}
