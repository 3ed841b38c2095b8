//! The definitions of an archive that a replay needs.

use std::sync::Arc;

use hashbrown::HashMap;

use super::called::Called;
use super::comm::{Comm, Comms, Members};
use super::records::{Layout, Records};
use super::wire::{Fault, Fields};
use crate::error::Error;
use crate::limits::{MAX_COMM_MEMBERS, MAX_OTF2_DEFINITIONS, MAX_TASKS};

/// Kinds of definitions.
mod kind {
    pub const CLOCK: u8 = 5;
    pub const STRING: u8 = 10;
    pub const LOCATION_GROUP: u8 = 13;
    pub const LOCATION: u8 = 14;
    pub const REGION: u8 = 15;
    pub const GROUP: u8 = 18;
    pub const COMM: u8 = 22;
    pub const INTER_COMM: u8 = 43;
}

/// The paradigm MPI.
const MPI: u8 = 4;
/// A location that is a thread of a process.
const CPU_THREAD: u8 = 1;

/// Kinds of groups.
mod group {
    /// The locations that are ranks, in the order of the ranks.
    pub const COMM_LOCATIONS: u8 = 4;
    /// Ranks, by their places in the group before.
    pub const COMM_GROUP: u8 = 5;
    /// Each rank by itself.
    pub const COMM_SELF: u8 = 6;
    /// The processes that are ranks, in the order of the ranks.
    pub const COMM_LOCATION_GROUPS: u8 = 7;
}

/// The events of a thread, a process or a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Its number.
    pub id: u64,
    /// Whether it is a thread of a process.
    pub is_thread: bool,
    /// Number of its events.
    pub events: u64,
    /// The process that it belongs to.
    pub process: u32,
}

#[derive(Debug, Clone, Copy)]
struct Region {
    name: u32,
    is_mpi: bool,
}

/// A group of ranks.
#[derive(Debug, Clone)]
enum Group {
    /// Places of ranks, and whether events name these ranks directly.
    Ranks(Arc<[u64]>, bool),
    Own,
}

/// The definitions of an archive.
#[derive(Debug, Default)]
pub struct Definitions {
    /// Ticks of its clock in a second.
    pub ticks_per_second: u64,
    strings: HashMap<u32, Box<str>>,
    regions: HashMap<u32, Region>,
    locations: Vec<Location>,
    groups: HashMap<u32, Group>,
    comms: Vec<(u32, Raw)>,
    world: Option<World>,
    members: usize,
    count: usize,
}

/// The ranks, in their order.
#[derive(Debug, Clone)]
enum World {
    Locations(Vec<u64>),
    Processes(Vec<u64>),
}

/// A communicator as it is defined: its groups.
#[derive(Debug, Clone, Copy)]
enum Raw {
    One { name: u32, group: u32 },
    Two { name: u32, groups: [u32; 2] },
}

/// A definition that can't be used, and what to do.
type Problem = String;

impl Definitions {
    pub(super) fn layout(chunk: u64) -> Layout {
        use kind::*;
        Layout {
            chunk,
            events: false,
            single: |_| false,
            wanted: |kind| {
                matches!(
                    kind,
                    CLOCK | STRING | LOCATION_GROUP | LOCATION | REGION | GROUP | COMM | INTER_COMM
                )
            },
        }
    }

    /// Reads the file of global definitions.
    pub(super) fn read(records: &mut Records) -> Result<Self, Error> {
        let mut all = Self::default();
        while let Some(raw) = records.next_record()? {
            let (offset, kind) = (raw.offset, raw.kind);
            match all.add(kind, raw.fields) {
                Ok(Ok(())) => {}
                Ok(Err(problem)) => return Err(records.problem(offset, problem)),
                Err(fault) => return Err(records.fault(offset, "definition", fault)),
            }
        }
        Ok(all)
    }

    fn add(&mut self, kind: u8, mut fields: Fields<'_>) -> Result<Result<(), Problem>, Fault> {
        use kind::*;
        self.count += 1;
        if self.count > MAX_OTF2_DEFINITIONS {
            return Ok(Err(format!(
                "the archive has more than {MAX_OTF2_DEFINITIONS} definitions, which are not kept"
            )));
        }
        let fields = &mut fields;
        match kind {
            CLOCK => {
                self.ticks_per_second = fields.u64()?;
                if self.ticks_per_second == 0 {
                    return Ok(Err(
                        "the clock has no ticks; record the program again".into()
                    ));
                }
            }
            STRING => {
                let id = fields.u32()?;
                self.strings.insert(id, fields.text()?.into());
            }
            LOCATION => self.locations.push(location(fields)?),
            REGION => {
                let id = fields.u32()?;
                self.regions.insert(id, region(fields)?);
            }
            GROUP => return self.group(fields),
            COMM => {
                let id = fields.u32()?;
                let (name, group) = (fields.u32()?, fields.u32()?);
                self.comms.push((id, Raw::One { name, group }));
            }
            INTER_COMM => {
                let id = fields.u32()?;
                let name = fields.u32()?;
                let groups = [fields.u32()?, fields.u32()?];
                self.comms.push((id, Raw::Two { name, groups }));
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    /// Keeps a group of MPI ranks.
    fn group(&mut self, fields: &mut Fields<'_>) -> Result<Result<(), Problem>, Fault> {
        let (id, _) = (fields.u32()?, fields.u32()?);
        let old = fields.u8()?;
        let mut members = Vec::new();
        // A count that is too large ends at the end of the record.
        for _ in 0..fields.u32()? {
            members.push(fields.u64()?);
        }
        let (kind, paradigm, flags) = if fields.is_empty() {
            // Before version 1.2 all these groups were of MPI, in another order.
            let kind = match old {
                4 => group::COMM_GROUP,
                5 => group::COMM_SELF,
                6 => group::COMM_LOCATIONS,
                _ => 0,
            };
            (kind, MPI, 0)
        } else {
            (fields.u8()?, fields.u8()?, fields.u32()?)
        };
        if paradigm != MPI {
            return Ok(Ok(()));
        }
        match kind {
            group::COMM_SELF => {
                self.groups.insert(id, Group::Own);
            }
            group::COMM_GROUP => {
                self.members += members.len();
                if self.members > MAX_COMM_MEMBERS {
                    return Ok(Err(format!(
                        "the communicators have more than {MAX_COMM_MEMBERS} members, which are not kept"
                    )));
                }
                let global = flags & 1 != 0;
                self.groups.insert(id, Group::Ranks(members.into(), global));
            }
            group::COMM_LOCATIONS | group::COMM_LOCATION_GROUPS => {
                if members.len() > MAX_TASKS as usize {
                    return Ok(Err(format!("the archive has more than {MAX_TASKS} ranks")));
                }
                let world = if kind == group::COMM_LOCATIONS {
                    World::Locations(members)
                } else {
                    World::Processes(members)
                };
                self.world.get_or_insert(world);
            }
            _ => {}
        }
        Ok(Ok(()))
    }

    /// The locations, in the order of their definitions.
    #[must_use]
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// A text.
    #[must_use]
    pub fn string(&self, id: u32) -> Option<&str> {
        self.strings.get(&id).map(|text| &**text)
    }

    /// The name of a region.
    #[must_use]
    pub fn region_name(&self, id: u32) -> Option<&str> {
        self.string(self.regions.get(&id)?.name)
    }

    /// The kind of a region. Regions without a definition are computation.
    #[must_use]
    pub fn called(&self, id: u32) -> Called {
        let Some(region) = self.regions.get(&id) else {
            return Called::Computation;
        };
        let name = self.string(region.name).unwrap_or_default();
        Called::of(name, region.is_mpi)
    }

    /// The kind of each region, by number.
    #[must_use]
    pub fn all_called(&self) -> HashMap<u32, Called> {
        let all = self.regions.keys();
        all.map(|&id| (id, self.called(id))).collect()
    }

    /// The locations of the ranks, in their order; else what is wrong.
    pub(super) fn ranks(&self) -> Result<Vec<Location>, Problem> {
        let (ids, found): (_, HashMap<u64, Location>) = match &self.world {
            None => {
                return Err(
                    "has no group of MPI ranks: it is no recording of an MPI program, or its recorder was told to leave MPI out; \
                     record it with `scorep --mpp=mpi`"
                        .to_owned(),
                );
            }
            Some(World::Locations(ids)) => {
                (ids, self.locations.iter().map(|&l| (l.id, l)).collect())
            }
            Some(World::Processes(ids)) => {
                let threads = self.locations.iter().filter(|l| l.is_thread);
                // The first thread of a process has the lowest number.
                let mut threads: Vec<_> = threads.map(|&l| (u64::from(l.process), l)).collect();
                threads.sort_by_key(|(_, l)| std::cmp::Reverse(l.id));
                (ids, threads.into_iter().collect())
            }
        };
        if ids.is_empty() {
            return Err("has an empty group of MPI ranks; record the program again".to_owned());
        }
        let find = |(rank, id): (usize, &u64)| {
            found.get(id).copied().ok_or_else(|| {
                format!("has no definition of the location of rank {rank}; copy it again, or record the program to its end")
            })
        };
        ids.iter().enumerate().map(find).collect()
    }

    /// The communicators, whose members are the ranks of a world of `ranks` ranks; else what is wrong.
    pub(super) fn comms(&self, ranks: u32) -> Result<Comms, Problem> {
        let mut shared: HashMap<u32, Members> = HashMap::new();
        let mut members = |id: u32| -> Result<Members, Problem> {
            if let Some(members) = shared.get(&id) {
                return Ok(members.clone());
            }
            let made = match self.groups.get(&id) {
                None => Members::Others,
                Some(Group::Own) => Members::Own,
                Some(Group::Ranks(places, global)) => Members::Ranks {
                    ranks: self.placed(places, ranks)?,
                    global: *global,
                },
            };
            shared.insert(id, made.clone());
            Ok(made)
        };
        let mut comms = Comms::default();
        for &(id, raw) in &self.comms {
            let (name, sides) = match raw {
                Raw::One { name, group } => (name, [Some(members(group)?), None]),
                Raw::Two {
                    name,
                    groups: [a, b],
                } => (name, [Some(members(a)?), Some(members(b)?)]),
            };
            let name = self.string(name).unwrap_or_default().into();
            comms.add(id, Comm::new(name, sides));
        }
        Ok(comms)
    }

    fn placed(&self, places: &[u64], ranks: u32) -> Result<Arc<[u32]>, Problem> {
        let place = |&place: &u64| {
            let rank = u32::try_from(place).ok().filter(|&rank| rank < ranks);
            rank.ok_or_else(|| {
                format!("has a communicator with rank {place}, but only {ranks} ranks; record the program again")
            })
        };
        places.iter().map(place).collect()
    }
}

fn location(fields: &mut Fields<'_>) -> Result<Location, Fault> {
    let (id, _) = (fields.u64()?, fields.u32()?);
    Ok(Location {
        id,
        is_thread: fields.u8()? == CPU_THREAD,
        events: fields.u64()?,
        process: fields.u32()?,
    })
}

fn region(fields: &mut Fields<'_>) -> Result<Region, Fault> {
    let (name, _, _) = (fields.u32()?, fields.u32()?, fields.u8()?);
    let (_, _, _) = (fields.u32()?, fields.u32()?, fields.u32()?);
    // Before version 1.1 the name alone says which are functions of MPI.
    let is_mpi = if fields.is_empty() {
        false
    } else {
        let (_, _) = (fields.u32()?, fields.u8()?);
        fields.u8()? == MPI
    };
    Ok(Region { name, is_mpi })
}
