//! `STATISTICS`, `KEY_COLUMN_USAGE`, `TABLE_CONSTRAINTS`: keys, their columns, and what they forbid.

use std::sync::Arc;

use super::schemata::{CATALOG, TableOf, each_table, position};
use super::table::{
    BIGINT, Give, INT, LONGTEXT, Made, NAME, NOTHING, UINT, Wants, YES_NO, column, maybe, text,
    varchar,
};
use super::{INFORMATION_SCHEMA, Scene};
use crate::catalog::{Column, Index, KeyPart, PartSource, Table};
use crate::codec::key::Direction;
use crate::error::Result;
use crate::types::Value;

/// One part of the primary key or of an index.
pub(super) struct PartOf {
    table: Arc<Table>,
    /// Which index; `None` for the primary key.
    index: Option<usize>,
    position: usize,
}

impl PartOf {
    fn index(&self) -> Option<&Index> {
        self.table.indexes.get(self.index?)
    }

    fn key_name(&self) -> &str {
        self.index().map_or("PRIMARY", |index| index.name.as_str())
    }

    fn part(&self) -> Option<KeyPart> {
        let parts = match self.index() {
            Some(index) => index.parts.as_slice(),
            None => self.table.declared_key(),
        };
        parts.get(self.position).copied()
    }

    /// Where the values come from, if not from a column as it is.
    fn source(&self) -> Option<&PartSource> {
        let part = self.part()?;
        let computed = self.index()?.computed_part(&self.table, part.column_idx)?;
        Some(&computed.source)
    }

    fn column(&self) -> Option<&Column> {
        let idx = match self.source() {
            Some(PartSource::Expression(_)) => return None,
            Some(PartSource::Prefix { column_idx, .. }) => *column_idx,
            None => self.part()?.column_idx,
        };
        self.table.columns.get(idx)
    }

    fn column_name(&self) -> Value<'static> {
        maybe(self.column().map(|column| column.name.as_str()))
    }

    fn is_unique(&self) -> bool {
        self.index().is_none_or(|index| index.unique)
    }

    fn is_nullable(&self) -> bool {
        let column = self.column();
        self.index.is_some() && column.is_none_or(|column| column.nullable)
    }

    fn prefix(&self) -> Value<'static> {
        match self.source() {
            Some(PartSource::Prefix { length, .. }) => Value::Int(i64::from(*length)),
            Some(PartSource::Expression(_)) | None => Value::Null,
        }
    }

    fn expression(&self) -> Value<'static> {
        match self.source() {
            Some(PartSource::Expression(text)) => self::text(text.as_str()),
            Some(PartSource::Prefix { .. }) | None => Value::Null,
        }
    }

    fn direction(&self) -> Value<'static> {
        let direction = self.part().map(|part| part.direction);
        Value::text(match direction {
            Some(Direction::Desc) => "D",
            Some(Direction::Asc) | None => "A",
        })
    }

    fn is_read(&self) -> bool {
        self.index().is_none_or(|index| index.state.is_read())
    }
}

/// The keys of a table: the primary key, and indexes of which `is_shown` says so.
fn each_part(
    table: &TableOf,
    is_shown: impl Fn(&Index) -> bool,
    give: Give<'_, PartOf>,
) -> Result<()> {
    let definition = &table.table;
    let indexes = definition.indexes.iter().enumerate();
    let indexes = indexes.filter(|(_, index)| is_shown(index));
    let indexes = indexes.map(|(idx, index)| (Some(idx), index.parts.len()));
    let primary = (!definition.has_hidden_key()).then_some((None, definition.declared_key().len()));
    for (index, parts_count) in primary.into_iter().chain(indexes) {
        for position in 0..parts_count {
            give(PartOf {
                table: Arc::clone(definition),
                index,
                position,
            })?;
        }
    }
    Ok(())
}

/// Whether an index forbids rows: a unique one of columns of all rows.
fn is_constraint(index: &Index) -> bool {
    let sources = index.computed.parts.iter().map(|part| &part.source);
    let mut expressions = sources.filter(|source| matches!(source, PartSource::Expression(_)));
    index.unique && index.computed.filter.is_none() && expressions.next().is_none()
}

/// The parts of keys that forbid rows.
fn each_constraint_part(scene: &Scene, wants: &Wants<'_>, give: Give<'_, PartOf>) -> Result<()> {
    each_table(scene, wants, &mut |table| {
        let is_wanted = |part: &PartOf| {
            wants.has("CONSTRAINT_SCHEMA", &part.table.database)
                && wants.has("CONSTRAINT_NAME", part.key_name())
        };
        each_part(&table, is_constraint, &mut |part| {
            if is_wanted(&part) { give(part) } else { Ok(()) }
        })
    })
}

/// `information_schema.STATISTICS`.
pub(super) static STATISTICS: Made<PartOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "STATISTICS",
    each: |scene, wants, give| {
        each_table(scene, wants, &mut |table| {
            each_part(&table, |_| true, &mut |part| {
                if wants.has("INDEX_NAME", part.key_name()) {
                    give(part)
                } else {
                    Ok(())
                }
            })
        })
    },
    columns: &[
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, |p| text(p.table.database.as_str())),
        column("TABLE_NAME", NAME, |p| text(p.table.name.as_str())),
        column("NON_UNIQUE", INT, |p| Value::Int(i64::from(!p.is_unique()))),
        column("INDEX_SCHEMA", NAME, |p| text(p.table.database.as_str())),
        column("INDEX_NAME", NAME, |p| text(p.key_name())),
        column("SEQ_IN_INDEX", UINT, |p| position(p.position)),
        column("COLUMN_NAME", NAME, PartOf::column_name),
        column("COLLATION", varchar(1), PartOf::direction),
        column("CARDINALITY", BIGINT, |_| Value::Null),
        column("SUB_PART", BIGINT, PartOf::prefix),
        column("PACKED", NOTHING, |_| Value::Null),
        column("NULLABLE", varchar(3), |p| {
            Value::text(if p.is_nullable() { "YES" } else { "" })
        }),
        column("INDEX_TYPE", varchar(11), |_| Value::text("KV")),
        column("COMMENT", varchar(8), |p| {
            let index = p.index();
            let is_off = index.is_some_and(|index| !index.state.is_written());
            Value::text(if is_off { "disabled" } else { "" })
        }),
        column("INDEX_COMMENT", varchar(2048), |p| {
            text(p.index().map_or("", |index| index.comment.as_str()))
        }),
        column("IS_VISIBLE", YES_NO, |p| super::table::yes_no(p.is_read())),
        column("EXPRESSION", LONGTEXT, PartOf::expression),
    ],
};

/// `information_schema.KEY_COLUMN_USAGE`.
pub(super) static KEY_COLUMN_USAGE: Made<PartOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "KEY_COLUMN_USAGE",
    each: each_constraint_part,
    columns: &[
        column("CONSTRAINT_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("CONSTRAINT_SCHEMA", NAME, |p| {
            text(p.table.database.as_str())
        }),
        column("CONSTRAINT_NAME", NAME, |p| text(p.key_name())),
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, |p| text(p.table.database.as_str())),
        column("TABLE_NAME", NAME, |p| text(p.table.name.as_str())),
        column("COLUMN_NAME", NAME, PartOf::column_name),
        column("ORDINAL_POSITION", UINT, |p| position(p.position)),
        column("POSITION_IN_UNIQUE_CONSTRAINT", UINT, |_| Value::Null),
        column("REFERENCED_TABLE_SCHEMA", NAME, |_| Value::Null),
        column("REFERENCED_TABLE_NAME", NAME, |_| Value::Null),
        column("REFERENCED_COLUMN_NAME", NAME, |_| Value::Null),
    ],
};

/// `information_schema.TABLE_CONSTRAINTS`.
pub(super) static TABLE_CONSTRAINTS: Made<PartOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "TABLE_CONSTRAINTS",
    each: |scene, wants, give| {
        each_constraint_part(scene, wants, &mut |part| {
            if part.position == 0 {
                give(part)
            } else {
                Ok(())
            }
        })
    },
    columns: &[
        column("CONSTRAINT_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("CONSTRAINT_SCHEMA", NAME, |p| {
            text(p.table.database.as_str())
        }),
        column("CONSTRAINT_NAME", NAME, |p| text(p.key_name())),
        column("TABLE_SCHEMA", NAME, |p| text(p.table.database.as_str())),
        column("TABLE_NAME", NAME, |p| text(p.table.name.as_str())),
        column("CONSTRAINT_TYPE", varchar(11), |p| {
            Value::text(if p.index.is_some() {
                "UNIQUE"
            } else {
                "PRIMARY KEY"
            })
        }),
        column("ENFORCED", YES_NO, |_| Value::text("YES")),
    ],
};
