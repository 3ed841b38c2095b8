//! Nodes as JSON: one object each, as `chakra_jsonizer` writes them one after the other, or in the array `workload_graph`.

use serde_json::{Map, Value as Json};

use flitwise_base::quote::quoted;

use super::node::{Node, NodeType, Value};

/// The way through a text of several objects: the bytes that belong to the next one.
#[derive(Debug, Default)]
pub(super) struct Scan {
    at: usize,
    depth: u32,
    quoted: bool,
    escaped: bool,
}

impl Scan {
    /// The bytes of the object that `bytes` begin with; `None` if they end within it. Called again with more bytes, it continues where
    /// it ended.
    pub fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate().skip(self.at) {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.quoted => self.escaped = true,
                b'"' => self.quoted = !self.quoted,
                _ if self.quoted => {}
                b'{' => self.depth += 1,
                b'}' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        self.at = bytes.len();
        None
    }
}

/// The node that `bytes` are; `None` if they are the metadata of a file.
pub(super) fn node(bytes: &[u8]) -> Result<Option<Node>, String> {
    let map: Map<String, Json> =
        serde_json::from_slice(bytes).map_err(|e| format!("no object of JSON ({e})"))?;
    let get = |names: &[&str]| names.iter().find_map(|name| map.get(*name));
    if get(&["schema"]).is_some() && get(&["nodes"]).is_some() {
        return Err(HOST.to_owned());
    }
    let kind = get(&["type", "NodeType"]);
    // A default value is left out, but no node is of type 0.
    let Some(kind) = kind else {
        let of_metadata = |key: &String| ["version", "attr"].contains(&key.as_str());
        return match map.keys().find(|key| !of_metadata(key)) {
            None => Ok(None),
            Some(_) if get(&["id", "Id"]).is_some() => {
                Err("a node without `type`; write its type, such as \"COMP_NODE\"".into())
            }
            Some(key) => Err(format!(
                "an object with {}, which is no node: expected one object for each node as `chakra_jsonizer` writes them, or {{\"workload_graph\": [NODES]}}; \
                 convert the trace to one of these",
                quoted(key)
            )),
        };
    };
    let id = count(get(&["id", "Id"]), "id")?;
    let of_node = |problem: String| format!("node {id}: {problem}");
    let known = match kind {
        Json::String(name) => NodeType::named(name),
        other => count(Some(other), "type").ok().and_then(NodeType::of),
    };
    let known = known.ok_or_else(|| format!("node {id}: unknown type {kind}"))?;
    let mut node = Node::new(id, known);
    for names in [["ctrlDeps", "ctrl_deps"], ["dataDeps", "data_deps"]] {
        let list = get(&names).and_then(Json::as_array);
        for dep in list.into_iter().flatten() {
            node.deps.push(count(Some(dep), names[1]).map_err(of_node)?);
        }
    }
    let start = ["startTimeMicros", "start_time_micros"];
    node.start_us = count(get(&start), start[1]).map_err(of_node)?;
    let duration = ["durationMicros", "duration_micros", "runtime"];
    node.duration_us = count(get(&duration), duration[1]).map_err(of_node)?;
    if known == NodeType::Metadata {
        let values = get(&["inputs"]).and_then(|inputs| inputs.get("values"));
        node.groups = values.and_then(Json::as_str).map(str::to_owned);
    }
    attributes(&map, &mut node).map_err(of_node)?;
    Ok(Some(node))
}

const HOST: &str = "a host trace of PyTorch, whose kernels have no order; make NAME.RANK.et of it with `chakra_trace_link` and \
                    `chakra_converter PyTorch` (docs/reference/chakra.md)";

/// Takes up the attributes: the members of a list, or, in ASTRA-sim's form, the keys of the node.
fn attributes(map: &Map<String, Json>, node: &mut Node) -> Result<(), String> {
    let Some(list) = map.get("attr").and_then(Json::as_array) else {
        return map
            .iter()
            .try_for_each(|(name, json)| node.set(name, value(json)));
    };
    for attribute in list {
        let name = attribute.get("name").and_then(Json::as_str);
        let members = attribute.as_object().into_iter().flatten();
        let is_value = |name: &str| name != "name" && !name.starts_with("doc");
        let content = members
            .into_iter()
            .find(|(name, _)| is_value(name))
            .map_or(Value::Other, |(_, json)| value(json));
        node.set(name.unwrap_or_default(), content)?;
    }
    Ok(())
}

fn value(json: &Json) -> Value {
    match json {
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(n), _) => Value::Whole(n.into()),
            (_, Some(n)) => Value::Whole(n.into()),
            _ => Value::Other,
        },
        Json::Object(members) => match members.get("values").and_then(Json::as_array) {
            Some(list) => Value::Bools(list.iter().filter_map(Json::as_bool).collect()),
            None => Value::Other,
        },
        Json::Array(list) => Value::Bools(list.iter().filter_map(Json::as_bool).collect()),
        Json::Null => Value::Other,
    }
}

/// A number, which JSON of protocol buffers writes as a text; 0 if there is none.
fn count(json: Option<&Json>, name: &str) -> Result<u64, String> {
    let number = match json {
        None => return Ok(0),
        Some(Json::String(text)) => text.parse().ok(),
        Some(json) => json.as_u64(),
    };
    number.ok_or_else(|| format!("`{name}` is no whole number from 0 to 2^64 − 1; correct it"))
}
