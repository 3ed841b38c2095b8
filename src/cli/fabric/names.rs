//! NICs by the names that users give, and counted things.

use super::CliError;
use flitwise::fabric::ids::NicId;
use flitwise::fabric::topology::Topology;
use flitwise_base::quote::cut;
use std::path::Path;

/// The NIC that `text` names: by its number, or by the name that its operators use.
pub(super) fn find(topology: &Topology, option: &str, text: &str) -> Result<NicId, CliError> {
    let bad = |problem: String| CliError::BadInput(format!("{option} {}: {problem}", cut(text)));
    let named = topology.names().map(|names| names.find(text));
    let number = text.parse::<u32>().ok();
    match (named, number) {
        // The name of a host may be a number.
        (Some(Ok(nic)), _) => Ok(nic),
        (_, Some(number)) if number < topology.nics() => Ok(NicId::new(number)),
        (_, Some(_)) => Err(bad(format!("give a NIC below {}", topology.nics()))),
        (Some(Err(problem)), None) => Err(bad(problem)),
        (None, None) if Path::new(text).is_file() => {
            Err(bad("it is a file: give two NICs before it".into()))
        }
        (None, None) => Err(bad(
            "give the number of a NIC; only a topology from a file has names".into(),
        )),
    }
}
