//! The requests of a rank. A number is no name of an operation: an MPI library may give one number to several sends in flight,
//! and gives it again when they are complete.

use flitwise_formats::dumpi::Request;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// Operations behind one number that are remembered: the operations in front of these were completed by calls that the
/// recorder left out.
const MOST_BEHIND_ONE: usize = 1 << 16;

/// Operations under way by number, each with what is kept of it, and persistent requests.
pub(super) struct Requests<T, P> {
    active: HashMap<Request, Queue<T>>,
    persistent: HashMap<Request, P>,
}

struct Queue<T> {
    /// In the order in which they started.
    operations: VecDeque<T>,
    /// One of them is a receive: then it is the only one.
    receives: bool,
}

impl<T, P> Default for Requests<T, P> {
    fn default() -> Self {
        Self {
            active: HashMap::new(),
            persistent: HashMap::new(),
        }
    }
}

impl<T, P> Requests<T, P> {
    /// Starts an operation that is not persistent. Returns the operations that must be complete, because another
    /// operation now uses their number.
    pub fn start(&mut self, request: Request, receives: bool, operation: T) -> Vec<T> {
        self.persistent.remove(&request);
        self.start_persistent(request, receives, operation)
    }

    /// The same of a persistent request.
    pub fn start_persistent(&mut self, request: Request, receives: bool, operation: T) -> Vec<T> {
        let queue = self.active.entry(request).or_insert_with(|| Queue {
            operations: VecDeque::new(),
            receives,
        });
        // Only sends share a number.
        let mut over = Vec::new();
        if queue.receives || receives {
            over.extend(queue.operations.drain(..));
        } else if queue.operations.len() >= MOST_BEHIND_ONE {
            over.extend(queue.operations.pop_front());
        }
        queue.receives = receives;
        queue.operations.push_back(operation);
        over
    }

    /// The number gets a persistent request. Returns the operations that must be complete.
    pub fn make_persistent(&mut self, request: Request, kept: P) -> Vec<T> {
        self.persistent.insert(request, kept);
        let before = self.active.remove(&request);
        before.map_or_else(Vec::new, |queue| queue.operations.into())
    }

    /// The facts kept about a persistent request.
    pub fn persistent(&self, request: Request) -> Option<&P> {
        self.persistent.get(&request)
    }

    /// A call completes, or frees, an operation with this number: the one that started first.
    pub fn take(&mut self, request: Request) -> Option<T> {
        let queue = self.active.get_mut(&request)?;
        let first = queue.operations.pop_front();
        if queue.operations.is_empty() {
            self.active.remove(&request);
        }
        first
    }

    /// The same, and a persistent request is gone.
    pub fn free(&mut self, request: Request) -> Option<T> {
        self.persistent.remove(&request);
        self.take(request)
    }

    /// The operation that [`take`](Self::take) would return.
    pub fn first_mut(&mut self, request: Request) -> Option<&mut T> {
        self.active.get_mut(&request)?.operations.front_mut()
    }

    /// All operations, in no particular order.
    pub fn into_operations(self) -> impl Iterator<Item = T> {
        self.active.into_values().flat_map(|queue| queue.operations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_share_a_number_and_receives_do_not() {
        let mut requests: Requests<u32, ()> = Requests::default();
        let [shared, own] = [34, 35].map(Request);
        assert!(requests.start(shared, false, 1).is_empty());
        assert!(requests.start(shared, false, 2).is_empty());
        assert!(requests.start(own, true, 3).is_empty());
        assert_eq!(requests.take(shared), Some(1));
        // A receive takes a number in use, so the operation that had it is over.
        assert_eq!(requests.start(shared, true, 4), [2]);
        assert_eq!(requests.start(own, false, 5), [3]);
        assert_eq!(
            (requests.take(shared), requests.take(shared)),
            (Some(4), None)
        );
        assert_eq!(requests.take(own), Some(5));
    }

    #[test]
    fn a_persistent_request_stays_until_it_is_freed_or_its_number_is_given_again() {
        let mut requests: Requests<u32, char> = Requests::default();
        let number = Request(7);
        assert!(requests.make_persistent(number, 'a').is_empty());
        for operation in [1, 2] {
            assert!(
                requests
                    .start_persistent(number, true, operation)
                    .is_empty()
            );
            assert_eq!(requests.take(number), Some(operation));
            assert_eq!(requests.persistent(number), Some(&'a'));
        }
        requests.start(number, false, 3);
        assert_eq!(requests.persistent(number), None);
        assert_eq!(requests.make_persistent(number, 'b'), [3]);
        requests.start_persistent(number, false, 4);
        assert_eq!(
            (requests.free(number), requests.persistent(number)),
            (Some(4), None)
        );
    }
}
