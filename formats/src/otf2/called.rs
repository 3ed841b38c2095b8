//! Kinds of regions: MPI functions, told by their names, and computation.

use crate::recording::Operation;

/// The kind of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Called {
    /// No function of MPI: its time is computation.
    Computation,
    /// A function of MPI whose events say all.
    Mpi,
    /// A send that completes when it is matched.
    Synchronous,
    /// A send with a buffer of its own.
    Buffered,
    /// A function that looks for something and does not wait.
    Poll,
    /// `MPI_Request_free`.
    RequestFree,
    /// A function of files: its time is neither computation nor communication.
    File,
    /// A function that communicates and of which some recorders write no event.
    Silent,
}

const ONE_SIDED: [&str; 6] = [
    "Put",
    "Get",
    "Accumulate",
    "Get_accumulate",
    "Fetch_and_op",
    "Compare_and_swap",
];
const REQUEST_BASED: [&str; 4] = ["Rput", "Rget", "Raccumulate", "Rget_accumulate"];
const PROCESSES: [&str; 5] = [
    "Comm_spawn",
    "Comm_spawn_multiple",
    "Comm_accept",
    "Comm_connect",
    "Comm_join",
];

impl Called {
    /// The kind of the region of this name; `is_mpi` if the recorder says that it is a function of MPI.
    #[must_use]
    pub fn of(name: &str, is_mpi: bool) -> Self {
        let function = name
            .strip_prefix("MPI_")
            .or_else(|| name.strip_prefix("PMPI_"));
        let Some(function) = function else {
            return if is_mpi { Self::Mpi } else { Self::Computation };
        };
        // The large-count functions of MPI-4.
        let function = function.strip_suffix("_c").unwrap_or(function);
        match function {
            "Ssend" | "Issend" => Self::Synchronous,
            "Bsend" | "Ibsend" => Self::Buffered,
            "Test"
            | "Testall"
            | "Testany"
            | "Testsome"
            | "Iprobe"
            | "Improbe"
            | "Request_get_status"
            | "Request_get_status_all"
            | "Request_get_status_any"
            | "Request_get_status_some" => Self::Poll,
            "Request_free" => Self::RequestFree,
            _ if function.starts_with("File_") => Self::File,
            _ if is_silent(function) => Self::Silent,
            _ => Self::Mpi,
        }
    }

    /// True if it is a function of MPI.
    #[must_use]
    pub fn is_mpi(self) -> bool {
        self != Self::Computation
    }
}

fn is_silent(function: &str) -> bool {
    let immediate = function.strip_prefix('I');
    immediate.is_some_and(|name| Operation::named(name).is_some())
        || function.starts_with("Neighbor_")
        || function.starts_with("Ineighbor_")
        || ONE_SIDED.contains(&function)
        || REQUEST_BASED.contains(&function)
        || PROCESSES.contains(&function)
        || matches!(function, "Mrecv" | "Imrecv")
}

#[cfg(test)]
mod tests {
    use super::Called::{self, *};

    #[test]
    fn functions_are_known_by_their_names() {
        for (name, is_mpi, expected) in [
            ("main", false, Computation),
            ("MPI_Send", true, Mpi),
            ("MPI_Send", false, Mpi),
            ("!$omp parallel", false, Computation),
            ("wrapper", true, Mpi),
            ("PMPI_Issend", true, Synchronous),
            ("MPI_Bsend_c", true, Buffered),
            ("MPI_Testsome", true, Poll),
            ("MPI_File_read_at", true, File),
            ("MPI_Ialltoallv", true, Silent),
            ("MPI_Irecv", true, Mpi),
            ("MPI_Isendrecv", true, Mpi),
            ("MPI_Neighbor_alltoall", true, Silent),
            ("MPI_Request_free", true, RequestFree),
        ] {
            assert_eq!(Called::of(name, is_mpi), expected, "{name}");
        }
    }
}
