//! Tables of things that come and go, such as messages in flight.

/// A table whose free slots are used again.
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Adds an entry and returns its slot; `None` if 2³² are in use.
    pub fn insert(&mut self, entry: T) -> Option<u32> {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(entry);
            return Some(slot);
        }
        let slot = u32::try_from(self.slots.len()).ok()?;
        self.slots.push(Some(entry));
        Some(slot)
    }

    /// The entry of a slot.
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// All entries, by slot.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten()
    }

    /// Takes the entry of a slot.
    pub fn remove(&mut self, slot: u32) -> Option<T> {
        let entry = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(entry)
    }
}
