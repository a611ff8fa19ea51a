//! Rows that the server makes up itself: the answers of SHOW, DESCRIBE and EXPLAIN.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Reply, ResultSet, Session};
use crate::catalog::{Column, ColumnDefault, KeyPart, Table, TableId};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::Result;
use crate::exec::ready::ReadyRows;
use crate::exec::row::ValuesRow;
use crate::sql::ast::{ColumnName, Expr, Literal, ShowFilter};
use crate::sql::bind::{self, Names};
use crate::sql::eval::eval_condition;
use crate::types::temporal::zone::Zone;
use crate::types::{ColumnType, ResultColumn, Value};

/// A small table in memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    columns: Vec<(String, ColumnType)>,
    rows: Vec<Vec<Value<'static>>>,
}

/// The type of most columns of SHOW.
pub(super) const TEXT: ColumnType = ColumnType::Varchar {
    chars_max: Some(512),
};

/// The type of texts without bound.
pub(super) const LONG_TEXT: ColumnType =
    ColumnType::Text(crate::types::column_type::LobSize::Medium);

impl Listing {
    /// No rows, with text columns of these names.
    pub(super) fn of_texts(names: &[&str]) -> Listing {
        Listing::new(&names.iter().map(|name| (*name, TEXT)).collect::<Vec<_>>())
    }

    /// No rows, with these columns.
    pub(super) fn new(columns: &[(&str, ColumnType)]) -> Listing {
        let columns = columns
            .iter()
            .map(|(name, ty)| ((*name).to_owned(), ty.clone()));
        Listing {
            columns: columns.collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: Vec<Value<'static>>) {
        debug_assert_eq!(row.len(), self.columns.len(), "one value per column");
        self.rows.push(row);
    }

    /// Adds a row of texts.
    pub(super) fn push_texts<const N: usize>(&mut self, row: [&str; N]) {
        let values = row
            .into_iter()
            .map(|text| Value::Text(Cow::Owned(text.to_owned())));
        self.push(values.collect());
    }

    /// What the client is told of the columns.
    pub(super) fn result_columns(&self) -> Vec<ResultColumn> {
        let column = |(name, ty): &(String, ColumnType)| ResultColumn {
            database: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.clone(),
            org_name: name.clone(),
            ty: ty.clone(),
            nullable: true,
            primary_key: false,
            auto_increment: false,
            display_chars: 0,
        };
        self.columns.iter().map(column).collect()
    }

    /// The listing as an answer.
    pub(super) fn into_reply(self) -> Reply {
        let columns: Arc<[ResultColumn]> = self.result_columns().into();
        let rows = Box::new(ReadyRows::new(self.rows));
        Reply::Rows(ResultSet {
            columns,
            zone: Zone::UTC,
            rows,
        })
    }

    /// Keeps `offset` and `count` rows: LIMIT.
    pub(super) fn limit(&mut self, offset: usize, count: usize) {
        self.rows.drain(..offset.min(self.rows.len()));
        self.rows.truncate(count);
    }

    /// A table definition with the listing's columns, for the binder.
    fn as_table(&self) -> Table {
        let column = |(idx, (name, ty)): (usize, &(String, ColumnType))| Column {
            id: ColumnId(u32::try_from(idx).unwrap_or(u32::MAX)),
            name: name.clone(),
            ty: ty.clone(),
            nullable: true,
            default: ColumnDefault::None,
            on_update_now: false,
            auto_increment: false,
            hidden: false,
            comment: String::new(),
        };
        Table {
            id: TableId(0),
            database: String::new(),
            name: String::new(),
            columns: self.columns.iter().enumerate().map(column).collect(),
            key: vec![KeyPart {
                column_idx: 0,
                direction: Direction::Asc,
            }],
            options: Vec::new(),
            comment: String::new(),
        }
    }
}

impl Session {
    /// Applies `LIKE` or `WHERE` to a listing.
    pub(super) fn filtered(
        &mut self,
        mut listing: Listing,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        let Some(filter) = filter else {
            return Ok(listing);
        };
        let condition = match filter {
            ShowFilter::Where(condition) => condition.clone(),
            ShowFilter::Like(pattern) => like_first_column(&listing, pattern),
        };
        let definitions = self.shared.catalog.current();
        let database = crate::sql::context::SessionFacts::database(self.state.as_ref());
        let names = Names {
            definitions: definitions.as_ref(),
            database: database.as_deref(),
            mode: self.settings.mode,
            facts: self.state.as_ref(),
            parameters: &[],
        };
        let bound = bind::condition(&condition, &Arc::new(listing.as_table()), &names)?;
        let ctx = self.context(Vec::new());
        let mut kept = Vec::new();
        for row in std::mem::take(&mut listing.rows) {
            if eval_condition(&bound, &ValuesRow(&row), &ctx)? == Some(true) {
                kept.push(row);
            }
        }
        listing.rows = kept;
        Ok(listing)
    }
}

fn like_first_column(listing: &Listing, pattern: &str) -> Expr {
    let column = listing
        .columns
        .first()
        .map(|(name, _)| name.clone())
        .unwrap_or_default();
    let column = ColumnName {
        database: None,
        table: None,
        column,
    };
    let pattern = Expr::Literal(Literal::Text(pattern.to_owned()));
    Expr::Like {
        operands: Box::new((Expr::Column(Box::new(column)), pattern)),
        escape: None,
        negated: false,
    }
}
