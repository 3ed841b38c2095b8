//! Wrong bits: the answers that need the whole fabric.

use crate::error::error;
use crate::ids::{PortId, SwitchId};
use crate::spec::bit_errors::BLOCK_BYTES;
use crate::spec::{FabricSpec, SpecError, Tick};

const KEY: &str = "fabric.bit_error_rate";

impl FabricSpec {
    /// Checks that packets get through sooner or later.
    pub(in crate::spec) fn validate_bit_errors(&self) -> Result<(), SpecError> {
        let Some(errors) = self.bit_errors else {
            return Ok(());
        };
        let levels = 0..self.qos.service_levels.len();
        let flits = levels.map(|sl| self.max_flits(sl)).max().unwrap_or(1);
        let bits = u128::from(flits) * u128::from(self.units.flit_bytes) * 8;
        // Then fewer than half of the tries fail.
        if u128::from(errors.rate) * bits > 1 << 63 {
            let most = 0.5 / bits as f64;
            let problem = format!(
                "at this rate every second packet of {bits} bits would be wrong; give at most {most:.0e}"
            );
            return error(KEY, problem);
        }
        if self.link_power.is_some() {
            let problem = "links that go down by power.policy have no bit errors; remove the rate or the policy";
            return error(KEY, problem.into());
        }
        Ok(())
    }

    /// Ticks that a failed try costs on the link at `port` of `switch`: a block and its answer, each with its flight.
    #[must_use]
    pub(crate) fn retry_ticks(&self, switch: SwitchId, port: PortId) -> Tick {
        let rate = self.link_rate(switch, port);
        let flits = u128::from(BLOCK_BYTES) * u128::from(rate.den());
        let per_tick = u128::from(self.units.flit_bytes) * u128::from(rate.num());
        let block = Tick::try_from(flits.div_ceil(per_tick.max(1))).unwrap_or(Tick::MAX);
        block
            .saturating_add(self.link_latency.at(&self.topology, switch, port))
            .saturating_mul(2)
    }
}
