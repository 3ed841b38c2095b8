//! Links with a value each, drawn on the topology that they make: how much the links of a run were used, what routes put
//! on cables. `layout` says where switches are; `drawn` makes lines of links.

mod drawn;
mod layout;

pub use drawn::{Drawing, TAGGED, draw};
pub use layout::Plan;

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A NIC.
    Nic(u32),
    /// A port of a switch.
    Switch(u32, u32),
}

impl End {
    /// The switch, if it is one.
    #[must_use]
    pub fn switch(self) -> Option<u32> {
        match self {
            Self::Nic(_) => None,
            Self::Switch(switch, _) => Some(switch),
        }
    }

    /// `nic 3` or `switch 2 port 7`.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Nic(nic) => format!("nic {nic}"),
            Self::Switch(switch, port) => format!("switch {switch} port {port}"),
        }
    }
}

/// A directed link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WiredLink<'a> {
    /// Sending end.
    pub from: End,
    /// Receiving end.
    pub to: End,
    /// The names of the ends for people; a port of a switch ends in ` port N`.
    pub names: [&'a str; 2],
    /// The value that is drawn, from 0.
    pub value: f64,
}

/// The quantity that is drawn of links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure<'a> {
    /// The name of the scale of shades.
    pub name: &'a str,
    /// Values are parts of a whole, shown in percent; otherwise numbers.
    pub percent: bool,
    /// The word for NICs: `NICs`, `hosts`.
    pub nics: &'a str,
}
