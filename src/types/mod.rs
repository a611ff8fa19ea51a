//! Values, their types, their order and MySQL's conversions between them.
//!
//! Nothing here knows bytes on disk (`codec`) or on the wire (`protocol`), and nothing waits.

pub mod coerce;
pub mod column_type;
pub mod decimal;
pub mod json;
pub mod literal;
pub mod result_column;
pub mod temporal;
pub mod value;

pub use column_type::ColumnType;
pub use decimal::Decimal;
pub use result_column::{Attributes, ResultColumn};
pub use temporal::{Date, Datetime, Parsed, Time, Timestamp, Zone};
pub use value::{EnumValue, GroupKey, Value};
