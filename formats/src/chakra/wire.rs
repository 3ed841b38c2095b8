//! The protocol buffers of a trace, as far as they matter here. Their fields are as in `et_def.proto`; unknown ones are
//! skipped.

use prost::{Message, Oneof};

use super::node::{Node, NodeType, Value};

#[derive(Clone, PartialEq, Message)]
struct Raw {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint32, tag = "3")]
    kind: u32,
    #[prost(uint64, repeated, tag = "4")]
    ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(uint64, tag = "6")]
    start_micros: u64,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, optional, tag = "8")]
    inputs: Option<Inputs>,
    #[prost(message, repeated, tag = "10")]
    attr: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Inputs {
    #[prost(bytes = "vec", tag = "1")]
    values: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(
        oneof = "Content",
        tags = "7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 28, 29"
    )]
    value: Option<Content>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Content {
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(message, tag = "28")]
    Bools(Bools),
    #[prost(bytes, tag = "29")]
    Text(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
struct Bools {
    #[prost(bool, repeated, tag = "1")]
    values: Vec<bool>,
}

/// The metadata at the start of a file, which say nothing about the replay.
#[derive(Clone, PartialEq, Message)]
struct Metadata {
    #[prost(bytes = "vec", tag = "1")]
    version: Vec<u8>,
    #[prost(message, repeated, tag = "2")]
    attr: Vec<Attribute>,
}

impl Content {
    fn value(self) -> Value {
        match self {
            Self::Int32(n) | Self::Sint32(n) | Self::Sfixed32(n) => Value::Whole(n.into()),
            Self::Int64(n) | Self::Sint64(n) | Self::Sfixed64(n) => Value::Whole(n.into()),
            Self::Uint32(n) | Self::Fixed32(n) => Value::Whole(n.into()),
            Self::Uint64(n) | Self::Fixed64(n) => Value::Whole(n.into()),
            Self::Bool(value) => Value::Bool(value),
            Self::Bools(list) => Value::Bools(list.values),
            Self::Text(text) => Value::Text(String::from_utf8_lossy(&text).into_owned()),
        }
    }
}

/// The node that `bytes` are; what is wrong with them.
pub(super) fn node(bytes: &[u8]) -> Result<Node, String> {
    let raw = Raw::decode(bytes).map_err(|e| format!("no node of a Chakra trace ({e})"))?;
    let kind = NodeType::of(raw.kind.into());
    let kind = kind.ok_or_else(|| format!("node {}: unknown type {}", raw.id, raw.kind))?;
    let mut node = Node::new(raw.id, kind);
    node.deps = raw.ctrl_deps;
    node.deps.extend(raw.data_deps);
    node.start_us = raw.start_micros;
    node.duration_us = raw.duration_micros;
    if let (NodeType::Metadata, Some(inputs)) = (kind, raw.inputs) {
        node.groups = Some(String::from_utf8_lossy(&inputs.values).into_owned());
    }
    for attribute in raw.attr {
        let value = attribute.value.map_or(Value::Other, Content::value);
        node.set(&attribute.name, value)
            .map_err(|problem| format!("node {}: {problem}", raw.id))?;
    }
    Ok(node)
}

/// Whether `bytes` may be the metadata.
pub(super) fn is_metadata(bytes: &[u8]) -> bool {
    Metadata::decode(bytes).is_ok()
}

/// The length of the message at the start of `bytes`, and the bytes that it takes; `None` if `bytes` end within it.
pub(super) fn length(bytes: &[u8]) -> Option<Result<(u64, usize), &'static str>> {
    let mut length = 0u64;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        if at == 9 && byte > 1 {
            break;
        }
        length |= u64::from(byte & 0x7f) << (7 * at as u32);
        if byte < 0x80 {
            return Some(Ok((length, at + 1)));
        }
    }
    (bytes.len() >= 10).then_some(Err("a length of more than 64 bits"))
}
