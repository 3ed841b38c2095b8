//! Writes traces as protocol buffers and as JSON, without the library that reads them.

use serde_json::{Map, Value, json};
use std::path::Path;

/// A node to write.
#[derive(Debug, Clone, Default)]
pub struct Node {
    pub id: u64,
    pub kind: u64,
    pub ctrl: Vec<u64>,
    pub data: Vec<u64>,
    pub start: u64,
    pub micros: u64,
    pub inputs: Option<String>,
    pub numbers: Vec<(&'static str, u64)>,
    pub texts: Vec<(&'static str, String)>,
    pub on_gpu: bool,
}

const KINDS: [&str; 8] = [
    "INVALID_NODE",
    "METADATA_NODE",
    "MEM_LOAD_NODE",
    "MEM_STORE_NODE",
    "COMP_NODE",
    "COMM_SEND_NODE",
    "COMM_RECV_NODE",
    "COMM_COLL_NODE",
];

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    out.extend(varint(field << 3));
    out.extend(varint(value));
}

fn block(out: &mut Vec<u8>, field: u64, content: &[u8]) {
    out.extend(varint(field << 3 | 2));
    out.extend(varint(content.len() as u64));
    out.extend(content);
}

impl Node {
    pub fn new(id: u64, kind: u64) -> Self {
        Self {
            id,
            kind,
            ..Self::default()
        }
    }

    pub fn after(mut self, ids: &[u64]) -> Self {
        self.data = ids.to_vec();
        self
    }

    pub fn micros(mut self, micros: u64) -> Self {
        self.micros = micros;
        self
    }

    pub fn gpu(mut self, stream: u64) -> Self {
        self.on_gpu = true;
        self.with("stream", stream)
    }

    pub fn with(mut self, name: &'static str, value: u64) -> Self {
        self.numbers.push((name, value));
        self
    }

    pub fn group(mut self, name: &str) -> Self {
        self.texts.push(("pg_name", name.to_owned()));
        self
    }

    pub fn binary(&self) -> Vec<u8> {
        let mut out = Vec::new();
        number(&mut out, 1, self.id);
        block(&mut out, 2, b"a name");
        number(&mut out, 3, self.kind);
        // One list packed, the other one not, as both are valid.
        block(
            &mut out,
            4,
            &self
                .ctrl
                .iter()
                .flat_map(|id| varint(*id))
                .collect::<Vec<_>>(),
        );
        self.data.iter().for_each(|id| number(&mut out, 5, *id));
        number(&mut out, 6, self.start);
        number(&mut out, 7, self.micros);
        if let Some(inputs) = &self.inputs {
            let mut values = Vec::new();
            block(&mut values, 1, inputs.as_bytes());
            block(&mut out, 8, &values);
        }
        let mut attribute = |name: &str, rest: &dyn Fn(&mut Vec<u8>)| {
            let mut content = Vec::new();
            block(&mut content, 1, name.as_bytes());
            rest(&mut content);
            block(&mut out, 10, &content);
        };
        attribute("is_cpu_op", &|out| number(out, 27, u64::from(!self.on_gpu)));
        for (name, value) in &self.numbers {
            attribute(name, &|out| number(out, 9, *value));
        }
        for (name, value) in &self.texts {
            attribute(name, &|out| block(out, 29, value.as_bytes()));
        }
        out
    }

    pub fn json(&self) -> Value {
        let text = |ids: &[u64]| ids.iter().map(u64::to_string).collect::<Vec<_>>();
        let mut attributes = vec![json!({ "name": "is_cpu_op", "boolVal": !self.on_gpu })];
        let numbers = self.numbers.iter();
        attributes.extend(
            numbers.map(|(name, value)| json!({ "name": name, "int64Val": value.to_string() })),
        );
        let texts = self.texts.iter();
        attributes.extend(texts.map(|(name, value)| json!({ "name": name, "stringVal": value })));
        json!({
            "id": self.id.to_string(),
            "name": "a } name \\",
            "type": KINDS[self.kind as usize],
            "ctrlDeps": text(&self.ctrl),
            "dataDeps": text(&self.data),
            "startTimeMicros": self.start.to_string(),
            "durationMicros": self.micros.to_string(),
            "inputs": { "values": self.inputs },
            "attr": attributes,
        })
    }

    /// As ASTRA-sim has it.
    fn workload(&self) -> Value {
        let mut map = Map::new();
        map.insert("Id".into(), self.id.into());
        map.insert("NodeType".into(), self.kind.into());
        map.insert("is_cpu_op".into(), (!self.on_gpu).into());
        map.insert("runtime".into(), self.micros.into());
        map.insert("start_time_micros".into(), self.start.into());
        map.insert("ctrl_deps".into(), self.ctrl.clone().into());
        map.insert("data_deps".into(), self.data.clone().into());
        map.insert("inputs".into(), json!({ "values": self.inputs }));
        let numbers = self.numbers.iter();
        map.extend(numbers.map(|(name, value)| ((*name).to_owned(), (*value).into())));
        let texts = self.texts.iter();
        map.extend(texts.map(|(name, value)| ((*name).to_owned(), value.clone().into())));
        map.into()
    }
}

/// The form of files.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    Binary,
    Objects,
    Workload,
}

/// The file of a rank.
pub fn file(nodes: &[Node], form: Form) -> Vec<u8> {
    match form {
        Form::Binary => {
            let mut metadata = Vec::new();
            block(&mut metadata, 1, b"0.0.4");
            let messages = nodes.iter().map(Node::binary);
            let all = std::iter::once(metadata).chain(messages);
            all.flat_map(|message| [varint(message.len() as u64), message].concat())
                .collect()
        }
        Form::Objects => {
            let nodes = nodes.iter().map(|node| format!("{:#}", node.json()));
            let all: String = nodes.collect();
            format!("{{\n  \"version\": \"0.0.4\"\n}}{all}").into_bytes()
        }
        Form::Workload => {
            let nodes: Vec<Value> = nodes.iter().map(Node::workload).collect();
            format!("{:#}", json!({ "workload_graph": nodes })).into_bytes()
        }
    }
}

/// Writes the files of all ranks.
pub fn trace(dir: &Path, ranks: &[Vec<Node>], form: Form) {
    let ending = if matches!(form, Form::Binary) {
        "et"
    } else {
        "json"
    };
    for (rank, nodes) in ranks.iter().enumerate() {
        std::fs::write(dir.join(format!("t.{rank}.{ending}")), file(nodes, form)).unwrap();
    }
}
