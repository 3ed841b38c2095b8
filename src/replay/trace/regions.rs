//! The names of the regions of a program, as a trace marks them.

use crate::program::RegionId;
use flitwise_base::near::nearest;
use flitwise_base::quote::quoted;
use flitwise_formats::limits::MAX_REGIONS;
use hashbrown::HashMap;
use std::sync::Arc;

/// The names, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct Regions {
    names: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, RegionId>,
}

impl Regions {
    /// Adds a name, if it is new.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add(&mut self, name: &str) -> Result<(), String> {
        if self.ids.contains_key(name) {
            return Ok(());
        }
        if self.names.len() == MAX_REGIONS {
            return Err(format!(
                "the program has more than {MAX_REGIONS} regions; mark fewer by MPI_Pcontrol"
            ));
        }
        let name: Arc<str> = name.into();
        let id = RegionId::new(self.names.len() as u32);
        self.ids.insert(Arc::clone(&name), id);
        self.names.push(name);
        Ok(())
    }

    /// The number of the region of this name.
    pub fn id(&self, name: &str) -> Option<RegionId> {
        self.ids.get(name).copied()
    }

    /// The name of a region; empty if there is none.
    pub fn name(&self, region: RegionId) -> &str {
        self.names.get(region.index()).map_or("", |name| name)
    }

    /// The names, in the order of their numbers.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }
}

/// Names of regions that an error lists.
const LISTED: usize = 20;

/// The regions with these names as an error lists them that has not found `unknown` among them: the nearest one, and the
/// first ones; `None` without any.
#[must_use]
pub fn known_regions(names: &[Arc<str>], unknown: &str) -> Option<String> {
    let shown = names.iter().take(LISTED);
    let shown: Vec<String> = shown.map(|name| quoted(name).to_string()).collect();
    let mut known = shown.join(", ");
    if let Some(more @ 1..) = names.len().checked_sub(LISTED) {
        known += &format!(" and {more} more");
    }
    if let Some(near) = nearest(unknown, names.iter().map(|name| &**name)) {
        known += &format!("; did you mean {}?", quoted(near));
    }
    (!names.is_empty()).then_some(known)
}

#[cfg(test)]
mod tests {
    use super::known_regions;
    use std::sync::Arc;

    #[test]
    fn errors_list_regions() {
        let names = |all: &[&str]| all.iter().map(|name| Arc::from(*name)).collect::<Vec<_>>();
        assert_eq!(known_regions(&[], "x"), None);
        let two = names(&["solve", "dot"]);
        assert_eq!(
            known_regions(&two, "slove").unwrap(),
            "`solve`, `dot`; did you mean `solve`?"
        );
        assert_eq!(known_regions(&two, "init").unwrap(), "`solve`, `dot`");
        let many: Vec<String> = (0..23).map(|i| format!("region{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let text = known_regions(&names(&many), "regino22").unwrap();
        assert!(
            text.ends_with("`region19` and 3 more; did you mean `region22`?"),
            "{text}"
        );
    }
}
