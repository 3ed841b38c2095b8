//! Checks that each dependency names something that its task can wait for.

use super::Checker;
use super::ids::{Ends, Known};
use super::observer::Observer;
use super::order::Event;
use crate::vef::record::{Dep, DepId, DepKind, Record};

/// A dependency on a message: the task, the line and the kind.
#[derive(Clone, Copy)]
pub(super) struct Reference {
    pub line: u64,
    pub task: u32,
    pub kind: DepKind,
}

impl<O: Observer> Checker<O> {
    /// Checks the dependency of a record.
    pub(super) fn dependency(&mut self, line: u64, record: &Record) -> Event {
        let (dep, after) = record.dep();
        let task = record.task();
        if dep.0 > Dep::MAX {
            self.error(line, format!("Dep {} is unknown: the largest is 7", dep.0));
            return Event::Nothing;
        }
        match (dep.kind(), after) {
            (DepKind::Start, DepId::None) => Event::Nothing,
            (kind @ (DepKind::Sent | DepKind::Received), DepId::Message(id)) => {
                let reference = Reference { line, task, kind };
                match self.order.ids.known(id) {
                    Known::Ends(ends) => {
                        if !self.ends(reference, id, ends) {
                            return Event::Nothing;
                        }
                    }
                    Known::Forgotten => {
                        self.check.unverified += 1;
                        self.awaits(reference, id);
                    }
                    Known::Unseen => {
                        self.check.forward += 1;
                        self.forward.entry(id).or_default().push(reference);
                    }
                }
                Event::Message(id)
            }
            (DepKind::Completed, DepId::Collective(g)) => {
                if self.order.groups.entered_by(g, task, &self.positions) {
                    return Event::Collective(g);
                }
                self.error(
                    line,
                    format!(
                        "task {task} waits for collective G{g}, which it has not entered before"
                    ),
                );
                Event::Nothing
            }
            (kind, _) => {
                let expected = match kind {
                    DepKind::Start => "-1",
                    DepKind::Sent | DepKind::Received => "a message ID",
                    DepKind::Completed => "a collective, G<number>,",
                };
                let dep = dep.0;
                self.error(line, format!("Dep {dep} needs {expected} as IDdep"));
                Event::Nothing
            }
        }
    }

    /// Checks a dependency on a message whose ends are known.
    pub(super) fn ends(&mut self, r: Reference, id: u64, ends: Ends) -> bool {
        let Reference { line, task, kind } = r;
        let text = match (kind, ends.dst()) {
            (DepKind::Received, Some(dst)) if dst == task => {
                self.awaits(r, id);
                return true;
            }
            (DepKind::Received, Some(dst)) => {
                format!("task {task} waits to receive message {id}, which goes to task {dst}")
            }
            (DepKind::Received, None) => {
                format!(
                    "task {task} waits to receive record {id}, which is a marker: it is never sent"
                )
            }
            _ if ends.src == task => return true,
            _ => {
                let src = ends.src;
                format!("task {task} depends on sending message {id}, which task {src} sends")
            }
        };
        self.error(line, text);
        false
    }

    fn awaits(&mut self, r: Reference, id: u64) {
        if r.kind == DepKind::Received {
            self.order.ids.awaits(id);
        }
    }
}
