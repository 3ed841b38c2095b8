//! Checks at the end of the trace: the counts in the header, and records that can't start.

use std::sync::Arc;

use flitwise_base::place::Problem;

use super::groups::Rule;
use super::observer::Observer;
use super::order::Event;
use super::{Check, Checker};

/// Most links of a cycle that an error message lists.
const MAX_LINKS: usize = 8;

impl<O: Observer> Checker<O> {
    /// Makes the checks that need the end of the file. `ignored_traffic` comes from
    /// [`Reader::ignored_traffic`].
    ///
    /// [`Reader::ignored_traffic`]: crate::vef::Reader::ignored_traffic
    #[must_use]
    pub fn finish(mut self, ignored_traffic: Option<u64>) -> (Check, O) {
        if let Some(line) = ignored_traffic {
            self.warning(line, "VEF has no traffic bit (4) in Dep: ignored");
        }
        self.check.collectives = self.order.groups.count;
        self.counts();
        self.dangling();
        self.incomplete();
        // Wrong references are reported at their lines and must not look like cycles.
        self.order.run_all(&self.comms);
        self.stuck();
        self.check.awaited = Arc::new(self.order.ids.awaited());
        (self.check, self.order.observer)
    }

    /// Ends at text that is not VEF; the rest of the file is not checked.
    #[must_use]
    pub fn unreadable(mut self, problem: Problem) -> (Check, O) {
        self.check.errors.add(|| problem);
        (self.check, self.order.observer)
    }

    fn counts(&mut self) {
        let h = &self.check.header;
        let c = &self.check;
        let rows = [
            (
                "messages (point-to-point lines)",
                h.messages,
                c.messages + c.markers,
            ),
            ("collectives", h.collectives, c.collectives),
            ("collective lines", h.members, c.members),
        ];
        for (what, said, found) in rows {
            if said != found {
                let cure = if found < said {
                    "the file is cut short or its header wrong"
                } else {
                    "its header is wrong"
                };
                self.error(
                    1,
                    format!("the header announces {said} {what}, the file has {found}: {cure}"),
                );
            }
        }
    }

    fn dangling(&mut self) {
        let forward = std::mem::take(&mut self.forward);
        let mut all: Vec<(u64, u64)> = Vec::new();
        for (id, references) in forward {
            self.order.waived.insert(id);
            all.extend(references.iter().map(|r| (r.line, id)));
        }
        all.sort_unstable();
        for (line, id) in all {
            self.error(
                line,
                format!("IDdep names message {id}, which the file does not have"),
            );
        }
        self.order.run_all(&self.comms);
    }

    fn incomplete(&mut self) {
        let live = self.order.groups.live.iter();
        let mut open: Vec<u64> = live
            .filter(|(_, l)| l.rule.is_none())
            .map(|(&g, _)| g)
            .collect();
        open.sort_unstable();
        for g in open {
            let Some(live) = self.order.groups.live.get(&g) else {
                continue;
            };
            let Some(comm) = self.comms.get(live.gathering.comm() as usize) else {
                continue;
            };
            if let Err((line, text)) = live.gathering.resolve(g, comm) {
                self.error(line, text);
            }
            self.order.settle(g, Rule::Waived, &self.comms);
        }
    }

    /// Reports cycles: follows, from each stuck task, the task it waits for.
    fn stuck(&mut self) {
        if self.order.waiting == 0 {
            return;
        }
        let members = self.order.stuck_members();
        // Number of the walk that met a task; 0: none.
        let mut met = vec![0u32; self.order.queues.len()];
        for start in 0..self.order.queues.len() as u32 {
            let walk = start + 1;
            let mut path = Vec::new();
            let mut at = Some(start).filter(|&t| self.first(t).is_some());
            while let Some(task) = at {
                match met.get_mut(task as usize) {
                    Some(seen) if *seen == 0 => *seen = walk,
                    Some(seen) if *seen == walk => {
                        let from = path.iter().position(|&t| t == task).unwrap_or(0);
                        self.cycle(&path[from..]);
                        break;
                    }
                    _ => break,
                }
                path.push(task);
                at = self.order.blocker(task, &members);
                if at.is_none_or(|t| self.first(t).is_none()) {
                    self.never(task);
                    break;
                }
            }
        }
        let waiting = self.order.waiting;
        self.error(
            1,
            format!("{waiting} records can never start, because of the cycles named above"),
        );
    }

    fn first(&self, task: u32) -> Option<(u64, Event)> {
        let first = self.order.queues.get(task as usize)?.front()?;
        Some((first.line, first.after))
    }

    fn never(&mut self, task: u32) {
        if let Some((line, after)) = self.first(task) {
            let awaited = awaited(after);
            self.error(
                line,
                format!("the record can never start: it waits for {awaited}"),
            );
        }
    }

    fn cycle(&mut self, tasks: &[u32]) {
        let mut links = Vec::new();
        for &task in tasks.iter().take(MAX_LINKS) {
            if let Some((line, after)) = self.first(task) {
                let awaited = awaited(after);
                links.push(format!("task {task} (line {line}) waits for {awaited}"));
            }
        }
        if tasks.len() > MAX_LINKS {
            links.push(format!("and {} more", tasks.len() - MAX_LINKS));
        }
        let line = tasks
            .iter()
            .filter_map(|&t| self.first(t))
            .map(|f| f.0)
            .min();
        let text = links.join(", ");
        self.error(line.unwrap_or(1), format!("dependency cycle: {text}"));
    }
}

fn awaited(event: Event) -> String {
    match event {
        Event::Nothing => "nothing".into(),
        Event::Message(id) => format!("message {id}"),
        Event::Collective(g) => format!("collective G{g}"),
    }
}
