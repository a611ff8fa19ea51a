//! Definitions of databases, tables and views: what they are ([`schema`], [`view`]), how they are kept on disk
//! ([`persist`]), and the shared, immutable version of all of them ([`store`]).

mod attributes;
pub mod computed;
pub mod describe;
mod gate;
mod past;
pub mod persist;
mod pledge;
mod reshape;
pub mod schema;
mod size;
pub mod spread;
pub mod store;
mod trash;
mod type_names;
pub mod versions;
pub mod view;
pub mod wide;

pub use computed::{Computed, ComputedPart, PartSource};
pub use gate::Pass;
pub use past::{Former, Past};
pub use pledge::{Pledge, Pledger};
pub use schema::{
    Column, ColumnDefault, Include, Index, IndexId, IndexState, KeyPart, Table, TableId,
};
pub use spread::{BUCKETS_MAX, Spread, SpreadKind};
pub use store::{Catalog, Definitions};
pub use trash::{Fate, TRASH_TABLES_MAX, Trashed};
pub use view::{View, ViewAlgorithm};
pub use wide::{ColumnPlace, Pattern, Wide};
