//! The names of the regions of a program, as a trace marks them.

use crate::program::RegionId;
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
            return Err(format!("the program has more than {MAX_REGIONS} regions"));
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
