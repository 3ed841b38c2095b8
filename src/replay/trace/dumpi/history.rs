//! The changes that a rank makes to groups and communicators, in the order of its calls.

use super::groups::Making;
use flitwise_formats::dumpi::call::Function;
use flitwise_formats::dumpi::{Call, Comm, Group, Record};
use hashbrown::HashMap;

/// A call that makes or frees a group or a communicator.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// Bytes of the file before it.
    pub offset: u64,
    pub function: Function,
    pub what: What,
    /// The answers to the rank about the communicator that it made, before its number meant another one: its rank in it, and its size.
    pub rank_said: Option<i32>,
    pub size_said: Option<i32>,
}

/// The effect of such a call.
#[derive(Debug, Clone)]
pub(super) enum What {
    Group {
        new: Group,
        making: Making,
    },
    Comm {
        new: Comm,
        construction: Construction,
    },
    Free(Comm),
}

/// The construction of a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Construction {
    Dup {
        of: Comm,
    },
    Create {
        of: Comm,
        group: Group,
    },
    Split {
        of: Comm,
        color: i32,
        key: i32,
    },
    /// The first of `of`, as many as places in a grid of these dimensions.
    Cart {
        of: Comm,
        dims: Box<[i32]>,
    },
    /// Those that differ in the dimensions that are kept only.
    CartSub {
        of: Comm,
        keep: Box<[bool]>,
    },
    /// The first of `of`, as many as nodes.
    Graph {
        of: Comm,
        nodes: i32,
    },
    Between(Between),
    /// Both sides of a communicator between groups. The side whose ranks say `high` comes last.
    Merge {
        of: Comm,
        high: bool,
    },
    /// With processes that the trace does not have.
    Foreign,
}

/// A communicator between two groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Between {
    pub local: Comm,
    /// Rank in it of the leader, which alone says the rest.
    pub leader: i32,
    pub peer: Comm,
    pub remote_leader: i32,
    pub tag: i32,
}

impl Construction {
    /// The communicator on which all members call the constructor.
    pub fn parent(&self) -> Option<Comm> {
        Some(match self {
            Self::Dup { of }
            | Self::Create { of, .. }
            | Self::Split { of, .. }
            | Self::Cart { of, .. }
            | Self::CartSub { of, .. }
            | Self::Graph { of, .. }
            | Self::Merge { of, .. } => *of,
            Self::Between(between) => between.local,
            Self::Foreign => return None,
        })
    }

    /// The construction that a call is, if it is one.
    pub fn of(call: &Call<'_>) -> Option<Self> {
        Some(match call {
            Call::CommDup(c) => Self::Dup { of: c.oldcomm },
            Call::CommCreate(c) => Self::Create {
                of: c.oldcomm,
                group: c.group,
            },
            Call::CommSplit(c) => Self::Split {
                of: c.oldcomm,
                color: c.color,
                key: c.key,
            },
            Call::CartCreate(c) => Self::Cart {
                of: c.oldcomm,
                dims: c.dims.iter().collect(),
            },
            Call::CartSub(c) => Self::CartSub {
                of: c.oldcomm,
                keep: c.remain_dims.iter().map(|keep| keep != 0).collect(),
            },
            Call::GraphCreate(c) => Self::Graph {
                of: c.oldcomm,
                nodes: c.nodes,
            },
            Call::IntercommCreate(c) => Self::Between(Between {
                local: c.localcomm,
                leader: c.localleader,
                peer: c.remotecomm,
                remote_leader: c.remoteleader,
                tag: c.tag,
            }),
            Call::IntercommMerge(c) => Self::Merge {
                of: c.comm,
                high: c.high != 0,
            },
            _ => {
                call.made_comm()?;
                Self::Foreign
            }
        })
    }
}

impl What {
    fn of(call: &Call<'_>) -> Option<Self> {
        if let Some((new, making)) = group(call) {
            return Some(Self::Group { new, making });
        }
        match call {
            Call::CommFree(c) | Call::CommDisconnect(c) => Some(Self::Free(c.comm)),
            _ => {
                let construction = Construction::of(call)?;
                let new = call.made_comm()?;
                Some(Self::Comm { new, construction })
            }
        }
    }
}

/// The group that a call makes, and how.
fn group(call: &Call<'_>) -> Option<(Group, Making)> {
    Some(match call {
        Call::CommGroup(c) | Call::CommRemoteGroup(c) => {
            let remote = matches!(call, Call::CommRemoteGroup(_));
            let comm = c.comm;
            (c.group, Making::Of { comm, remote })
        }
        Call::GroupUnion(c) => (c.newgroup, Making::Union([c.group1, c.group2])),
        Call::GroupIntersection(c) => (c.newgroup, Making::Intersection([c.group1, c.group2])),
        Call::GroupDifference(c) => (c.newgroup, Making::Difference([c.group1, c.group2])),
        Call::GroupIncl(c) => (c.newgroup, Making::Incl(c.group, c.ranks.iter().collect())),
        Call::GroupExcl(c) => (c.newgroup, Making::Excl(c.group, c.ranks.iter().collect())),
        Call::GroupRangeIncl(c) | Call::GroupRangeExcl(c) => {
            let number =
                |range: &flitwise_formats::dumpi::Array<'_, i32>, at| range.get(at).unwrap_or(0);
            let ranges = c.ranges.iter();
            let ranges = ranges.map(|r| [number(&r, 0), number(&r, 1), number(&r, 2)]);
            let ranges: Box<[_]> = ranges.collect();
            match call {
                Call::GroupRangeIncl(_) => (c.newgroup, Making::RangeIncl(c.group, ranges)),
                _ => (c.newgroup, Making::RangeExcl(c.group, ranges)),
            }
        }
        Call::WinGetGroup(c) => (c.group, Making::Unknown),
        Call::FileGetGroup(c) => (c.group, Making::Unknown),
        _ => return None,
    })
}

/// The events of a rank.
#[derive(Debug, Default)]
pub(super) struct History {
    pub events: Vec<Event>,
    /// The constructor of the communicator that a number means now.
    made_by: HashMap<Comm, usize>,
}

impl History {
    /// The next call of the rank.
    pub fn see(&mut self, record: &Record<'_>) {
        match &record.call {
            Call::CommRank(c) => {
                if let Some(event) = self.made(c.comm) {
                    event.rank_said.get_or_insert(c.rank);
                }
            }
            Call::CommSize(c) => {
                if let Some(event) = self.made(c.comm) {
                    event.size_said.get_or_insert(c.size);
                }
            }
            call => {
                let Some(what) = What::of(call) else { return };
                match what {
                    What::Comm { new, .. } => {
                        self.made_by.insert(new, self.events.len());
                    }
                    What::Free(comm) => {
                        self.made_by.remove(&comm);
                    }
                    What::Group { .. } => {}
                }
                self.events.push(Event {
                    offset: record.offset,
                    function: call.function(),
                    what,
                    rank_said: None,
                    size_said: None,
                });
            }
        }
    }

    fn made(&mut self, comm: Comm) -> Option<&mut Event> {
        self.events.get_mut(*self.made_by.get(&comm)?)
    }
}
