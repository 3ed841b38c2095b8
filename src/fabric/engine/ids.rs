//! The ids of parts that the engines number over all switches: switch 0 first, then switch 1 and
//! so on. Events of the calendar carry them as bare numbers.

use crate::ids::{NicId, SwitchId, SwitchPort};
use crate::stats::LinkEnd;
use crate::switch::hierarchical::{MPORT_CENTRALS, MPORT_PORTS};
use flitwise_base::define_ids;

define_ids! {
    /// An in-port, counted over all switches.
    ///
    /// ```
    /// use flitwise_fabric::engine::ids::InputId;
    ///
    /// assert!(InputId::new(1) == InputId::new(1));
    /// ```
    ///
    /// The out-port with the same number is something else:
    ///
    /// ```compile_fail,E0308
    /// use flitwise_fabric::engine::ids::{InputId, OutputId};
    ///
    /// assert!(InputId::new(1) == OutputId::new(1));
    /// ```
    InputId;

    /// The sending end of a link: the out-ports of switch 0, of switch 1 and so on, then the NICs.
    ///
    /// ```
    /// use flitwise_fabric::engine::ids::OutputId;
    ///
    /// fn look(output: OutputId) -> usize {
    ///     output.index()
    /// }
    /// assert_eq!(look(OutputId::new(7)), 7);
    /// ```
    ///
    /// An in-port is not an output. A NIC id is not one either, as NICs have numbers of their own:
    ///
    /// ```compile_fail,E0308
    /// use flitwise_fabric::engine::ids::{InputId, OutputId};
    ///
    /// fn look(output: OutputId) -> usize {
    ///     output.index()
    /// }
    /// assert_eq!(look(InputId::new(7)), 7);
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use flitwise_fabric::engine::ids::OutputId;
    /// use flitwise_fabric::ids::NicId;
    ///
    /// fn look(output: OutputId) -> usize {
    ///     output.index()
    /// }
    /// assert_eq!(look(NicId::new(7)), 7);
    /// ```
    OutputId;

    /// An MPort of a hierarchical switch, counted over all switches.
    MPortId;

    /// A central buffer of a hierarchical switch, counted over all switches.
    ///
    /// ```compile_fail,E0308
    /// use flitwise_fabric::engine::ids::{CentralId, InputId};
    ///
    /// assert!(CentralId::new(1) == InputId::new(1));
    /// ```
    CentralId;
}

/// Numbers in-ports or out-ports over all switches: the ports of switch 0 come first, then the ports of
/// switch 1, and so on.
macro_rules! number_by_switch {
    ($($name:ident)+) => {$(
        impl $name {
            /// No port.
            pub(super) const NONE: Self = Self::new(u32::MAX);

            /// The in-port or out-port of the port `at`; switches have `radix` ports.
            #[inline(always)]
            pub(super) const fn of(at: SwitchPort, radix: u32) -> Self {
                Self::new(at.switch.get() * radix + at.port.get())
            }

            /// In-port or out-port 0 of `switch`; switches have `radix` ports.
            #[inline(always)]
            pub(super) const fn first_of(switch: SwitchId, radix: u32) -> Self {
                Self::new(switch.get() * radix)
            }

            /// The port in words of the topology, which has switches of `radix` ports.
            #[inline]
            pub(super) const fn at(self, radix: u32) -> SwitchPort {
                SwitchPort::of_index(self.get(), radix)
            }

            /// The id that comes `count` later.
            #[inline(always)]
            pub(super) const fn plus(self, count: u32) -> Self {
                Self::new(self.get() + count)
            }

            /// The MPort of the port; the ports of a switch fill whole MPorts.
            #[inline(always)]
            pub(super) const fn mport(self) -> MPortId {
                MPortId::new(self.get() / MPORT_PORTS)
            }
        }
    )+};
}

number_by_switch!(InputId OutputId);

impl InputId {
    /// Position of the in-port within its MPort.
    #[inline(always)]
    pub(super) const fn position(self) -> u32 {
        self.get() % MPORT_PORTS
    }
}

impl OutputId {
    /// The output of `nic` in a fabric with `ports` switch ports.
    #[inline(always)]
    pub(super) const fn of_nic(nic: NicId, ports: usize) -> Self {
        Self::new(ports as u32 + nic.get())
    }

    /// All of `outputs` outputs, the NICs before the `ports` out-ports.
    pub(super) fn nics_first(ports: usize, outputs: usize) -> impl Iterator<Item = Self> {
        let (ports, outputs) = (ports as u32, outputs as u32);
        (ports..outputs).chain(0..ports).map(Self::new)
    }

    /// The NIC that the output belongs to; `None` if it is one of the `ports` out-ports.
    #[inline(always)]
    pub(super) fn nic(self, ports: usize) -> Option<NicId> {
        self.get().checked_sub(ports as u32).map(NicId::new)
    }

    /// The output in words of the topology, which has `ports` switch ports, `radix` of them at each
    /// switch.
    pub(super) fn link_end(self, ports: usize, radix: u32) -> LinkEnd {
        match self.nic(ports) {
            Some(nic) => LinkEnd::Nic(nic),
            None => self.at(radix).into(),
        }
    }
}

impl MPortId {
    /// The in-port at `position` of the MPort.
    #[inline(always)]
    pub(super) const fn input(self, position: u32) -> InputId {
        InputId::new(self.get() * MPORT_PORTS + position)
    }

    /// Central buffer `number`, 0 or 1, of the MPort.
    #[inline(always)]
    pub(super) const fn central(self, number: u32) -> CentralId {
        CentralId::new(MPORT_CENTRALS * self.get() + number)
    }
}

impl CentralId {
    /// The MPort of the central buffer.
    #[inline(always)]
    pub(super) const fn mport(self) -> MPortId {
        MPortId::new(self.get() / MPORT_CENTRALS)
    }

    /// The in-port by which reports name the central buffer: the one with its number within the
    /// MPort.
    #[inline]
    pub(super) const fn named_by(self) -> InputId {
        self.mport().input(self.get() % MPORT_CENTRALS)
    }

    /// The central buffer that comes `buffers` later.
    #[inline(always)]
    pub(super) const fn plus(self, buffers: u32) -> Self {
        Self::new(self.get() + buffers)
    }
}
