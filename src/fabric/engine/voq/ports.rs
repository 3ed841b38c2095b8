//! The ports of a switch, counted within it, and sets of them, for arbitration: the in-ports that
//! request an output, the outputs that grant an in-port, and the ports at or after a pointer.

use crate::engine::bits::BitSet;
use crate::engine::ids::{InputId, OutputId};
use std::marker::PhantomData;

/// An in-port or an out-port, counted within its switch.
pub(super) trait Port: Copy {
    /// The port with this number, which is below 128.
    fn of(number: u8) -> Self;
    /// The number.
    fn number(self) -> u8;
}

/// An in-port, counted within its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InPort(u8);

/// An out-port, counted within its switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutPort(u8);

/// Makes types of a number ports.
macro_rules! ports {
    ($($name:ident)+) => {$(
        impl Port for $name {
            #[inline(always)]
            fn of(number: u8) -> Self {
                Self(number)
            }

            #[inline(always)]
            fn number(self) -> u8 {
                self.0
            }
        }
    )+};
}

ports!(InPort OutPort);

impl InPort {
    /// No in-port.
    pub(super) const NONE: Self = Self(u8::MAX);

    /// The same port, counted over all switches. `first`: port 0 of the switch.
    #[inline(always)]
    pub(super) fn input(self, first: InputId) -> InputId {
        first.plus(self.0.into())
    }
}

impl OutPort {
    /// The same port, counted over all switches. `first`: port 0 of the switch.
    #[inline(always)]
    pub(super) fn output(self, first: OutputId) -> OutputId {
        first.plus(self.0.into())
    }

    /// `output`, counted within its switch, of which `first` is port 0.
    #[inline(always)]
    pub(super) fn within(output: OutputId, first: OutputId) -> Self {
        Self((output.get() - first.get()) as u8)
    }
}

/// The start of a search once around the ports of a switch: at a port, or behind the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pointer<T> {
    number: u8,
    ports: PhantomData<T>,
}

impl<T: Port> Pointer<T> {
    /// At port 0.
    pub(super) const START: Self = Self {
        number: 0,
        ports: PhantomData,
    };

    /// Behind `port`, which was served last.
    #[inline(always)]
    pub(super) fn behind(port: T) -> Self {
        Self {
            number: port.number() + 1,
            ports: PhantomData,
        }
    }
}

/// A set of ports of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports<T, B> {
    numbers: B,
    ports: PhantomData<T>,
}

impl<T: Port, B: BitSet> Ports<T, B> {
    pub(super) const NONE: Self = Self::of(B::NONE);

    const fn of(numbers: B) -> Self {
        Self {
            numbers,
            ports: PhantomData,
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, port: T) {
        self.numbers.insert(port.number());
    }

    #[inline]
    pub(super) fn remove(&mut self, port: T) {
        self.numbers.remove(port.number());
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.numbers == B::NONE
    }

    /// The lowest port, if there is one.
    #[inline]
    pub(super) fn first(&self) -> Option<T> {
        self.numbers.first().map(T::of)
    }

    /// The port of a set of one port.
    #[inline]
    pub(super) fn only(&self) -> Option<T> {
        let port = self.first()?;
        let mut others = *self;
        others.remove(port);
        others.is_empty().then_some(port)
    }

    /// Removes and returns the lowest port.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        let port = self.first()?;
        self.remove(port);
        Some(port)
    }

    /// The first port at or after `pointer`, once around.
    #[inline]
    pub(super) fn first_from(&self, pointer: Pointer<T>) -> Option<T> {
        let at_or_after = Self::of(self.numbers.at_or_after(pointer.number));
        // No branch: which of the two it is cannot be predicted.
        let ports = if at_or_after.is_empty() {
            *self
        } else {
            at_or_after
        };
        ports.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const W: usize>(ports: &[u8]) {
        let mut set = Ports::<InPort, [u64; W]>::NONE;
        for &port in ports {
            set.insert(InPort(port));
        }
        for pointer in 0..=(64 * W) as u8 {
            let at_or_after = ports.iter().find(|&&port| port >= pointer);
            let from = Pointer {
                number: pointer,
                ports: PhantomData,
            };
            let expected = at_or_after.or(ports.first());
            assert_eq!(
                set.first_from(from).map(InPort::number),
                expected.copied(),
                "{W} {pointer}"
            );
        }
        assert_eq!(
            set.only().map(InPort::number),
            (ports.len() == 1).then(|| ports[0])
        );
        let mut all = Vec::new();
        while let Some(port) = set.pop() {
            all.push(port.number());
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
