//! Phases 5 and 6 with an allocator other than one iteration of iSLIP (`docs/model/infiniband.md` §6).
//! All other fabrics have both phases in `crossbar`.

use super::Fabric;
use super::ports::{InPort, Pointer, Ports};
use crate::engine::probe::Obstacle;
use crate::engine::variant::Variant;
use crate::spec::voq::{AllocationRule, Allocator};

/// An iteration of a tick.
#[derive(Debug, Clone, Copy)]
struct Iteration {
    is_first: bool,
    is_last: bool,
}

impl<V: Variant> Fabric<V> {
    /// Phases 5 and 6: outputs that are refused grant again, as often as there are iterations.
    #[inline(never)]
    pub(super) fn allocate(&mut self, allocator: Allocator) {
        for number in 1..=allocator.iterations {
            let iteration = Iteration {
                is_first: number == 1,
                is_last: number == allocator.iterations,
            };
            if iteration.is_first {
                self.grant()
            } else {
                self.grant_again()
            }
            self.accept_in(iteration, allocator.rule);
            if self.work.dirty_outputs.is_empty() {
                return;
            }
        }
    }

    /// As `accept`. Only the first iteration moves the pointers.
    fn accept_in(&mut self, iteration: Iteration, rule: AllocationRule) {
        for i in 0..self.work.granted_inputs.len() {
            let input = self.work.granted_inputs[i];
            let state = &mut self.switches.inputs[input];
            let mut grants = std::mem::replace(&mut state.grants, Ports::NONE);
            let (first_output, in_port, pointer) =
                (state.first_output, state.in_port, state.pointer);
            let Some(accepted) = grants.first_from(pointer) else {
                continue;
            };
            grants.remove(accepted);
            while let Some(refused) = grants.pop() {
                let output = refused.output(first_output);
                let now = self.kernel.now;
                let port = &mut self.outputs[output];
                port.granted_to = InPort::NONE;
                let vl = port.grant.vl;
                let observers = &mut self.kernel.observers;
                observers.blocked(now, output, 1 << vl, Obstacle::Arbiter);
                if iteration.is_first && rule == AllocationRule::RoundRobin {
                    self.links.vl_mut(output, vl).pointer = Pointer::behind(in_port);
                }
                if iteration.is_last {
                    self.wake_output(output, now + 1)
                } else {
                    self.work.dirty_outputs.push(output)
                }
            }
            let output = accepted.output(first_output);
            let vl = self.outputs[output].grant.vl;
            let of_output = self.links.vl(output, vl).pointer;
            self.start_crossing(input, output);
            if iteration.is_last {
                self.pass_turns(input, Self::look_later);
            } else {
                self.pass_turns(input, |fabric, output| {
                    fabric.work.dirty_outputs.push(output);
                });
            }
            if !iteration.is_first {
                self.switches.inputs[input].pointer = pointer;
                self.links.vl_mut(output, vl).pointer = of_output;
            }
        }
        self.work.granted_inputs.clear();
    }
}
