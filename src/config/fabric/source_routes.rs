//! `fabric.source_routes`: a file with routes of single pairs of NICs.

use crate::config::document::{ConfigError, refused};
use crate::config::import::each_line;
use crate::config::place::RawPlace;
use crate::fabric::ids::{NicId, NicPair, PortId, SwitchId, SwitchPort};
use crate::fabric::spec::SourceRoutes;
use crate::fabric::topology::Topology;
use flitwise_formats::PlaceError;
use flitwise_formats::source_routes::read_line;
use std::collections::BTreeMap;
use std::path::Path;

/// The routes in the file at `path`.
pub(crate) fn read(path: &Path, topology: &Topology) -> Result<SourceRoutes, ConfigError> {
    const KEY: &str = "fabric.source_routes";
    let mut reader = Reader {
        topology,
        nics: BTreeMap::new(),
        switches: BTreeMap::new(),
        lines: BTreeMap::new(),
        routes: SourceRoutes::default(),
    };
    let mut number = 0;
    each_line(path, KEY, "route", |line| {
        number += 1;
        let read = reader.line(line, number);
        read.map_err(|problem| PlaceError::line(number as u64, problem))
    })?;
    if reader.routes.is_empty() {
        let name = path.display();
        let problem = format!("{name}: has no route; expected lines `SRC DST: SWITCH.PORT …`");
        return refused(KEY, problem);
    }
    Ok(reader.routes)
}

struct Reader<'t> {
    topology: &'t Topology,
    /// The NICs and switches by the words that stand for them: names take long to find.
    nics: BTreeMap<String, NicId>,
    switches: BTreeMap<String, SwitchId>,
    /// The line of each pair.
    lines: BTreeMap<NicPair, usize>,
    routes: SourceRoutes,
}

impl Reader<'_> {
    /// Reads line `number`.
    fn line(&mut self, line: &str, number: usize) -> Result<(), String> {
        let Some(found) = read_line(line)? else {
            return Ok(());
        };
        let topology = self.topology;
        let [src, dst] = found.pair;
        let find = |place: RawPlace| place.nic(topology);
        let pair = NicPair {
            src: known(&mut self.nics, src, find)?,
            dst: known(&mut self.nics, dst, find)?,
        };
        let mut route = Vec::with_capacity(found.steps.len());
        for (word, port) in found.steps {
            let switch = known(&mut self.switches, word, |place| place.switch(topology))?;
            // Devices count their ports from 1.
            let is_name = word.parse::<u64>().is_err();
            let first = topology.device_port(PortId::new(0)) * u32::from(is_name);
            let port = port.checked_sub(first).ok_or_else(|| {
                format!("{word} has no port {port}; ports of switches by name count from {first}")
            })?;
            route.push(SwitchPort::new(switch, PortId::new(port)));
        }
        SourceRoutes::check(topology, pair, &route)?;
        if let Some(before) = self.lines.insert(pair, number) {
            return Err(format!(
                "the pair has a route in line {before} as well; keep one"
            ));
        }
        self.routes.0.insert(pair, route);
        Ok(())
    }
}

/// The NIC or switch that `word`, a number or a name, stands for.
fn known<T: Copy>(
    known: &mut BTreeMap<String, T>,
    word: &str,
    find: impl Fn(RawPlace) -> Result<T, String>,
) -> Result<T, String> {
    if let Some(&found) = known.get(word) {
        return Ok(found);
    }
    let place = word
        .parse()
        .map_or_else(|_| RawPlace::Name(word.to_owned()), RawPlace::Number);
    let found = find(place)?;
    known.insert(word.to_owned(), found);
    Ok(found)
}
