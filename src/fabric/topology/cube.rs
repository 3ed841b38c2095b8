//! n-dimensional torus and mesh with concentration and trunks.

use super::{Shape, Topology, host_count, invalid};
use crate::fabric::spec::SpecError;

/// Parameters of a torus or mesh. Dimension 0 varies fastest in switch ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cube {
    dimensions: Vec<u32>,
    wrap: bool,
    concentration: u32,
    trunk: u32,
}

/// Direction of a link within its dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Towards the higher coordinate.
    Plus,
    /// Towards the lower coordinate.
    Minus,
}

impl Cube {
    pub(super) fn build(
        dimensions: &[u32],
        wrap: bool,
        concentration: u32,
        trunk: u32,
        hosts: Option<u32>,
    ) -> Result<Topology, SpecError> {
        if dimensions.is_empty() || dimensions.iter().any(|&k| k < 2) {
            return Err(invalid(format!(
                "dimensions {dimensions:?}: at least one, each of 2 or more switches"
            )));
        }
        if concentration == 0 || trunk == 0 {
            return Err(invalid("concentration and trunk must be at least 1".into()));
        }
        let switches = dimensions
            .iter()
            .try_fold(1u64, |n, &k| n.checked_mul(k.into()))
            .filter(|&n| n <= u64::from(u32::MAX))
            .ok_or_else(|| {
                invalid(format!(
                    "dimensions {dimensions:?} make more than 2^32 switches; take a smaller fabric"
                ))
            })?;
        let cube = Self {
            dimensions: dimensions.to_vec(),
            wrap,
            concentration,
            trunk,
        };
        let slots = switches.saturating_mul(concentration.into());
        let nics = host_count(slots, hosts)?;
        let ports = u64::from(concentration) + 2 * dimensions.len() as u64 * u64::from(trunk);
        let mut topology = Topology::unconnected(Shape::Cube(cube.clone()), switches, ports, nics)?;
        for nic in 0..nics as u32 {
            topology.attach_next(nic / concentration, nic % concentration);
        }
        for switch in 0..switches as u32 {
            for (dimension, &size) in dimensions.iter().enumerate() {
                if !wrap && cube.coordinate(switch, dimension) + 1 == size {
                    continue;
                }
                let next = cube.neighbour_plus(switch, dimension);
                for i in 0..trunk {
                    topology.connect(
                        (switch, cube.port(dimension, Direction::Plus, i)),
                        (next, cube.port(dimension, Direction::Minus, i)),
                    );
                }
            }
        }
        Ok(topology)
    }

    /// Switches along each dimension.
    #[must_use]
    pub fn dimensions(&self) -> &[u32] {
        &self.dimensions
    }

    /// True for a torus.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wrap
    }

    /// NIC ports per switch.
    #[must_use]
    pub fn concentration(&self) -> u32 {
        self.concentration
    }

    /// Parallel links between neighbours.
    #[must_use]
    pub fn trunk(&self) -> u32 {
        self.trunk
    }

    /// Coordinate of `switch` in `dimension`.
    #[must_use]
    pub fn coordinate(&self, switch: u32, dimension: usize) -> u32 {
        let below: u32 = self.dimensions[..dimension].iter().product();
        switch / below % self.dimensions[dimension]
    }

    /// Port of trunk link `index` in `direction` of `dimension`.
    #[must_use]
    pub fn port(&self, dimension: usize, direction: Direction, index: u32) -> u32 {
        let side = 2 * dimension as u32 + u32::from(direction == Direction::Minus);
        self.concentration + side * self.trunk + index
    }

    /// Dimension, direction and trunk index of a link port; `None` for NIC
    /// ports and surplus ports.
    #[must_use]
    pub fn link_of(&self, port: u32) -> Option<(usize, Direction, u32)> {
        let link = port.checked_sub(self.concentration)?;
        let (side, index) = (link / self.trunk, link % self.trunk);
        let direction = if side % 2 == 0 {
            Direction::Plus
        } else {
            Direction::Minus
        };
        let dimension = (side / 2) as usize;
        (dimension < self.dimensions.len()).then_some((dimension, direction, index))
    }

    /// True if the link that leaves `switch` through `port` closes a ring.
    #[must_use]
    pub fn is_wrap_link(&self, switch: u32, port: u32) -> bool {
        let Some((dimension, direction, _)) = self.link_of(port) else {
            return false;
        };
        let coordinate = self.coordinate(switch, dimension);
        self.wrap
            && match direction {
                Direction::Plus => coordinate + 1 == self.dimensions[dimension],
                Direction::Minus => coordinate == 0,
            }
    }

    fn neighbour_plus(&self, switch: u32, dimension: usize) -> u32 {
        let below: u32 = self.dimensions[..dimension].iter().product();
        if self.coordinate(switch, dimension) + 1 == self.dimensions[dimension] {
            switch - below * (self.dimensions[dimension] - 1)
        } else {
            switch + below
        }
    }
}
