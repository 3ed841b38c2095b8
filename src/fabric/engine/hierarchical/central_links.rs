//! Which of the two central buffers of an MPort a packet takes (`docs/model/fabric.md` §2).

use crate::engine::ids::{CentralId, InputId, OutputId};
use crate::engine::pool::PacketId;
use crate::engine::variant::Variant;
use crate::spec::hierarchical::{CentralLink, MPORT_CENTRALS};
use flitwise_base::random::{Purpose, Stream};

/// The rule by which packets take a central buffer.
#[derive(Debug)]
pub(super) enum CentralLinks {
    /// By the out-port.
    ByOutput,
    /// By the in-port.
    ByInput,
    /// Drawn for each packet.
    Random {
        /// By in-port.
        streams: Vec<Stream>,
        /// By packet: the number drawn last.
        drawn: Vec<u8>,
    },
}

impl CentralLinks {
    /// The rule `link` of a fabric with `ports` in-ports.
    pub(super) fn new(link: CentralLink, ports: usize) -> Self {
        match link {
            CentralLink::ByOutput => Self::ByOutput,
            CentralLink::ByInput => Self::ByInput,
            CentralLink::Random { seed } => Self::Random {
                streams: (0..ports as u64)
                    .map(|port| Stream::new(seed, Purpose::CentralLink, [port, 0]))
                    .collect(),
                drawn: Vec::new(),
            },
        }
    }

    /// Phase 4: packet `id` at in-port `port` was routed to `output`.
    #[inline]
    pub(super) fn routed(&mut self, port: InputId, output: OutputId, id: PacketId) {
        if let Self::Random { streams, drawn } = self
            && port.mport() != output.mport()
        {
            if drawn.len() <= id.index() {
                drawn.resize(id.index() + 1, 0);
            }
            drawn[id.index()] = streams[port.index()].below(MPORT_CENTRALS.into()) as u8;
        }
    }

    /// The central buffer that a packet takes from in-port `port` to `output`, at another MPort; `packet` tells
    /// which packet it is.
    #[inline(always)]
    pub(super) fn between<V: Variant>(
        &self,
        port: InputId,
        output: OutputId,
        packet: impl FnOnce() -> PacketId,
    ) -> CentralId {
        let number = match self {
            _ if !V::HAS_ANY_RULE => output.get(),
            Self::ByOutput => output.get(),
            Self::ByInput => port.get(),
            Self::Random { drawn, .. } => drawn[packet().index()].into(),
        };
        port.mport().central(number % MPORT_CENTRALS)
    }
}
