//! Reports what each rank waits for when no job can go on.

use super::messages::Messages;
use super::player::Player;
use super::program::{Action, After, Op, RankId};
use super::rank::State;
use super::running::{Instance, Phase};

/// Most lines of a report.
const MOST_LINES: usize = 20;

/// The lines of a report, the first [`MOST_LINES`] of them.
#[derive(Default)]
struct Lines {
    lines: Vec<String>,
    left_out: u64,
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(line());
        } else {
            self.left_out += 1;
        }
    }

    /// The ranks of `job` that wait.
    fn add_ranks(&mut self, job: &Player) {
        let name = &job.name;
        let ranks = RankId::all(job.ranks.len() as u32);
        for (rank, state) in ranks.zip(&job.ranks) {
            let Some(op) = &state.op else { continue };
            let line = op.line;
            match state.state {
                State::Waiting => self.add(|| {
                    let awaited = awaited(job, rank, op);
                    format!("job '{name}': rank {rank} waits for {awaited} (line {line})")
                }),
                State::Sending => self.add(|| {
                    let sent = sent(op);
                    format!(
                        "job '{name}': rank {rank} waits for the end of its send of {sent} (line {line})"
                    )
                }),
                State::Between | State::Computing | State::Ended => {}
            }
        }
    }

    /// The members of collectives of `job` that wait.
    fn add_members(&mut self, job: &Player) {
        let name = &job.name;
        for instance in job.running.instances() {
            for (member, state) in instance.members.iter().enumerate() {
                let rank = instance.collective.members[member];
                let id = instance.collective.id;
                let line = state.line;
                match state.phase {
                    Phase::Waiting { from, .. } => self.add(|| {
                        let partner = partner(instance, from);
                        format!(
                            "job '{name}': rank {rank} waits in collective {id} for {partner} (line {line})"
                        )
                    }),
                    Phase::Sending => self.add(|| {
                        format!(
                            "job '{name}': rank {rank} waits in collective {id} for the end of its \
                             sends (line {line})"
                        )
                    }),
                    Phase::Absent | Phase::Busy | Phase::Done => {}
                }
            }
        }
    }
}

/// A line for everything that waits, jobs and ranks ascending, and a last line that counts
/// the omitted ones.
pub(super) fn report(jobs: &[Player], messages: &Messages) -> Vec<String> {
    let mut lines = Lines::default();
    let mut outstanding = 0;
    // The run does not wait for jobs that repeat until the others end.
    let awaited_jobs = jobs
        .iter()
        .zip(0..)
        .filter(|(job, _)| !job.ended() && !job.endless());
    for (job, number) in awaited_jobs {
        outstanding += messages.outstanding(number);
        lines.add_ranks(job);
        lines.add_members(job);
    }
    let Lines {
        mut lines,
        left_out,
    } = lines;
    if left_out > 0 {
        lines.push(format!("and {left_out} more"));
    }
    if outstanding > 0 {
        lines.push(format!("messages on their way: {outstanding}"));
    }
    lines
}

fn awaited(job: &Player, rank: RankId, op: &Op) -> String {
    match op.after {
        After::Previous => String::from("nothing"),
        After::Sent(id) => format!("its own send of message {id}, which does not come before"),
        After::Received(id) if job.sent.contains(id) => {
            format!("message {id}, which was sent but did not reach it")
        }
        After::Received(id) => format!("message {id}, which nobody has sent"),
        After::Completed(id) => match job.running.instance(id) {
            None => format!("collective {id}, which nobody has entered"),
            Some(instance) => {
                let absent = |state: &&super::running::Member| state.phase == Phase::Absent;
                let missing = instance.members.iter().filter(absent).count();
                let members = instance.members.len();
                let own = job.running.position(rank, id);
                let entered = own.is_some_and(|m| !absent(&&instance.members[m as usize]));
                let which = if entered { "" } else { ", itself among them," };
                match missing {
                    0 => format!("collective {id}, which all {members} members have entered"),
                    _ => format!(
                        "collective {id}, which {missing} of {members} members{which} have not entered"
                    ),
                }
            }
        },
    }
}

fn sent(op: &Op) -> String {
    match op.action {
        Action::Send { id, to, .. } => format!("message {id} to rank {to}"),
        Action::Marker { .. } | Action::Collective(..) => String::from("a message"),
    }
}

fn partner(instance: &Instance, from: u32) -> String {
    let rank = instance.collective.members[from as usize];
    match instance.members[from as usize].phase {
        Phase::Absent => format!("rank {rank}, which has not entered it"),
        _ => format!("rank {rank}"),
    }
}
