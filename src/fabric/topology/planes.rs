//! Equal planes: copies of a topology without links among them, as rails are.

use super::{
    Cabling, Destination, Family, FamilyParameters, Peer, Place, Ports, RingTie, Topology,
};
use crate::error::SpecError;
use crate::ids::{NicId, PortId, SwitchId, SwitchPort};

/// Copies of a plane. NIC x is NIC ⌊x / copies⌋ of plane x mod copies; the switches of plane p follow the switches
/// of plane p − 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planes {
    plane: Topology,
    copies: u32,
}

impl Topology {
    /// `copies` planes like this topology, without the names of its parts; itself if it is one.
    ///
    /// # Errors
    /// If they are too large together.
    pub fn in_planes(self, copies: u32) -> Result<Self, SpecError> {
        if copies < 2 {
            return Ok(self);
        }
        let all = |of_plane: u32| u64::from(of_plane) * u64::from(copies);
        let (switches, nics) = (all(self.switches()), all(self.nics()));
        let planes = Planes {
            plane: self,
            copies,
        };
        let (plane, ports) = (&planes.plane, u64::from(planes.plane.radix()));
        let shape = plane.shape.clone();
        let mut cabling = Cabling::unconnected(switches, ports, nics)?;
        for nic in NicId::all(nics as u32) {
            let SwitchPort { switch, port } = plane.attachment(planes.nic(nic));
            let first = nic.get() % copies * plane.switches();
            cabling.attach_next(SwitchPort::new(SwitchId::new(first + switch.get()), port));
        }
        for at in SwitchId::all(switches as u32) {
            let own = planes.switch(at);
            for port in plane.port_ids() {
                if let Peer::Switch { switch, port: far } = plane.peer(own, port) {
                    let switch = planes.beside(at, switch);
                    cabling.set_peer(
                        SwitchPort::new(at, port),
                        Peer::Switch { switch, port: far },
                    );
                }
            }
        }
        Ok(Self {
            planes: Some(Box::new(planes)),
            ..Self::of((shape, cabling))
        })
    }

    /// Number of planes, of which NIC x is on plane x mod this number.
    #[must_use]
    pub fn planes(&self) -> u32 {
        self.planes.as_ref().map_or(1, |planes| planes.copies)
    }

    /// The number of a NIC on its plane.
    #[must_use]
    pub fn on_plane(&self, nic: NicId) -> NicId {
        NicId::new(nic.get() / self.planes())
    }
}

impl Planes {
    fn family(&self) -> &dyn Family {
        self.plane.family()
    }

    /// The NIC within its plane.
    fn nic(&self, nic: NicId) -> NicId {
        NicId::new(nic.get() / self.copies)
    }

    /// The switch within its plane.
    fn switch(&self, switch: SwitchId) -> SwitchId {
        SwitchId::new(switch.get() % self.plane.switches())
    }

    /// The switch that is `switch` within the plane of `at`.
    fn beside(&self, at: SwitchId, switch: SwitchId) -> SwitchId {
        let own = self.switch(at).get();
        SwitchId::new(at.get() - own + switch.get())
    }
}

/// As the plane of the switch. A switch routes towards a NIC of another plane as towards the one of that number on its own.
impl Family for Planes {
    fn candidates(&self, tie: RingTie, switch: SwitchId, to: Destination) -> Ports {
        (self.plane).candidates(tie, self.switch(switch), self.nic(to.nic))
    }

    fn name(&self) -> String {
        format!("{} planes, each a {}", self.copies, self.family().name())
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        self.family().parameters(&self.plane)
    }

    fn place(&self, switch: SwitchId) -> Place {
        self.family().place(self.switch(switch))
    }

    fn group(&self, switch: SwitchId) -> Option<u32> {
        self.family().group(self.switch(switch))
    }

    fn global_group(&self, switch: SwitchId) -> Option<u32> {
        self.family().global_group(self.switch(switch))
    }

    fn coordinate(&self, switch: SwitchId, dimension: u32) -> u32 {
        self.family().coordinate(self.switch(switch), dimension)
    }

    fn has_rings(&self) -> bool {
        self.family().has_rings()
    }

    fn has_up_ports(&self) -> bool {
        self.family().has_up_ports()
    }

    fn can_turn_back(&self) -> bool {
        self.family().can_turn_back()
    }

    fn trunk(&self) -> u32 {
        self.family().trunk()
    }

    fn up_ports(&self, switch: SwitchId) -> Ports {
        self.family().up_ports(self.switch(switch))
    }

    fn dimension(&self, switch: SwitchId, port: PortId) -> Option<u8> {
        self.family().dimension(self.switch(switch), port)
    }

    fn vl_classes(&self) -> u8 {
        self.family().vl_classes()
    }

    fn class_domain(&self, port: PortId) -> Option<u8> {
        self.family().class_domain(port)
    }

    fn least_class(&self, switch: SwitchId, port: PortId) -> u8 {
        self.family().least_class(self.switch(switch), port)
    }

    fn least_class_between(&self, in_port: PortId, out_port: PortId) -> u8 {
        self.family().least_class_between(in_port, out_port)
    }

    fn is_wrap_link(&self, switch: SwitchId, port: PortId) -> bool {
        self.family().is_wrap_link(self.switch(switch), port)
    }

    fn tornado(&self, switch: SwitchId) -> Option<SwitchId> {
        let there = self.family().tornado(self.switch(switch))?;
        Some(self.beside(switch, there))
    }
}
