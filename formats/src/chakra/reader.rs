//! Reads the file of a rank node by node.

use std::io;
use std::path::Path;
use std::sync::Arc;

use flitwise_base::place::PlaceError;

use super::json::{self, Scan};
use super::node::Node;
use super::wire;
use crate::blocks::Blocks;
use crate::error::Error;
use crate::limits::MAX_CHAKRA_NODE;
use crate::member::{Member, Open};
use crate::source::Encoding;

/// The nodes of a file, in its order. It has one of them in memory.
pub struct Reader {
    path: Arc<Path>,
    encoding: Encoding,
    blocks: Blocks,
    /// Bytes before those that are there.
    offset: u64,
    form: Form,
    /// Nothing comes any more.
    over: bool,
    made: std::vec::IntoIter<(u64, Node)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Nothing is read so far.
    Unknown,
    Binary,
    /// Objects one after the other.
    Json,
    /// Objects in an array.
    Array,
    /// They were made before.
    Made,
}

const CUT: &str = "the file ends within a node: copy or make it again";

impl Reader {
    pub(super) fn of_member(member: &Member, open: &Open) -> Result<Self, Error> {
        let path = Arc::clone(member.name());
        let opened = member.unpacked(open);
        let (encoding, bytes) = opened.map_err(|e| Error::io(&path, e))?;
        Ok(Self {
            path,
            encoding,
            blocks: Blocks::new(bytes),
            offset: 0,
            form: Form::Unknown,
            over: false,
            made: Vec::new().into_iter(),
        })
    }

    /// Nodes that were made of the file at `path`.
    pub(super) fn of_nodes(path: &Arc<Path>, nodes: Vec<(u64, Node)>) -> Self {
        Self {
            path: Arc::clone(path),
            encoding: Encoding::Plain,
            blocks: Blocks::new(Box::new(io::empty())),
            offset: 0,
            form: Form::Made,
            over: false,
            made: nodes.into_iter(),
        }
    }

    /// The next node, and the offset of its first byte; `None` at the end and after an error.
    ///
    /// # Errors
    /// If the file can't be read or is no Chakra trace.
    pub fn next_node(&mut self) -> Result<Option<(u64, Node)>, Error> {
        if self.over {
            return Ok(None);
        }
        let next = self.advance();
        self.over = !matches!(next, Ok(Some(_)));
        next
    }

    fn advance(&mut self) -> Result<Option<(u64, Node)>, Error> {
        if self.form == Form::Unknown {
            self.begin()?;
        }
        match self.form {
            Form::Binary | Form::Unknown => self.binary(),
            Form::Json | Form::Array => self.text(),
            Form::Made => Ok(self.made.next()),
        }
    }

    /// Finds the form, and passes what is before the nodes.
    fn begin(&mut self) -> Result<(), Error> {
        self.need(1)?;
        let first = self.blocks.rest().0.first();
        if first.is_some_and(|byte| *byte == b'{' || byte.is_ascii_whitespace()) {
            self.form = Form::Json;
            return self.begin_text();
        }
        self.form = Form::Binary;
        let at = self.offset;
        match self.message()? {
            Some(size)
                if wire::is_metadata(self.blocks.rest().0.get(..size).unwrap_or_default()) =>
            {
                self.consume(size);
                Ok(())
            }
            _ => Err(self.wrong(
                at,
                "no Chakra trace: it does not begin with the metadata of one; make the file again",
            )),
        }
    }

    fn begin_text(&mut self) -> Result<(), Error> {
        self.blanks()?;
        self.need(64)?;
        let (bytes, _) = self.blocks.rest();
        let mut at = 0;
        for word in [&b"{"[..], b"\"workload_graph\"", b":", b"["] {
            while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
                at += 1;
            }
            let Some(rest) = bytes.get(at..).filter(|rest| rest.starts_with(word)) else {
                return Ok(());
            };
            at += word.len().min(rest.len());
        }
        self.consume(at);
        self.form = Form::Array;
        Ok(())
    }

    fn binary(&mut self) -> Result<Option<(u64, Node)>, Error> {
        let at = self.offset;
        let Some(size) = self.message()? else {
            return Ok(None);
        };
        let bytes = self.blocks.rest().0.get(..size).unwrap_or_default();
        let node = wire::node(bytes);
        self.consume(size);
        match node {
            Ok(node) => Ok(Some((at, node))),
            Err(problem) => Err(self.wrong(at, &format!("{problem}; make the file again"))),
        }
    }

    /// Passes the length of the next message, whose bytes are there then; `None` at the end.
    fn message(&mut self) -> Result<Option<usize>, Error> {
        let at = self.offset;
        self.need(10)?;
        let (bytes, _) = self.blocks.rest();
        if bytes.is_empty() {
            return Ok(None);
        }
        let (length, taken) = match wire::length(bytes) {
            Some(Ok(length)) => length,
            Some(Err(problem)) => return Err(self.wrong(at, problem)),
            None => return Err(self.wrong(at, CUT)),
        };
        let size = usize::try_from(length).unwrap_or(usize::MAX);
        if size > MAX_CHAKRA_NODE {
            return Err(self.wrong(at, &too_long(length)));
        }
        self.consume(taken);
        self.need(size)?;
        if self.blocks.rest().0.len() < size {
            return Err(self.wrong(at, CUT));
        }
        Ok(Some(size))
    }

    fn text(&mut self) -> Result<Option<(u64, Node)>, Error> {
        loop {
            self.blanks()?;
            match self.blocks.rest().0.first() {
                Some(b',') if self.form == Form::Array => {
                    self.consume(1);
                    continue;
                }
                Some(b']') if self.form == Form::Array => return Ok(None),
                None if self.form == Form::Array => return Err(self.wrong(self.offset, CUT)),
                None => return Ok(None),
                Some(b'{') => {}
                Some(_) => {
                    let problem = "expected `{` of a node; correct the JSON";
                    return Err(self.wrong(self.offset, problem));
                }
            }
            let (at, size) = (self.offset, self.object()?);
            let node = json::node(self.blocks.rest().0.get(..size).unwrap_or_default());
            self.consume(size);
            match node {
                Ok(Some(node)) => return Ok(Some((at, node))),
                Ok(None) => {}
                Err(problem) => return Err(self.wrong(at, &problem)),
            }
        }
    }

    /// The bytes of the object that comes, which are there then.
    fn object(&mut self) -> Result<usize, Error> {
        let mut scan = Scan::default();
        loop {
            let (bytes, eof) = self.blocks.rest();
            let (len, end) = (bytes.len(), scan.end(bytes));
            match end {
                Some(size) => return Ok(size),
                None if eof => return Err(self.wrong(self.offset, CUT)),
                None if len > MAX_CHAKRA_NODE => {
                    return Err(self.wrong(self.offset, &too_long(len as u64)));
                }
                None => self.need(len + 1)?,
            }
        }
    }

    fn blanks(&mut self) -> Result<(), Error> {
        loop {
            self.need(1)?;
            let (bytes, eof) = self.blocks.rest();
            let blanks = bytes.iter().take_while(|byte| byte.is_ascii_whitespace());
            let (blanks, len) = (blanks.count(), bytes.len());
            self.consume(blanks);
            if blanks < len || eof {
                return Ok(());
            }
        }
    }

    fn consume(&mut self, n: usize) {
        self.blocks.consume(n);
        self.offset += n as u64;
    }

    /// Reads until there are `least` bytes or the file ends.
    fn need(&mut self, least: usize) -> Result<(), Error> {
        while self.blocks.rest().0.len() < least && !self.blocks.rest().1 {
            let more = self.blocks.more(least);
            more.map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    fn failed(&self, e: io::Error) -> Error {
        match self.encoding {
            Encoding::Plain => Error::io(&self.path, e),
            Encoding::Gzip => Error::compressed(&self.path, "gzip", e),
            Encoding::Zstd => Error::compressed(&self.path, "zstd", e),
        }
    }

    #[cold]
    fn wrong(&self, at: u64, problem: &str) -> Error {
        Error::broken(PlaceError::byte(at, problem).of(&self.path))
    }
}

#[cold]
fn too_long(length: u64) -> String {
    format!(
        "a node of {length} bytes, of which at most {MAX_CHAKRA_NODE} are read; it is damaged, or no node: make the file again"
    )
}
