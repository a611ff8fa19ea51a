//! Definitions of databases and tables: what they are ([`schema`]), how they are kept on disk
//! ([`persist`]), and the shared, immutable version of all of them ([`store`]).

pub mod computed;
pub mod describe;
mod gate;
pub mod persist;
pub mod schema;
pub mod store;
mod type_names;

pub use computed::{Computed, ComputedPart, PartSource};
pub use gate::Pass;
pub use schema::{
    Column, ColumnDefault, Include, Index, IndexId, IndexState, KeyPart, Table, TableId,
};
pub use store::{Catalog, Definitions};
