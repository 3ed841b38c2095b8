//! A node of a trace, whatever the form of its file.

/// Type of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names come from the schema")]
pub enum NodeType {
    Invalid,
    Metadata,
    MemLoad,
    MemStore,
    Comp,
    CommSend,
    CommRecv,
    CommColl,
    /// Storage, batches and checkpoints, which are newer than most traces.
    Other,
}

impl NodeType {
    /// The type with this number.
    pub(super) fn of(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Invalid,
            1 => Self::Metadata,
            2 => Self::MemLoad,
            3 => Self::MemStore,
            4 => Self::Comp,
            5 => Self::CommSend,
            6 => Self::CommRecv,
            7 => Self::CommColl,
            8..=10 => Self::Other,
            _ => return None,
        })
    }

    /// The type with this name in JSON.
    pub(super) fn named(name: &str) -> Option<Self> {
        const NAMES: [&str; 11] = [
            "INVALID_NODE",
            "METADATA_NODE",
            "MEM_LOAD_NODE",
            "MEM_STORE_NODE",
            "COMP_NODE",
            "COMM_SEND_NODE",
            "COMM_RECV_NODE",
            "COMM_COLL_NODE",
            "STORAGE_NODE",
            "BATCH_NODE",
            "CHECKPOINT_NODE",
        ];
        let number = NAMES.iter().position(|known| *known == name)?;
        Self::of(number as u64)
    }
}

/// The attributes of a communication; `None` for what the trace does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comm {
    /// Number of the collective operation.
    pub operation: Option<u64>,
    /// Bytes that the rank brings.
    pub bytes: Option<u64>,
    /// Sending rank; of a collective, its root.
    pub src: Option<u64>,
    /// Receiving rank.
    pub dst: Option<u64>,
    /// Tag.
    pub tag: Option<u64>,
    /// Name of the process group.
    pub group: Option<String>,
    /// Some dimensions of the fabric take no part.
    pub some_dimensions: bool,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id, unique in its file.
    pub id: u64,
    /// Its type.
    pub kind: NodeType,
    /// The ids of the nodes that it waits for, by control and by data.
    pub deps: Vec<u64>,
    /// Its start in the recording, in microseconds; 0 if it is not known.
    pub start_us: u64,
    /// Its duration in microseconds; 0 if it is not known.
    pub duration_us: u64,
    /// It runs on the processor, not on a GPU.
    pub on_cpu: bool,
    /// The GPU of its rank.
    pub device: u64,
    /// The stream of the GPU, if it is known.
    pub stream: Option<u64>,
    /// The thread of the processor.
    pub thread: u64,
    /// Operations of a computation.
    pub num_ops: u64,
    /// Its communication.
    pub comm: Comm,
    /// The value of its inputs, if it may define process groups.
    pub groups: Option<String>,
}

impl Node {
    /// A node of this type, without anything else.
    pub(crate) fn new(id: u64, kind: NodeType) -> Self {
        Self {
            id,
            kind,
            deps: Vec::new(),
            start_us: 0,
            duration_us: 0,
            // As in Chakra's feeder; communication always is the GPU's.
            on_cpu: true,
            device: 0,
            stream: None,
            thread: 0,
            num_ops: 0,
            comm: Comm::default(),
            groups: None,
        }
    }

    /// True if it is a message or a collective.
    #[must_use]
    pub fn communicates(&self) -> bool {
        matches!(
            self.kind,
            NodeType::CommSend | NodeType::CommRecv | NodeType::CommColl
        )
    }

    /// True if a stream of a GPU carries it out.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.communicates() || (self.kind == NodeType::Comp && !self.on_cpu)
    }

    /// Takes up an attribute. Unknown ones do not matter.
    pub(super) fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
        let comm = &mut self.comm;
        match name {
            "is_cpu_op" => self.on_cpu = value.boolean(name)?,
            "num_ops" => self.num_ops = value.number(name)?,
            // A default stream or thread may be −1 or the like.
            "device" => self.device = value.identity(name)?,
            "stream" => self.stream = Some(value.identity(name)?),
            "tid" => self.thread = value.identity(name)?,
            "comm_type" => comm.operation = Some(value.number(name)?),
            "comm_size" => comm.bytes = Some(value.number(name)?),
            "comm_src" => comm.src = Some(value.number(name)?),
            "comm_dst" => comm.dst = Some(value.number(name)?),
            "comm_tag" => comm.tag = Some(value.number(name)?),
            "pg_name" => comm.group = Some(value.text(name)?),
            "involved_dim" => comm.some_dimensions = value.has_false(),
            _ => {}
        }
        Ok(())
    }
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Whole(i128),
    Bool(bool),
    Text(String),
    Bools(Vec<bool>),
    Other,
}

impl Value {
    fn number(&self, name: &str) -> Result<u64, String> {
        self.whole()
            .and_then(|whole| u64::try_from(whole).ok())
            .ok_or_else(|| {
                wrong(
                    name,
                    "no whole number from 0 to 2^64 − 1",
                    "write it as an int64_val",
                )
            })
    }

    fn identity(&self, name: &str) -> Result<u64, String> {
        let whole = self.whole();
        whole
            .map(|whole| whole as u64)
            .ok_or_else(|| wrong(name, "no whole number", "write it as an int64_val"))
    }

    fn whole(&self) -> Option<i128> {
        match self {
            Self::Whole(whole) => Some(*whole),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn boolean(&self, name: &str) -> Result<bool, String> {
        match self {
            Self::Bool(value) => Ok(*value),
            Self::Whole(value) => Ok(*value != 0),
            _ => Err(wrong(
                name,
                "neither true nor false",
                "write it as a bool_val",
            )),
        }
    }

    fn text(self, name: &str) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Whole(whole) => Ok(whole.to_string()),
            _ => Err(wrong(name, "no name", "write it as a string_val")),
        }
    }

    fn has_false(&self) -> bool {
        matches!(self, Self::Bools(values) if values.contains(&false))
    }
}

#[cold]
fn wrong(name: &str, problem: &str, cure: &str) -> String {
    format!("attribute `{name}` is {problem}; {cure}")
}
