//! The rows of a subquery behind `IN`, `ANY` or `ALL`, kept for looking up.
//!
//! A value is found by its hash where equality of the operators is equality of values: when all
//! rows, and the value, are of one [`Class`]. Otherwise the rows are compared one by one.

use std::collections::HashSet;

use super::expr::{Expr, ExprKind};
use crate::types::value::GroupKey;
use crate::types::{ColumnType, Value};

/// What a row costs beyond its values.
const ROW_OVERHEAD_BYTES: usize = 64;

/// Kinds of values among which the operator `=` and the equality of values are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Whole numbers, years and DECIMAL.
    Exact,
    /// Character strings, and members of an ENUM: they are their labels.
    Text,
    /// Byte strings.
    Bytes,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME.
    Datetime,
    /// TIMESTAMP.
    Timestamp,
}

impl Class {
    /// The class of a value; `None` for `NULL` and where equality has rules of its own.
    pub fn of(value: &Value<'_>) -> Option<Class> {
        match value {
            Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Year(_) => {
                Some(Class::Exact)
            }
            // The error member is equal to a declared '', and to another number.
            Value::Enum(member) if member.label.is_empty() => None,
            Value::Text(_) | Value::Enum(_) => Some(Class::Text),
            Value::Bytes(_) => Some(Class::Bytes),
            Value::Date(_) => Some(Class::Date),
            Value::Time(_) => Some(Class::Time),
            Value::Datetime(_) => Some(Class::Datetime),
            Value::Timestamp(_) => Some(Class::Timestamp),
            Value::Null | Value::Float(_) | Value::Double(_) | Value::Json(_) => None,
        }
    }

    /// The class of all values of a type but `NULL`.
    pub fn of_type(ty: &ColumnType) -> Option<Class> {
        match ty {
            ty if ty.is_integer() => Some(Class::Exact),
            ColumnType::Decimal { .. } | ColumnType::Year => Some(Class::Exact),
            ColumnType::Char { .. }
            | ColumnType::Varchar { .. }
            | ColumnType::Text(_)
            | ColumnType::Enum(_) => Some(Class::Text),
            ColumnType::Varbinary { .. } | ColumnType::Binary { .. } | ColumnType::Blob(_) => {
                Some(Class::Bytes)
            }
            ColumnType::Date => Some(Class::Date),
            ColumnType::Time { .. } => Some(Class::Time),
            ColumnType::Datetime { .. } => Some(Class::Datetime),
            ColumnType::Timestamp { .. } => Some(Class::Timestamp),
            ColumnType::Null
            | ColumnType::Dynamic
            | ColumnType::Boolean
            | ColumnType::Int { .. }
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Json => None,
        }
    }

    /// A value of a class as the key of a map.
    pub fn key(value: Value<'static>) -> GroupKey<'static> {
        if let Value::Enum(member) = value {
            return GroupKey(Value::Text(member.label));
        }
        GroupKey(value)
    }
}

/// The rows of a subquery.
#[derive(Debug)]
pub struct Members {
    types: Vec<ColumnType>,
    rows: Vec<Vec<Value<'static>>>,
    /// The rows without `NULL`, when all their columns are of these classes.
    hashed: Option<(Vec<Class>, HashSet<Vec<GroupKey<'static>>>)>,
    has_null: bool,
    bytes: usize,
    is_stand_in: bool,
}

impl Members {
    /// No rows yet, of columns of these types.
    pub fn new(types: Vec<ColumnType>) -> Members {
        let classes: Option<Vec<Class>> = types.iter().map(Class::of_type).collect();
        Members {
            types,
            rows: Vec::new(),
            hashed: classes.map(|classes| (classes, HashSet::new())),
            has_null: false,
            bytes: 0,
            is_stand_in: false,
        }
    }

    /// A row that stands for those that are not known yet.
    pub fn stand_in(types: Vec<ColumnType>, row: Vec<Value<'static>>) -> Members {
        let mut members = Members {
            is_stand_in: true,
            ..Members::new(types)
        };
        members.push(row);
        members
    }

    /// Whether the rows stand for others.
    pub fn is_stand_in(&self) -> bool {
        self.is_stand_in
    }

    /// Adds a row; one that is there already is left out where that can be told.
    pub fn push(&mut self, row: Vec<Value<'static>>) {
        let has_null = row.iter().any(Value::is_null);
        self.has_null |= has_null;
        if let Some((classes, keys)) = &mut self.hashed {
            let mut pairs = row.iter().zip(classes.iter());
            if has_null {
                // Equal to nothing; kept for the rules of NULL.
            } else if pairs.all(|(value, class)| Class::of(value) == Some(*class)) {
                if !keys.insert(row.iter().cloned().map(Class::key).collect()) {
                    return;
                }
            } else {
                self.hashed = None;
            }
        }
        let held: usize = row.iter().map(Value::memory_bytes).sum();
        self.bytes += 2 * held + ROW_OVERHEAD_BYTES;
        self.rows.push(row);
    }

    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Value<'static>>] {
        &self.rows
    }

    /// Whether some row has a `NULL` in it.
    pub fn has_null(&self) -> bool {
        self.has_null
    }

    /// Whether these values, none of them `NULL`, are a row; `None` when that must be found by
    /// comparing.
    pub fn contains(&self, values: &[Value<'_>]) -> Option<bool> {
        let (classes, keys) = self.hashed.as_ref()?;
        let mut pairs = values.iter().zip(classes);
        if !pairs.all(|(value, class)| Class::of(value) == Some(*class)) {
            return None;
        }
        let key: Vec<GroupKey<'static>> = values
            .iter()
            .map(|value| Class::key(value.clone().into_owned()))
            .collect();
        Some(keys.contains(&key))
    }

    /// The rows as literals.
    pub fn literals(&self) -> Vec<Expr> {
        self.rows.iter().map(|row| self.literal(row)).collect()
    }

    fn literal(&self, row: &[Value<'static>]) -> Expr {
        let literal = |(value, ty): (&Value<'static>, &ColumnType)| Expr {
            kind: ExprKind::Literal(value.clone()),
            ty: ty.clone(),
            nullable: value.is_null(),
        };
        let mut literals: Vec<Expr> = row.iter().zip(&self.types).map(literal).collect();
        match literals.pop() {
            Some(only) if literals.is_empty() => only,
            last => {
                literals.extend(last);
                Expr {
                    nullable: literals.iter().any(|literal| literal.nullable),
                    kind: ExprKind::Row(literals),
                    ty: ColumnType::Null,
                }
            }
        }
    }
}
