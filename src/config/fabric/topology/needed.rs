//! Keys that a kind of topology cannot do without.

use crate::config::document::error::ConfigError;

const KEY: &str = "fabric.topology";

pub(crate) const NICS_KEY: &str = "fabric.topology.nics";

pub(crate) fn need<T>(
    value: Option<T>,
    kind: &str,
    name: &str,
    example: &str,
) -> Result<T, ConfigError> {
    value.ok_or_else(|| ConfigError::new(KEY, format!("kind \"{kind}\" needs `{name}`{example}")))
}
