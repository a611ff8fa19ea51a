//! Random tables, rows and predicates for the soundness property; one seed makes one case.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::values::{constants, types, values_of};
use crate::catalog::{Column, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Error, Result};
use crate::sql::expr::{CompareOp, Expr, ExprKind, Row};
use crate::types::{ColumnType, Value};

/// One random case.
pub(crate) struct Case {
    pub(crate) rng: StdRng,
    pub(crate) table: Table,
}

impl Case {
    pub(crate) fn new(seed: u64) -> Case {
        let mut rng = StdRng::seed_from_u64(seed);
        let types = types();
        let key_count = rng.random_range(1..=3);
        let columns_count = key_count + rng.random_range(0..=2);
        let columns: Vec<Column> = (0..columns_count)
            .map(|idx| Column {
                nullable: key_count <= idx && rng.random_bool(0.7),
                ..Column::new(
                    ColumnId(u32::try_from(idx).unwrap()),
                    &format!("c{idx}"),
                    types.choose(&mut rng).unwrap().clone(),
                )
            })
            .collect();
        let key = (0..key_count)
            .map(|column_idx| KeyPart {
                column_idx,
                direction: Direction::of(rng.random_bool(0.3)),
            })
            .collect();
        let table = Table {
            id: TableId(1),
            database: "shop".to_owned(),
            name: "t".to_owned(),
            columns,
            key,
            shadow: None,
            columns_made: 0,
            indexes: Vec::new(),
            options: Vec::new(),
            comment: String::new(),
            wide: crate::catalog::Wide::default(),
        };
        Case { rng, table }
    }

    /// A case whose key has columns that may be `NULL`, as the keys of indexes have.
    pub(super) fn with_nulls(seed: u64) -> Case {
        let mut case = Case::new(seed);
        for part in &case.table.key {
            case.table.columns[part.column_idx].nullable = case.rng.random_bool(0.7);
        }
        case
    }

    pub(crate) fn row(&mut self) -> TestRow {
        let Case { rng, table } = self;
        let values = table.columns.iter().map(|column| {
            if column.nullable && rng.random_bool(0.2) {
                return Value::Null;
            }
            values_of(&column.ty).choose(rng).unwrap().clone()
        });
        TestRow(values.collect())
    }

    pub(crate) fn column(&mut self) -> Expr {
        // The first columns of the key matter most.
        let count = self.table.columns.len();
        let idx = self
            .rng
            .random_range(0..count)
            .min(self.rng.random_range(0..count));
        let column = &self.table.columns[idx];
        Expr {
            kind: ExprKind::Column(idx),
            ty: column.ty.clone(),
            nullable: column.nullable,
        }
    }

    /// A constant that may stand beside the column: often one of its own values.
    pub(crate) fn constant(&mut self, column: &Expr) -> Expr {
        let own = values_of(&column.ty);
        let value = if self.rng.random_bool(0.6) {
            own.choose(&mut self.rng).unwrap().clone()
        } else {
            constants().choose(&mut self.rng).unwrap().clone()
        };
        let value = match (&column.ty, value) {
            (ColumnType::Timestamp { .. }, Value::Int(_)) => Value::Null,
            (_, value) => value,
        };
        literal(value)
    }

    fn op(&mut self) -> CompareOp {
        let ops = [
            CompareOp::Equal,
            CompareOp::Equal,
            CompareOp::NullSafeEqual,
            CompareOp::NotEqual,
            CompareOp::Less,
            CompareOp::LessOrEqual,
            CompareOp::Greater,
            CompareOp::GreaterOrEqual,
        ];
        *ops.choose(&mut self.rng).unwrap()
    }

    pub(crate) fn predicate(&mut self, depth: u32) -> Expr {
        let choice = self.rng.random_range(0..10);
        let kind = match choice {
            0..=3 if 0 < depth => ExprKind::And(self.parts(depth)),
            4..=5 if 0 < depth => ExprKind::Or(self.parts(depth)),
            6 if 0 < depth => ExprKind::Not(Box::new(self.predicate(depth - 1))),
            _ => self.leaf(),
        };
        condition(kind)
    }

    fn parts(&mut self, depth: u32) -> Vec<Expr> {
        let count = self.rng.random_range(2..=3);
        (0..count).map(|_| self.predicate(depth - 1)).collect()
    }

    fn leaf(&mut self) -> ExprKind {
        let column = self.column();
        match self.rng.random_range(0..12) {
            0 => {
                let count = self.rng.random_range(1..=4);
                ExprKind::InList {
                    list: (0..count).map(|_| self.constant(&column)).collect(),
                    expr: Box::new(column),
                    negated: self.rng.random_bool(0.2),
                }
            }
            1 => ExprKind::Between {
                low: Box::new(self.constant(&column)),
                high: Box::new(self.constant(&column)),
                expr: Box::new(column),
                negated: self.rng.random_bool(0.2),
            },
            2 => {
                let patterns = ["a%", "%", "", "a_", "%a", "ab", "a\\%%", "é%", "5%"];
                let pattern = *patterns.choose(&mut self.rng).unwrap();
                ExprKind::Like {
                    expr: Box::new(column),
                    pattern: Box::new(literal(Value::Text(pattern.into()))),
                    escape: Some('\\'),
                    negated: self.rng.random_bool(0.2),
                }
            }
            3 => ExprKind::IsNull {
                expr: Box::new(column),
                negated: self.rng.random_bool(0.5),
            },
            4 => self.row_list(),
            5 => self.row_compare(),
            6 => ExprKind::Compare(
                self.op(),
                Box::new(self.constant(&column)),
                Box::new(column),
            ),
            _ => ExprKind::Compare(
                self.op(),
                Box::new(column.clone()),
                Box::new(self.constant(&column)),
            ),
        }
    }

    fn row_list(&mut self) -> ExprKind {
        let columns = [self.column(), self.column()];
        let count = self.rng.random_range(1..=3);
        let mut member = || {
            let parts = columns.iter().map(|column| self.constant(column));
            condition(ExprKind::Row(parts.collect()))
        };
        let list = (0..count).map(|_| member()).collect();
        ExprKind::InList {
            expr: Box::new(condition(ExprKind::Row(columns.to_vec()))),
            list,
            negated: false,
        }
    }

    fn row_compare(&mut self) -> ExprKind {
        let columns = vec![self.column(), self.column()];
        let constants = columns.iter().map(|column| self.constant(column)).collect();
        ExprKind::Compare(
            self.op(),
            Box::new(condition(ExprKind::Row(columns))),
            Box::new(condition(ExprKind::Row(constants))),
        )
    }
}

pub(crate) fn condition(kind: ExprKind) -> Expr {
    Expr {
        kind,
        ty: ColumnType::BIGINT,
        nullable: true,
    }
}

pub(crate) fn literal(value: Value<'static>) -> Expr {
    let ty = match &value {
        Value::Null => ColumnType::Null,
        Value::Int(_) => ColumnType::BIGINT,
        Value::UInt(_) => ColumnType::BIGINT_UNSIGNED,
        Value::Float(_) => ColumnType::Float,
        Value::Double(_) => ColumnType::Double,
        Value::Decimal(number) => ColumnType::Decimal {
            precision: number.precision(),
            scale: number.scale(),
        },
        Value::Bytes(_) => ColumnType::Varbinary { bytes_max: None },
        Value::Date(_) => ColumnType::Date,
        Value::Time(time) => ColumnType::Time { fsp: time.fsp() },
        Value::Datetime(at) => ColumnType::Datetime { fsp: at.fsp() },
        Value::Timestamp(at) => ColumnType::Timestamp { fsp: at.fsp() },
        Value::Year(_) => ColumnType::Year,
        Value::Json(_) => ColumnType::Json,
        Value::Text(_) | Value::Enum(_) => ColumnType::Varchar { chars_max: None },
    };
    Expr {
        kind: ExprKind::Literal(value),
        ty,
        nullable: true,
    }
}

/// A row of owned values.
#[derive(Debug)]
pub(crate) struct TestRow(pub(crate) Vec<Value<'static>>);

impl Row for TestRow {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let value = self.0.get(column_idx).map(Value::borrow);
        value.ok_or_else(|| Error::internal("no such column"))
    }
}
