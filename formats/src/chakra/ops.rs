//! The operations that the nodes of a rank become.

use hashbrown::HashMap;

use super::rank::{COMMUNICATION, Draft, NOTHING};
use crate::goal::{Builder, Dependency, DependencyKind, Op, Task};

/// The operations of the nodes of a rank so far. Methods return `None` when the rank is full.
#[derive(Default)]
pub(super) struct Ops {
    /// By node: its first operation. The last one ends when the node does, the others start when it does.
    firsts: Vec<u32>,
    /// Operations so far.
    count: u32,
    /// By group: its collective so far. The collectives of a group start in the order of the file.
    collectives: HashMap<u32, u32>,
    dependencies: Vec<Dependency>,
}

impl Ops {
    /// Adds a node that carries out `tasks` at once. Behind several of them comes an operation that waits for all.
    pub fn add(&mut self, builder: &mut Builder, draft: &Draft, tasks: &[Task]) -> Option<()> {
        self.firsts.push(self.count);
        for task in tasks {
            let of = self.op(builder, draft, *task, draft.cpu)?;
            if let Task::Collective { group, .. } = *task
                && let Some(on) = self.collectives.insert(group, of)
            {
                let kind = DependencyKind::Started;
                self.dependencies.push(Dependency { of, on, kind });
            }
        }
        if tasks.len() > 1 {
            let parts = self.count - tasks.len() as u32..self.count;
            let of = self.op(builder, draft, NOTHING, COMMUNICATION)?;
            self.dependencies.extend(parts.map(|on| after(of, on)));
        }
        Some(())
    }

    fn op(&mut self, builder: &mut Builder, draft: &Draft, task: Task, cpu: u8) -> Option<u32> {
        let op = Op { task, cpu, nic: 0 };
        self.count += 1;
        builder.op_at(op, draft.at).ok()
    }

    /// Adds the dependencies: those within nodes, and `edges`, the nodes that wait with the nodes that they wait for.
    pub fn finish(mut self, builder: &mut Builder, edges: &[(u32, u32)]) -> Option<()> {
        self.firsts.push(self.count);
        let of_node = |node: u32| {
            let first = *self.firsts.get(node as usize)?;
            let next = *self.firsts.get(node as usize + 1)?;
            Some((first, next - 1))
        };
        for &(of, on) in edges {
            let ((first, last), (_, on)) = (of_node(of)?, of_node(on)?);
            // The last of several operations waits for the others alone.
            for of in first..last.max(first + 1) {
                builder.dependency(after(of, on)).ok()?;
            }
        }
        for dependency in self.dependencies {
            builder.dependency(dependency).ok()?;
        }
        Some(())
    }
}

/// `of` starts when `on` is done.
fn after(of: u32, on: u32) -> Dependency {
    let kind = DependencyKind::Done;
    Dependency { of, on, kind }
}
