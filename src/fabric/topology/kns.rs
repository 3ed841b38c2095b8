//! KNS, hybrids of direct and indirect networks: routers at the points of a lattice, and along every line of every
//! dimension a network of switches that joins its routers: one switch, or a tree of `s` stages (Peñaranda et al.: The k-ary
//! n-direct s-indirect family of topologies for large-scale interconnection networks, 2016). We could not read the publication.

use super::{
    Cabling, Destination, Drawing, Family, FamilyInfo, FamilyParameters, LaidOut, Place, Ports,
    RingTie, RoutingName, SwitchOrder, TOO_LARGE, host_count, invalid, port_of,
};
use crate::error::SpecError;
use crate::ids::{PortId, SwitchId};
use schemars::JsonSchema;
use serde::Deserialize;

/// The keys of a KNS.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["k", "n"]))]
#[schemars(description = "")]
pub struct KnsKeys {
    /// Routers on a line.
    pub k: Option<u32>,
    /// Dimensions.
    pub n: Option<u32>,
    /// Stages of the tree that joins the routers of a line.
    #[schemars(extend("default" = 1))]
    pub s: Option<u32>,
    /// NICs per router.
    #[schemars(extend("default" = 1))]
    pub concentration: Option<u32>,
    /// Number of NICs: the first ones stay.
    #[schemars(extend("x-default" = "all"))]
    pub hosts: Option<u32>,
}

/// Sizes of a KNS as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnsSize {
    /// Routers on a line.
    pub k: u32,
    /// Dimensions.
    pub n: u32,
    /// Stages of switches of a line.
    pub s: u32,
    /// NICs per router.
    pub concentration: u32,
}

/// FamilyParameters of a k-ary n-direct s-indirect topology. Routers come first; dimension 0 varies fastest in their ids. Then
/// come the switches of the lines by dimension, within it by stage, within that by line: a line is numbered by the coordinates
/// of its routers in the other dimensions. The switches of a line are an `arity`-ary s-tree whose "NICs" are the
/// routers in the order of their coordinates. Ports of a router: first the NICs, then one for each dimension. Ports of a line's switch:
/// `arity` down, then, below the last stage, as many up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kns {
    k: u32,
    n: u32,
    s: u32,
    concentration: u32,
    /// `arity^s = k`.
    arity: u32,
    /// Switches of a stage of a dimension: `k^n / arity`.
    stage: u32,
}

/// A switch of a line.
#[derive(Debug, Clone, Copy)]
struct OnLine {
    dimension: u32,
    line: u32,
    /// Stage, 0 next to the routers.
    level: u32,
    /// Position in the stage of the line, whose digits in base `arity` say which parts of the tree it is in.
    position: u32,
}

impl KnsKeys {
    /// The topology.
    ///
    /// # Errors
    /// If a key is missing, or the sizes do not fit together.
    pub fn laid_out(&self) -> LaidOut<Kns> {
        let (Some(k), Some(n)) = (self.k, self.n) else {
            let keys = [
                ("k", "routers on a line", self.k.is_none()),
                ("n", "dimensions", self.n.is_none()),
            ];
            return Err(Kns::INFO.missing("kns", &keys));
        };
        let size = KnsSize {
            k,
            n,
            s: self.s.unwrap_or(1),
            concentration: self.concentration.unwrap_or(1),
        };
        Kns::laid_out(size, self.hosts)
    }
}

impl Kns {
    /// As [`Topology::kns`](super::Topology::kns).
    pub(super) fn laid_out(size: KnsSize, hosts: Option<u32>) -> LaidOut<Self> {
        let KnsSize {
            k,
            n,
            s,
            concentration,
        } = size;
        if k < 2 || n == 0 || concentration == 0 {
            return Err(invalid(format!(
                "k = {k}, n = {n}, concentration = {concentration}: at least 2 routers on a line, one dimension and \
                 one NIC per router"
            )));
        }
        let arity = arity(k, s)?;
        let sizes = k.checked_pow(n).and_then(|routers| {
            let stage = routers / arity;
            let on_lines = stage.checked_mul(n)?.checked_mul(s)?;
            Some((routers, stage, on_lines.checked_add(routers)?))
        });
        let Some((routers, stage, switches)) = sizes else {
            let problem = format!("k = {k}, n = {n} make 2^32 switches or more; {TOO_LARGE}");
            return Err(invalid(problem));
        };
        let nics = host_count(u64::from(routers) * u64::from(concentration), hosts)?;
        let of_line = u64::from(arity) * if s > 1 { 2 } else { 1 };
        let ports = of_line.max(u64::from(concentration) + u64::from(n));
        let lattice = Kns {
            k,
            n,
            s,
            concentration,
            arity,
            stage,
        };
        let mut cabling = Cabling::unconnected(switches.into(), ports, nics)?;
        cabling.attach_in_order(nics, concentration);
        for dimension in 0..n {
            lattice.connect_routers(dimension, &mut cabling);
            for level in 0..s - 1 {
                lattice.connect_stage(dimension, level, &mut cabling);
            }
        }
        Ok((lattice, cabling))
    }

    /// The names of the family and its routings.
    pub(super) const INFO: FamilyInfo = {
        use RoutingName::{Dor, HybridDor};
        FamilyInfo::new(
            &["kns"],
            "a kns",
            &["kns"],
            &[HybridDor, Dor],
            &[("kns", "k=4,n=2")],
        )
    };

    /// Links between all routers and the first stages of their lines in `dimension`.
    fn connect_routers(&self, dimension: u32, cabling: &mut Cabling) {
        for router in 0..self.routers() {
            let coordinate = self.coordinate_of(router, dimension);
            let first = self.switch(OnLine {
                dimension,
                line: self.line(router, dimension),
                level: 0,
                position: coordinate / self.arity,
            });
            cabling.connect(
                port_of(router, self.concentration + dimension),
                port_of(first, coordinate % self.arity),
            );
        }
    }

    /// Links between stage `level` of all lines in `dimension` and the stage above it.
    fn connect_stage(&self, dimension: u32, level: u32, cabling: &mut Cabling) {
        for at in 0..self.stage {
            let below = self.on_stage(dimension, level, at);
            let own = self.digit(below.position, level);
            for up in 0..self.arity {
                let unit = self.arity.pow(level);
                let above = OnLine {
                    level: level + 1,
                    position: below.position - own * unit + up * unit,
                    ..below
                };
                cabling.connect(
                    port_of(self.switch(below), self.arity + up),
                    port_of(self.switch(above), own),
                );
            }
        }
    }

    /// Routers on a line.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Dimensions.
    #[must_use]
    pub fn n(&self) -> u32 {
        self.n
    }

    /// Stages of switches of a line.
    #[must_use]
    pub fn s(&self) -> u32 {
        self.s
    }

    /// Ports down of a line's switch: `arity^s = k`.
    #[must_use]
    pub fn arity(&self) -> u32 {
        self.arity
    }

    /// NICs per router.
    #[must_use]
    pub fn concentration(&self) -> u32 {
        self.concentration
    }

    /// Number of routers: `k^n`.
    #[must_use]
    pub fn routers(&self) -> u32 {
        self.stage * self.arity
    }

    /// Coordinate of a router.
    fn coordinate_of(&self, router: u32, dimension: u32) -> u32 {
        router / self.k.pow(dimension) % self.k
    }

    /// The number of the line of `router` in `dimension`.
    fn line(&self, router: u32, dimension: u32) -> u32 {
        let below = self.k.pow(dimension);
        router / below / self.k * below + router % below
    }

    /// Digit `i` of `value`, which is a position on a line, in base `arity`.
    fn digit(&self, value: u32, i: u32) -> u32 {
        value / self.arity.pow(i) % self.arity
    }

    /// Switches of a stage of one line: `k / arity`.
    fn width(&self) -> u32 {
        self.k / self.arity
    }

    /// Number of a line's switch.
    fn switch(&self, at: OnLine) -> u32 {
        let stages = at.dimension * self.s + at.level;
        self.routers() + stages * self.stage + at.line * self.width() + at.position
    }

    /// The switch at place `at` of a stage of a dimension.
    fn on_stage(&self, dimension: u32, level: u32, at: u32) -> OnLine {
        OnLine {
            dimension,
            line: at / self.width(),
            level,
            position: at % self.width(),
        }
    }

    /// The place of `switch`; `None` for routers.
    fn on_line(&self, switch: u32) -> Option<OnLine> {
        let number = switch.checked_sub(self.routers())?;
        let stages = number / self.stage;
        Some(self.on_stage(stages / self.s, stages % self.s, number % self.stage))
    }

    /// DESTRO: the out-port at `at` towards the router of its line with this coordinate.
    fn port_along(&self, at: OnLine, coordinate: u32) -> u32 {
        let digit = self.digit(coordinate, at.level);
        let unit = self.arity.pow(at.level);
        // It is below if all digits from the level on agree.
        if at.position / unit == coordinate / unit / self.arity {
            digit
        } else {
            self.arity + digit
        }
    }
}

/// The whole number whose power `s` is `k`.
fn arity(k: u32, s: u32) -> Result<u32, SpecError> {
    let root = match s {
        0 => None,
        1 => Some(k),
        _ => (2..=1 << 16).find(|root: &u32| root.checked_pow(s).is_none_or(|power| power >= k)),
    };
    match root {
        Some(arity) if arity.checked_pow(s) == Some(k) => Ok(arity),
        _ => Err(SpecError {
            key: "fabric.topology.s",
            problem: format!(
                "{s}; a line of {k} routers has s stages of switches with as many ports down as its s-th root, which must be a \
                 whole number: take 1, or another k (4, 8 or 16 for s = 2, 3 or 4)"
            ),
        }),
    }
}

/// Routed by Hybrid-DOR: in dimension order, lowest dimension first, over the switches of a line for each in which the coordinates
/// differ, and there by DESTRO.
impl Family for Kns {
    fn candidates(&self, _: RingTie, switch: SwitchId, to: Destination) -> Ports {
        let (at, home) = (switch.get(), to.switch.get());
        let differ = |&d: &u32| self.coordinate_of(at, d) != self.coordinate_of(home, d);
        let port = match self.on_line(at) {
            Some(line) => Some(self.port_along(line, self.coordinate_of(home, line.dimension))),
            None => (0..self.n).find(differ).map(|d| self.concentration + d),
        };
        port.map_or(Ports::NONE, |port| Ports::one(PortId::new(port)))
    }

    fn coordinate(&self, switch: SwitchId, dimension: u32) -> u32 {
        self.coordinate_of(switch.get(), dimension)
    }

    /// The trees of lines have up-ports if they have more than one stage.
    fn has_up_ports(&self) -> bool {
        self.s > 1
    }

    fn can_turn_back(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        let Self {
            k,
            n,
            s,
            concentration,
            ..
        } = self;
        format!("{k}-ary {n}-direct {s}-indirect, concentration {concentration}")
    }

    fn parameters(&self, _: &Cabling) -> FamilyParameters {
        let Self {
            k,
            n,
            s,
            concentration,
            // These follow from the others.
            arity: _,
            stage: _,
        } = *self;
        FamilyParameters::Kns {
            k,
            n,
            s,
            concentration,
        }
    }

    fn place(&self, switch: SwitchId) -> Place {
        match self.on_line(switch.get()) {
            Some(at) if self.s == 1 => Place::Within {
                part: "dimension",
                number: at.dimension,
                position: at.line,
            },
            Some(at) => Place::OnLine {
                dimension: at.dimension,
                line: at.line,
                level: at.level,
                position: at.position,
            },
            None => Place::Coordinates(
                (0..self.n)
                    .map(|d| self.coordinate_of(switch.get(), d))
                    .collect(),
            ),
        }
    }

    /// The planes, or lines, that follow one another in the last dimension.
    fn group(&self, switch: SwitchId) -> Option<u32> {
        let last = self.n.checked_sub(1)?;
        (switch.get() < self.routers()).then(|| self.coordinate_of(switch.get(), last))
    }

    /// Above the routers the switches of the lines, a level for each stage of each dimension.
    fn drawing(&self) -> Drawing {
        let first = |stages: u32| SwitchId::new(self.routers() + stages * self.stage);
        let stages = (0..self.n * self.s).rev();
        let lines = stages.map(|stages| first(stages)..first(stages + 1));
        let routers = SwitchId::new(0)..first(0);
        Drawing::Levels(lines.chain([routers]).collect())
    }

    /// The up-ports within a line.
    fn up_ports(&self, switch: SwitchId) -> Ports {
        match self.on_line(switch.get()) {
            Some(at) if at.level + 1 < self.s => Ports::range(PortId::new(self.arity), self.arity),
            _ => Ports::NONE,
        }
    }

    fn dimension(&self, switch: SwitchId, port: PortId) -> Option<u8> {
        let dimension = match self.on_line(switch.get()) {
            Some(at) => at.dimension,
            None => port.get().checked_sub(self.concentration)?,
        };
        (dimension < self.n).then_some(dimension as u8)
    }

    /// By the coordinate in each dimension; the switches of lines along it come last.
    fn cuts(&self, switches: u32) -> Vec<SwitchOrder> {
        let along = |dimension| {
            let name = format!("along dimension {dimension}");
            SwitchOrder::by(name, switches, |s| self.position_along(s.get(), dimension))
        };
        (0..self.n).map(along).collect()
    }
}

impl Kns {
    /// The coordinate of a router, or of all routers of a line, in `dimension`; k for lines along it.
    fn position_along(&self, switch: u32, dimension: u32) -> u32 {
        let Some(own) = self.on_line(switch) else {
            return self.coordinate_of(switch, dimension);
        };
        match own.dimension.cmp(&dimension) {
            std::cmp::Ordering::Equal => self.k,
            std::cmp::Ordering::Greater => own.line / self.k.pow(dimension) % self.k,
            std::cmp::Ordering::Less => own.line / self.k.pow(dimension - 1) % self.k,
        }
    }
}
