//! Sets of ports of a switch, for arbitration: the in-ports that request an output, the outputs that
//! grant an in-port, and the ports at or after a pointer.

/// A set of up to 64 · `W` ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports<const W: usize>([u64; W]);

impl<const W: usize> Ports<W> {
    pub(super) const NONE: Self = Self([0; W]);

    /// All ports from `pointer` on, which may be one more than the highest port.
    #[inline]
    pub(super) fn from(pointer: u8) -> Self {
        let (word, bit) = match W {
            1 => (0, pointer),
            _ => (usize::from(pointer / 64), pointer % 64),
        };
        let mut words = [0; W];
        for (at, bits) in words.iter_mut().enumerate() {
            if at == word {
                // Two shifts: a single one would overflow at bit 64.
                *bits = (u64::MAX << (bit / 2)) << (bit - bit / 2);
            } else if at > word {
                *bits = u64::MAX;
            }
        }
        Self(words)
    }

    #[inline]
    fn word_and_bit(port: u8) -> (usize, u64) {
        let word = if W == 1 { 0 } else { usize::from(port / 64) };
        (word, 1 << (port % 64))
    }

    #[inline]
    pub(super) fn insert(&mut self, port: u8) {
        let (word, bit) = Self::word_and_bit(port);
        self.0[word] |= bit;
    }

    #[inline]
    pub(super) fn remove(&mut self, port: u8) {
        let (word, bit) = Self::word_and_bit(port);
        self.0[word] &= !bit;
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0 == [0; W]
    }

    /// The lowest port, if there is one.
    #[inline]
    pub(super) fn first(&self) -> Option<u8> {
        let words = self.0.iter().enumerate();
        for (at, bits) in words {
            if *bits != 0 {
                return Some((64 * at) as u8 + bits.trailing_zeros() as u8);
            }
        }
        None
    }

    /// The port of a set of one port.
    #[inline]
    pub(super) fn only(&self) -> Option<u8> {
        let port = self.first()?;
        let mut others = *self;
        others.remove(port);
        others.is_empty().then_some(port)
    }

    /// Removes and returns the lowest port.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u8> {
        let port = self.first()?;
        self.remove(port);
        Some(port)
    }

    /// The first port at or after `pointer`, once around.
    #[inline]
    pub(super) fn first_from(&self, pointer: u8) -> Option<u8> {
        let mut at_or_after = Self::from(pointer);
        for (bits, other) in at_or_after.0.iter_mut().zip(self.0) {
            *bits &= other;
        }
        // No branch: which of the two it is cannot be predicted.
        let ports = match at_or_after.is_empty() {
            true => *self,
            false => at_or_after,
        };
        ports.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const W: usize>(ports: &[u8]) {
        let mut set = Ports::<W>::NONE;
        for &port in ports {
            set.insert(port);
        }
        for pointer in 0..=(64 * W) as u8 {
            let at_or_after = ports.iter().find(|&&port| port >= pointer);
            let expected = at_or_after.or(ports.first());
            assert_eq!(set.first_from(pointer).as_ref(), expected, "{W} {pointer}");
        }
        assert_eq!(set.only(), (ports.len() == 1).then(|| ports[0]));
        let mut all = Vec::new();
        while let Some(port) = set.pop() {
            all.push(port);
        }
        assert_eq!(all, ports);
        assert!(set.is_empty());
    }

    #[test]
    fn ports_are_found_once_around() {
        check::<1>(&[0, 3, 4, 40, 63]);
        check::<1>(&[17]);
        check::<2>(&[5, 63, 64, 100, 127]);
        check::<2>(&[127]);
    }
}
