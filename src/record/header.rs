//! The functions that `mpi.h` declares, of those that are recorded by name only.

/// Prefixes of the functions of one-sided communication, files and dynamic processes.
const OUTSIDE: [&str; 14] = [
    "MPI_Accumulate",
    "MPI_Comm_accept",
    "MPI_Comm_connect",
    "MPI_Comm_join",
    "MPI_Comm_spawn",
    "MPI_Compare_and_swap",
    "MPI_Fetch_and_op",
    "MPI_File_",
    "MPI_Get_accumulate",
    "MPI_Put",
    "MPI_Raccumulate",
    "MPI_Rget",
    "MPI_Rput",
    "MPI_Win_",
];
/// Parts of the names of functions that only ask or describe.
const LOCAL: [&str; 7] = [
    "_attr",
    "_errhandler",
    "_group",
    "_info",
    "_keyval",
    "_name",
    "c2f",
];

/// Writes `OUTSIDE(name, (parameters), (arguments))` for each function of a preprocessed `mpi.h` that moves data, but
/// cannot be replayed.
pub(super) fn outside(header: &str) -> String {
    let lines = header.lines().filter(|line| !line.starts_with('#'));
    let text: String = lines.flat_map(|line| [line, " "]).collect();
    let mut seen = std::collections::BTreeMap::new();
    for declaration in text.split(';') {
        if let Some((name, parameters)) = function(declaration) {
            seen.insert(name, parameters);
        }
    }
    let wrappers = seen.iter().filter_map(|(name, parameters)| {
        let names: Option<Vec<&str>> = parameters.split(',').map(argument).collect();
        Some(format!(
            "OUTSIDE({name}, ({parameters}), ({}))\n",
            names?.join(", ")
        ))
    });
    wrappers.collect()
}

/// The name and the parameters of a declared function, if it is one of those.
fn function(declaration: &str) -> Option<(&str, &str)> {
    let at = declaration.find("int MPI_")?;
    let rest = &declaration[at + "int ".len()..];
    let (name, rest) = rest.split_once('(')?;
    let name = name.trim();
    let (parameters, _) = rest.split_once(')')?;
    let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let is_get = name == "MPI_Get" || name == "MPI_Get_c";
    let is_outside = is_get || OUTSIDE.iter().any(|prefix| name.starts_with(prefix));
    let is_local = LOCAL.iter().any(|part| name.contains(part));
    (is_name && is_outside && !is_local).then(|| (name, parameters.trim()))
}

/// The name of a parameter such as `const int ranks[]`.
fn argument(parameter: &str) -> Option<&str> {
    let parameter = parameter.split('[').next()?.trim_end();
    let start = parameter.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')? + 1;
    Some(&parameter[start..]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_move_data_are_found() {
        let header = "# 1 \"mpi.h\"\nextern int MPI_Win_fence(int assert, MPI_Win win) __attribute__((x));\n\
                      int MPI_Send(const void *buf, int count);\n\
                      __attribute__((visibility(\"default\"))) int MPI_Put(const void *from,\n  int n, const int at[], MPI_Win win);\n\
                      int MPI_Win_get_attr(MPI_Win win, int key);\nint MPI_Reduce(int a);\nint PMPI_Put(int a);\n";
        assert_eq!(
            outside(header),
            "OUTSIDE(MPI_Put, (const void *from,   int n, const int at[], MPI_Win win), (from, n, at, win))\n\
             OUTSIDE(MPI_Win_fence, (int assert, MPI_Win win), (assert, win))\n"
        );
    }

    #[test]
    fn parameters_without_a_name_are_left_out() {
        assert_eq!(argument("MPI_Win *win"), Some("win"));
        assert_eq!(outside("int MPI_Win_sync(MPI_Win);"), "");
    }
}
