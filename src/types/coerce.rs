//! Storing a value in a column.
