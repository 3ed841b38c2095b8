//! A small table by flow, in order.

use crate::ids::NicId;

/// A flow of a buffer: the VL on which packets come, and their destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Flow {
    vl: u8,
    dst: NicId,
}

impl Flow {
    #[inline]
    pub(in super::super) fn new(vl: u8, dst: NicId) -> Self {
        Self { vl, dst }
    }

    #[inline]
    pub(in super::super) fn vl(self) -> usize {
        self.vl.into()
    }
}

/// A table of some flows. It takes memory for these only.
#[derive(Debug)]
pub(in super::super) struct FlowTable<T>(Vec<(Flow, T)>);

impl<T> Default for FlowTable<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> FlowTable<T> {
    fn place(&self, flow: Flow) -> Result<usize, usize> {
        self.0.binary_search_by_key(&flow, |&(flow, _)| flow)
    }

    #[inline]
    pub(in super::super) fn get(&self, flow: Flow) -> Option<&T> {
        self.place(flow).ok().map(|at| &self.0[at].1)
    }

    #[inline]
    pub(in super::super) fn get_mut(&mut self, flow: Flow) -> Option<&mut T> {
        self.place(flow).ok().map(|at| &mut self.0[at].1)
    }

    /// The entry of `flow`; adds it if there is none.
    #[inline]
    pub(in super::super) fn entry(&mut self, flow: Flow) -> &mut T
    where
        T: Default,
    {
        let at = match self.place(flow) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (flow, T::default()));
                at
            }
        };
        &mut self.0[at].1
    }

    pub(in super::super) fn remove(&mut self, flow: Flow) -> Option<T> {
        self.place(flow).ok().map(|at| self.0.remove(at).1)
    }

    pub(in super::super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }
}
