//! Detours: the answers that need the whole fabric.

use crate::ids::{NicId, SwitchId};
use crate::spec::FabricSpec;
use crate::spec::paths::Intermediate;

impl FabricSpec {
    /// The first VL class of leg `leg` of a path.
    #[must_use]
    pub(crate) fn first_class(&self, leg: u8) -> u8 {
        self.routing.paths.first_class(leg, self.classes_of_leg())
    }

    /// Whether a packet at `switch` for NIC `dst` is near it, which leaves nothing to go round: in its group, or on
    /// topologies without groups at its switch.
    #[must_use]
    pub(crate) fn is_near(&self, switch: SwitchId, dst: NicId) -> bool {
        let home = self.topology.attachment(dst).switch;
        let family = self.topology.family();
        match (family.global_group(switch), family.global_group(home)) {
            (Some(here), Some(there)) => here == there,
            _ => switch == home,
        }
    }

    /// Whether the first leg of a detour over NIC `via` ends at `switch`.
    #[must_use]
    pub(crate) fn ends_detour(&self, switch: SwitchId, via: NicId) -> bool {
        match self.routing.paths.detours().map(|d| d.intermediate) {
            Some(Intermediate::Group) => self.is_near(switch, via),
            None | Some(Intermediate::Nic) => self.topology.attachment(via).switch == switch,
        }
    }

    /// Whether packets at `switch` for NIC `dst` may take a detour over NIC `via`. `switch` need not be the switch of
    /// their source.
    #[must_use]
    #[cfg_attr(feature = "engine", visibility::make(pub))]
    pub(crate) fn allows_detour(&self, switch: SwitchId, dst: NicId, via: NicId) -> bool {
        let Some(detours) = self.routing.paths.detours() else {
            return false;
        };
        match detours.intermediate {
            Intermediate::Nic => !detours.rule.is_adaptive() || !self.is_near(switch, dst),
            Intermediate::Group => {
                let home = self.topology.attachment(dst).switch;
                !self.is_near(switch, dst) && !self.is_near(switch, via) && !self.is_near(home, via)
            }
        }
    }
}
