//! The ground that all crates of Flitwise stand on: [quantities](units) with their units, exact
//! fractions, the [random] streams from which every draw of a run comes, [places](place) in files
//! with the problems found there, [quotes](quote) of input in messages, [lists of hosts](host_list), [names near](near) to
//! a mistyped one, the token by which the
//! user [stops](stop) long work, work on [several threads](side_by_side()), and an [allocator](huge_pages) for programs that simulate large fabrics.
//!
//! # Examples
//! ```
//! use flitwise_base::random::{Purpose, Stream};
//! use flitwise_base::units::{Bytes, Ratio};
//!
//! assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
//! assert_eq!(Ratio::new(50, 100), Ratio::new(1, 2));
//!
//! // A stream depends on the seed, its purpose and its component, and on nothing else.
//! let draw = |nic| Stream::new(7, Purpose::Paths, [nic, 0]).below(1000);
//! assert_eq!(draw(3), draw(3));
//! ```

pub mod host_list;
pub mod huge_pages;
mod ids;
pub mod near;
pub mod place;
pub mod quote;
pub mod random;
pub mod schema;
mod side_by_side;
pub mod stop;
pub mod units;

pub use side_by_side::side_by_side;

// For the macro of ids.
#[doc(hidden)]
pub use {schemars, serde};
