//! Writes files of ranks, from the table of arguments in `fields.tsv`, which shares nothing with the reader.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// An argument of a function.
#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    /// Its type, such as `i32`, `i16:type` or `arr<i32>`.
    pub kind: String,
    /// It is there if this argument is equal to `root`.
    pub only_if: Option<String>,
}

/// A function by number.
#[derive(Debug, Clone)]
pub struct Row {
    pub number: u16,
    pub name: String,
    pub fields: Vec<Field>,
}

/// All functions.
pub static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let rows = include_str!("fields.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut columns = row.split('\t');
        let number = columns.next().unwrap().parse().unwrap();
        let name = columns.next().unwrap().to_owned();
        let fields = columns.next().unwrap_or_default().split("; ");
        let fields = fields
            .filter(|field| !field.is_empty())
            .map(field)
            .collect();
        Row {
            number,
            name,
            fields,
        }
    })
    .collect()
});

fn field(text: &str) -> Field {
    let (field, only_if) = match text.split_once(" if ") {
        Some((field, condition)) => (field, condition.strip_suffix(" == root").map(str::to_owned)),
        None => (text, None),
    };
    let (name, kind) = field.split_once(':').unwrap();
    Field {
        name: name.to_owned(),
        kind: kind.to_owned(),
        only_if,
    }
}

/// The function of this name.
pub fn function(name: &str) -> &'static Row {
    TABLE
        .iter()
        .find(|row| row.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

/// The value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(i64),
    List(Vec<Value>),
    /// Bytes, source, cancelled, error, tag.
    Statuses(Vec<(i32, i32, bool, i8, i32)>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// A list of numbers.
pub fn list(numbers: &[i64]) -> Value {
    Value::List(numbers.iter().map(|&n| Value::Number(n)).collect())
}

/// A text.
pub fn text(text: &str) -> Value {
    Value::List(text.bytes().map(|b| Value::Number(b.into())).collect())
}

/// One status.
pub fn status(bytes: i32, source: i32, tag: i32) -> Value {
    Value::Statuses(vec![(bytes, source, false, 0, tag)])
}

/// The parts of a record before its arguments.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    pub mask: u8,
    pub thread: u16,
    /// Seconds and nanoseconds at start and stop.
    pub cpu: [(u16, u32); 2],
    pub wall: [(u16, u32); 2],
}

impl Default for Head {
    fn default() -> Self {
        Self {
            mask: 0x4f,
            thread: 0,
            cpu: [(0, 1000), (0, 2000)],
            wall: [(0, 1000), (0, 2000)],
        }
    }
}

/// A file under construction.
#[derive(Debug, Clone)]
pub struct File {
    pub version: [u8; 3],
    pub bias: [i32; 2],
    pub body: Vec<u8>,
    pub calls: Vec<u32>,
    pub ignored: Vec<u32>,
    pub sizes: Vec<i32>,
    pub notes: Vec<(String, String)>,
    /// Milliseconds of the wall clock at the end of the last call.
    pub now: u64,
}

impl Default for File {
    fn default() -> Self {
        let mut sizes = vec![
            0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20,
        ];
        sizes.push(24);
        Self {
            version: [13, 0, 0],
            bias: [0, 100],
            body: Vec::new(),
            calls: vec![0; 291],
            ignored: vec![0; 291],
            sizes,
            notes: Vec::new(),
            now: 0,
        }
    }
}

const MAGIC: &[u8; 8] = b"\xff\xaa\xddDUMPI";

impl File {
    /// Adds a call that takes 1 ms, 1 ms after the one before.
    pub fn call(&mut self, name: &str, values: &[Value]) -> &mut Self {
        let time = |ms: u64| ((ms / 1000) as u16, (ms % 1000) as u32 * 1_000_000);
        let span = [time(self.now + 1), time(self.now + 2)];
        self.now += 2;
        let head = Head {
            cpu: span,
            wall: span,
            ..Head::default()
        };
        self.record(function(name), head, values)
    }

    /// Adds a record.
    pub fn record(&mut self, row: &Row, head: Head, values: &[Value]) -> &mut Self {
        let version = self.version;
        self.body.extend(record(version, row, head, values));
        if let Some(calls) = self.calls.get_mut(usize::from(row.number)) {
            *calls += 1;
        }
        self.calls[290] += 1;
        self
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.bias
            .iter()
            .for_each(|bias| out.extend(bias.to_be_bytes()));
        out.extend(&self.body);
        out.extend(293_u16.to_be_bytes());
        let header = out.len() as u64;
        out.extend(self.version);
        out.extend(1_795_248_949_u64.to_be_bytes());
        for text in ["node7", "somebody"] {
            string(&mut out, text);
        }
        // Before version 0.5 there is no size of the mesh.
        let mesh = if self.version < [0, 5, 0] { 1 } else { 2 };
        (0..mesh).for_each(|_| out.extend([0; 4]));
        let footer = out.len() as u64;
        out.extend(0xf007_fee7_u64.to_be_bytes());
        for counter in self.calls.iter().chain(&self.ignored) {
            out.extend(counter.to_be_bytes());
        }
        let mut notes = out.len() as u64;
        out.extend((self.notes.len() as u32).to_be_bytes());
        for (key, value) in &self.notes {
            string(&mut out, key);
            string(&mut out, value);
        }
        if self.notes.is_empty() {
            notes = 0;
        }
        let counters = out.len() as u64;
        out.extend([0; 4]);
        let sizes = out.len() as u64;
        out.extend((self.sizes.len() as u32).to_be_bytes());
        self.sizes
            .iter()
            .for_each(|size| out.extend(size.to_be_bytes()));
        let addresses = out.len() as u64;
        out.extend([0; 4]);
        out.extend(MAGIC);
        let mut index = vec![sizes, addresses, counters, header, 8, footer, notes];
        // Older indices lack the first offsets.
        if self.version < [0, 6, 6] {
            index.remove(0);
        }
        index
            .iter()
            .for_each(|offset| out.extend(offset.to_be_bytes()));
        out
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u16).to_be_bytes());
    out.extend(text.as_bytes());
}

/// The bytes of a record.
pub fn record(version: [u8; 3], row: &Row, head: Head, values: &[Value]) -> Vec<u8> {
    let mut out = row.number.to_be_bytes().to_vec();
    out.push(head.mask);
    if head.mask & 0x40 != 0 {
        out.extend(head.thread.to_be_bytes());
    }
    for (part, times) in [(0x04, head.cpu), (0x08, head.wall)] {
        if head.mask & part != 0 {
            for (seconds, ns) in times {
                out.extend(seconds.to_be_bytes());
                out.extend(ns.to_be_bytes());
            }
        }
    }
    if head.mask & 0x80 != 0 {
        out.push(2);
        out.extend([7; 32]);
    }
    if row.name == "MPI_Init" && version < [0, 6, 2] {
        let Value::List(arguments) = &values[0] else {
            panic!("a list");
        };
        out.extend((arguments.len() as i32).to_be_bytes());
    }
    let mut known = BTreeMap::new();
    for (field, value) in row.fields.iter().zip(values) {
        if let Value::Number(number) = value {
            known.insert(field.name.as_str(), *number);
        }
        let there = field
            .only_if
            .as_ref()
            .is_none_or(|other| known[other.as_str()] == known["root"]);
        if there {
            let single = match (row.name.as_str(), field.name.as_str()) {
                ("MPI_Cart_get", "coords") => version < [0, 6, 8],
                ("MPI_Type_struct", "indices") => version < [0, 6, 9],
                _ => false,
            };
            let tags = version >= [0, 6, 3];
            put(
                &mut out,
                &field.kind,
                value,
                single,
                (head.mask & 3 != 0, tags),
            );
        }
    }
    out
}

/// Writes a value; of an array that is `single` the first number only. `statuses` says whether they are there, with tags.
fn put(out: &mut Vec<u8>, kind: &str, value: &Value, single: bool, statuses: (bool, bool)) {
    match value {
        Value::Number(n) => match &kind[..3.min(kind.len())] {
            "u8:" => out.push(*n as u8),
            "cha" => out.push(*n as u8),
            "i16" => out.extend((*n as i16).to_be_bytes()),
            "i32" => out.extend((*n as i32).to_be_bytes()),
            "i64" => out.extend(n.to_be_bytes()),
            _ => panic!("{kind} is no number"),
        },
        Value::List(list) => {
            let inner = kind
                .strip_prefix("arr<")
                .and_then(|kind| kind.strip_suffix('>'));
            let inner = inner.unwrap_or_else(|| panic!("{kind} is no list"));
            if single {
                return put(out, inner, &list[0], false, statuses);
            }
            out.extend((list.len() as i32).to_be_bytes());
            list.iter()
                .for_each(|value| put(out, inner, value, false, statuses));
        }
        Value::Statuses(list) => {
            assert_eq!(kind, "statuses");
            if !statuses.0 {
                return;
            }
            out.extend((list.len() as i32).to_be_bytes());
            for (bytes, source, cancelled, error, tag) in list {
                out.extend(bytes.to_be_bytes());
                out.extend(source.to_be_bytes());
                out.push(u8::from(*cancelled));
                out.push(*error as u8);
                if statuses.1 {
                    out.extend(tag.to_be_bytes());
                }
            }
        }
    }
}
