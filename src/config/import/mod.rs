//! Builds fabrics from files: graphs of general tools (`graph_file`), and what InfiniBand tools wrote: cables, forwarding
//! tables, SL-to-VL tables. In these switches and NICs (ports of adapters) are numbered in the order of their
//! GUIDs; port p of a device is port p − 1 here.

mod graph_file;
pub(super) mod misfit;
pub(super) mod speeds;

use crate::config::document::read::unread;
use crate::config::document::{ConfigError, refused};
use crate::config::import::misfit::Misfit;
use crate::config::import::speeds::FileSpeeds;
use crate::config::inputs;
use crate::fabric::ids::{NicId, PortId, SwitchId, SwitchPort};
use crate::fabric::spec::{ForwardingTables, Hop, SlToVl};
use crate::fabric::topology::{Names, NicName, Peer, SwitchName, Topology};
use crate::units::Latency;
use flitwise_base::quote::quoted;
use flitwise_formats::infiniband::{Discovery, Forwarding, ForwardingReader, Port, VlTables};
use flitwise_formats::{PlaceError, Source};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use twox_hash::XxHash3_128;

/// Most bytes of a file, unpacked: some ten times the tables of the largest fabrics.
const MAX_FILE: usize = 1 << 28;

/// Bytes of a file that are read at a time; a line is shorter.
const PIECE: usize = 1 << 20;

/// A fabric from a file.
pub(crate) struct Imported {
    pub topology: Topology,
    /// Index by GUID; empty for graphs, as are LIDs.
    pub switches: BTreeMap<u64, SwitchId>,
    /// NIC by LID.
    nics: BTreeMap<u16, NicId>,
    /// LIDs of each NIC: 2^LMC.
    pub lids: Vec<Range<u32>>,
    /// The speeds of links in the file.
    pub speeds: FileSpeeds,
    /// Latencies of links in the file.
    pub latencies: BTreeMap<SwitchPort, Latency>,
    /// Routes in the file, or the reason why they are no tables.
    pub routes: Option<Result<ForwardingTables, ConfigError>>,
    /// InfiniBand tools wrote the file, and tables of theirs can belong to it.
    pub is_dump: bool,
}

/// The ends of all cables.
#[derive(Default)]
struct Ends {
    /// Of each NIC: its port at a switch, its name and its LIDs.
    attached: Vec<SwitchPort>,
    names: Vec<NicName>,
    lids: Vec<Range<u32>>,
    /// NICs by their first LID.
    nics: BTreeMap<u16, NicId>,
    /// Between switches.
    links: Vec<[SwitchPort; 2]>,
}

impl Ends {
    /// The ends in a file; `place` gives the place of a port of a switch.
    fn of(
        found: &Discovery,
        place: impl Fn(Port) -> Option<SwitchPort>,
    ) -> Result<Self, PlaceError> {
        let mut ends = Self::default();
        for (&own, cable) in &found.cables {
            let wrong = |problem: String| PlaceError::line(cable.line as u64, problem);
            let back = found.cables.get(&cable.to);
            if back.is_none_or(|back| back.to != own) {
                let problem = format!(
                    "port {} of node {:#x} does not lead back here; the file is cut or was edited",
                    cable.to.port, cable.to.node
                );
                return Err(wrong(problem));
            }
            match (place(own), place(cable.to)) {
                (None, Some(at)) => ends.attach(found, own, at).map_err(wrong)?,
                (Some(a), Some(b)) if own < cable.to => ends.links.push([a, b]),
                (Some(_), _) => {}
                (None, None) => {
                    let problem = "a NIC that is connected to no switch; leave it out".into();
                    return Err(wrong(problem));
                }
            }
        }
        Ok(ends)
    }

    /// Adds the NIC of port `own`, which is connected to `at`.
    fn attach(&mut self, found: &Discovery, own: Port, at: SwitchPort) -> Result<(), String> {
        let lid = found.lids.get(&own).copied().unwrap_or(0);
        let nic = NicId::new(self.attached.len() as u32);
        if self.nics.insert(lid, nic).is_some() {
            return Err(format!("a second port with LID {lid}"));
        }
        self.names.push(NicName {
            name: found.adapters.get(&own.node).cloned().unwrap_or_default(),
            guid: own.node,
            port: own.port,
            lid,
        });
        let lmc = found.lmcs.get(&own).copied().unwrap_or(0);
        self.lids.push(u32::from(lid)..u32::from(lid) + (1 << lmc));
        self.attached.push(at);
        Ok(())
    }
}

impl Imported {
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigError> {
        const KEY: &str = "fabric.topology.file";
        Self::of_text(&text(path, KEY)?, path, KEY)
    }

    /// The fabric that `text`, the content of `path`, describes; `key` names the file.
    pub(crate) fn of_text(text: &str, path: &Path, key: &str) -> Result<Self, ConfigError> {
        let found = Discovery::parse(text).map_err(|e| wrong(key, path, e))?;
        let broken =
            |line: usize, problem| wrong(key, path, PlaceError::line(line as u64, problem));
        let guids = found.switches.keys().copied();
        let index: BTreeMap<u64, SwitchId> = guids.zip((0..).map(SwitchId::new)).collect();
        let place = |port: Port| {
            let number = PortId::new(u32::from(port.port) - 1);
            Some(SwitchPort::new(*index.get(&port.node)?, number))
        };
        let ends = Ends::of(&found, place).map_err(|e| wrong(key, path, e))?;
        let speeds = FileSpeeds::of(&found, place, path);
        if let Some((line, speed)) = speeds.impossible() {
            let problem = format!(
                "a link speed of {}; links have the width 1x, 2x, 4x, 8x or 12x, so the file is damaged",
                quoted(speed)
            );
            return Err(broken(line, problem));
        }
        let switch = |(&guid, name): (&u64, &String)| SwitchName {
            name: name.clone(),
            guid,
            lid: found.switch_lids.get(&guid).copied(),
        };
        let names = Names::new(found.switches.iter().map(switch).collect(), ends.names);
        let topology = Topology::graph(index.len() as u32, &ends.attached, &ends.links)?;
        Ok(Self {
            speeds,
            topology: topology.named(names),
            switches: index,
            nics: ends.nics,
            lids: ends.lids,
            latencies: BTreeMap::new(),
            routes: None,
            is_dump: true,
        })
    }

    /// Forwarding tables of this fabric.
    pub(crate) fn forwarding(&self, path: &Path) -> Result<ForwardingTables, ConfigError> {
        const KEY: &str = "fabric.forwarding";
        let entries = read_forwarding(path, KEY)?;
        let misfit = Misfit {
            topology: &self.topology,
            switches: &self.switches,
            entries: &entries,
            otherwise: "; or leave out fabric.forwarding, and minimal routes are computed",
        };
        let refused = |problem| ConfigError::new(KEY, format!("{}: {problem}", path.display()));
        misfit.check_switches().map_err(refused)?;
        let mut ports = Vec::with_capacity(self.switches.len());
        let lids: Vec<u16> = {
            let mut all: Vec<_> = self.nics.iter().map(|(&lid, &nic)| (nic, lid)).collect();
            all.sort_unstable();
            all.into_iter().map(|(_, lid)| lid).collect()
        };
        for (&guid, &switch) in &self.switches {
            let table = entries.tables.get(&guid);
            let port = |(&lid, nic): (&u16, NicId)| {
                let entry = table.and_then(|table| table.entry(lid));
                let port = entry.map(|entry| entry.port);
                misfit.port(switch, nic, lid, port).map_err(refused)
            };
            let row = lids.iter().zip(self.topology.nic_ids()).map(port);
            ports.push(row.collect::<Result<_, _>>()?);
        }
        Ok(ForwardingTables {
            ports,
            engine: None,
        })
    }

    /// SL-to-VL tables of this fabric. Those that equal the default, which is the table of the
    /// first adapter, are left out.
    pub(crate) fn sl2vl(&self, path: &Path) -> Result<SlToVl, ConfigError> {
        const KEY: &str = "fabric.sl2vl";
        let found = VlTables::parse(&text(path, KEY)?).map_err(|e| wrong(KEY, path, e))?;
        let hca = |(lid, table): (&u16, &[u8; 16])| Some((*self.nics.get(lid)?, table.to_vec()));
        let mut hcas: BTreeMap<NicId, Vec<u8>> = found.adapters.iter().filter_map(hca).collect();
        let missing = self.topology.nic_ids().find(|nic| !hcas.contains_key(nic));
        let first = NicId::new(0);
        let Some((None, default)) = hcas.get(&first).cloned().map(|first| (missing, first)) else {
            let nic = missing.unwrap_or(first);
            return refused(
                KEY,
                format!(
                    "{}: there is no table of {}; the tables are not of this fabric",
                    path.display(),
                    self.topology.nic_text(nic)
                ),
            );
        };
        hcas.retain(|_, table| *table != default);
        let mut ports = BTreeMap::new();
        for (guid, &switch) in &self.switches {
            let used = |port: &PortId| self.topology.peer(switch, *port) != Peer::None;
            let used: Vec<PortId> = self.topology.port_ids().filter(used).collect();
            let hop = |in_port, out_port| Hop {
                switch,
                in_port,
                out_port,
            };
            let hops = used
                .iter()
                .flat_map(|&i| used.iter().map(move |&o| hop(i, o)));
            for hop in hops {
                // Their tools count ports from 1.
                let [input, output] = [hop.in_port, hop.out_port].map(|port| port.get() + 1);
                let table = found.switches.get(&(*guid, input as u8, output as u8));
                let Some(table) = table else {
                    return refused(
                        KEY,
                        format!(
                            "{}: there is no table of switch {guid:#x} from port {input} to port {output}",
                            path.display()
                        ),
                    );
                };
                if table[..] != default[..] {
                    ports.insert(hop, table.to_vec());
                }
            }
        }
        Ok(SlToVl {
            default,
            hcas,
            ports,
        })
    }
}

pub(crate) fn wrong(key: &str, path: &Path, error: PlaceError) -> ConfigError {
    ConfigError::new(key, error.of(&path.into()).to_string())
}

/// Forwarding tables of any fabric, read piece by piece.
pub(crate) fn read_forwarding(path: &Path, key: &str) -> Result<Forwarding, ConfigError> {
    let mut reader = ForwardingReader::default();
    each_line(path, key, "table", |line| reader.line(line))?;
    reader.end().map_err(|e| wrong(key, path, e))
}

/// Reads a file of any length line by line; `what` it should be.
pub(crate) fn each_line(
    path: &Path,
    key: &str,
    what: &str,
    mut read: impl FnMut(&str) -> Result<(), PlaceError>,
) -> Result<(), ConfigError> {
    let failed = |e: flitwise_formats::Error| ConfigError::new(key, unread(&e));
    let mut source = Source::open(path).map_err(failed)?;
    let mut hash = XxHash3_128::new();
    loop {
        let (buffer, end) = source.buffer();
        let piece = &buffer[..buffer.len().min(PIECE)];
        let last = end && piece.len() == buffer.len();
        let whole = match piece.iter().rposition(|&byte| byte == b'\n') {
            _ if last => piece.len(),
            Some(at) => at + 1,
            None if piece.len() == PIECE => {
                let name = path.display();
                let problem =
                    format!("{name}: a line of more than {PIECE} bytes; this is no {what}");
                return Err(ConfigError::new(key, problem));
            }
            None => {
                source.more().map_err(failed)?;
                continue;
            }
        };
        let lines = String::from_utf8_lossy(&piece[..whole]);
        let mut lines = lines.lines();
        let read = lines.try_for_each(&mut read);
        read.map_err(|e| wrong(key, path, e))?;
        hash.write(&piece[..whole]);
        source.consume(whole);
        if last {
            inputs::note_hash(path, hash.finish_128());
            return Ok(());
        }
    }
}

/// The text of a file, plain or packed.
pub(crate) fn text(path: &Path, key: &str) -> Result<String, ConfigError> {
    let failed = |e: flitwise_formats::Error| ConfigError::new(key, unread(&e));
    let mut source = Source::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    loop {
        let (buffer, end) = source.buffer();
        let read = buffer.len();
        bytes.extend_from_slice(buffer);
        source.consume(read);
        if bytes.len() > MAX_FILE {
            let name = path.display();
            let problem = format!("`{name}` has more than {MAX_FILE} bytes; no fabric needs that");
            return refused(key, problem);
        }
        if end {
            break;
        }
        source.more().map_err(failed)?;
    }
    inputs::note(path, &bytes);
    // Names of nodes may be in any encoding; nothing else is beyond ASCII.
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}
