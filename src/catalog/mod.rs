//! Definitions of databases, tables and views: what they are ([`schema`], [`view`]), how they are kept on disk
//! ([`persist`]), and the shared, immutable version of all of them ([`store`]).

pub mod computed;
pub mod describe;
mod gate;
pub mod persist;
pub mod schema;
pub mod store;
mod type_names;
pub mod view;
pub mod wide;

pub use computed::{Computed, ComputedPart, PartSource};
pub use gate::Pass;
pub use schema::{
    Column, ColumnDefault, Include, Index, IndexId, IndexState, KeyPart, Table, TableId,
};
pub use store::{Catalog, Definitions};
pub use view::{View, ViewAlgorithm};
pub use wide::{ColumnPlace, Pattern, Wide};
