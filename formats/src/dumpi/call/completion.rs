//! The results of waits, tests and probes.

use super::{Call, Function};
use crate::dumpi::handle::Request;
use crate::dumpi::wire::{Array, Status, Statuses};

impl Function {
    /// True for the functions whose calls [may find nothing](Call::found_nothing).
    #[must_use]
    pub fn is_poll(self) -> bool {
        matches!(
            self.name(),
            "MPI_Test"
                | "MPI_Testall"
                | "MPI_Testany"
                | "MPI_Testsome"
                | "MPI_Iprobe"
                | "MPI_Request_get_status"
        )
    }
}

impl Call<'_> {
    /// Shows `see` each request that the call found complete, with its status if the program asked for it. A request that
    /// was not active may be among them.
    pub fn completed(&self, see: &mut dyn FnMut(Request, Option<Status>)) {
        match self {
            Self::Wait(c) => see(c.request, c.status.first()),
            Self::Test(c) if c.flag != 0 => see(c.request, c.status.first()),
            Self::Waitall(c) => all(&c.requests, &c.statuses, see),
            Self::Testall(c) if c.flag != 0 => all(&c.requests, &c.statuses, see),
            Self::Waitany(c) => at(&c.requests, c.index, c.status.first(), see),
            Self::Testany(c) if c.flag != 0 => at(&c.requests, c.index, c.status.first(), see),
            Self::Waitsome(c) | Self::Testsome(c) => {
                let found = usize::try_from(c.outcount).unwrap_or(0);
                let mut statuses = c.statuses.iter();
                for index in c.indices.iter().take(found) {
                    at(&c.requests, index, statuses.next(), see);
                }
            }
            _ => {}
        }
    }

    /// True for calls that look whether something has come and return whether or not it has.
    #[must_use]
    pub fn is_poll(&self) -> bool {
        matches!(
            self,
            Self::Test(_)
                | Self::Testall(_)
                | Self::Testany(_)
                | Self::Testsome(_)
                | Self::Iprobe(_)
                | Self::RequestGetStatus(_)
        )
    }

    /// True if the call is such a one and found nothing.
    #[must_use]
    pub fn found_nothing(&self) -> bool {
        match self {
            Self::Test(c) | Self::RequestGetStatus(c) => c.flag == 0,
            Self::Testall(c) => c.flag == 0,
            Self::Testany(c) => c.flag == 0,
            Self::Testsome(c) => c.outcount <= 0,
            Self::Iprobe(c) => c.flag == 0,
            _ => false,
        }
    }
}

fn all(
    requests: &Array<'_, Request>,
    statuses: &Statuses<'_>,
    see: &mut dyn FnMut(Request, Option<Status>),
) {
    let mut statuses = statuses.iter();
    for request in requests.iter() {
        see(request, statuses.next());
    }
}

/// The request at `index`, which is negative if there is none.
fn at(
    requests: &Array<'_, Request>,
    index: i32,
    status: Option<Status>,
    see: &mut dyn FnMut(Request, Option<Status>),
) {
    let request = usize::try_from(index).ok().and_then(|i| requests.get(i));
    if let Some(request) = request {
        see(request, status);
    }
}
