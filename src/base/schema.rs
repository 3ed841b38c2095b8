//! JSON Schemas: what the types of several crates share.

use schemars::Schema;

/// Gives the keys of an object whose keys follow from its experiment their title and description.
pub fn keys(title: &'static str, description: &'static str) -> impl Fn(&mut Schema) {
    move |schema| {
        let named = schema.get_mut("additionalProperties");
        if let Some(named) = named.and_then(|named| named.as_object_mut()) {
            named.insert("title".to_owned(), title.into());
            named.insert("description".to_owned(), description.into());
        }
    }
}

/// [`keys`] that are the names of service levels.
pub fn by_sl(schema: &mut Schema) {
    keys("<SL>", "The service level of that name.")(schema);
}
