//! Rows that the server makes up itself: the answers of SHOW, DESCRIBE and EXPLAIN.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Reply, ResultSet, Session};
use crate::catalog::{Column, KeyPart, Table, TableId, Wide};
use crate::codec::key::Direction;
use crate::codec::row::ColumnId;
use crate::error::{Error, Result};
use crate::exec::ready::ReadyRows;
use crate::exec::row::ValuesRow;
use crate::sql::ast::{ColumnName, Expr, Literal, ShowFilter};
use crate::sql::bind::{self, Names, Numbering};
use crate::sql::eval::eval_condition;
use crate::sql::expr as bound;
use crate::types::temporal::zone::Zone;
use crate::types::{Attributes, ColumnType, ResultColumn, Value};

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
            is_field: true,
            attributes: Attributes::default(),
            display_chars: 0,
            decimals: None,
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

    /// Gives the first column another name.
    pub(super) fn rename_first(&mut self, name: &str) {
        if let Some(column) = self.columns.first_mut() {
            name.clone_into(&mut column.0);
        }
    }

    /// Leaves out the last column.
    pub(super) fn drop_last_column(&mut self) {
        self.columns.pop();
        for row in &mut self.rows {
            row.pop();
        }
    }

    /// Cuts the texts of the last column after so many characters.
    pub(super) fn cut_last_column(&mut self, chars_max: usize) {
        for row in &mut self.rows {
            if let Some(Value::Text(text)) = row.last_mut() {
                *text = Cow::Owned(text.chars().take(chars_max).collect());
            }
        }
    }

    /// Keeps `offset` and `count` rows: LIMIT.
    pub(super) fn limit(&mut self, offset: usize, count: usize) {
        self.rows.drain(..offset.min(self.rows.len()));
        self.rows.truncate(count);
    }

    /// A table definition with the listing's columns, for the binder.
    fn as_table(&self) -> Table {
        let column = |(idx, (name, ty)): (usize, &(String, ColumnType))| {
            let id = ColumnId(u32::try_from(idx).unwrap_or(u32::MAX));
            Column::new(id, name, ty.clone())
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
            shadow: None,
            columns_made: 0,
            indexes: Vec::new(),
            options: Vec::new(),
            comment: String::new(),
            wide: Wide::default(),
        }
    }
}

/// Binds a condition over the columns of a listing.
type Bind = fn(&Expr, &Arc<Table>, &Names<'_>) -> Result<bound::Expr>;

impl Session {
    /// As [`Session::filtered`], but texts are compared without case, as MySQL does for names of
    /// variables, columns, collations.
    pub(super) fn filtered_in_any_case(
        &mut self,
        listing: Listing,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        self.kept(listing, (filter, bind::caseless_condition))
    }

    /// Applies `LIKE` or `WHERE` to a listing. `LIKE` is about the first column.
    pub(super) fn filtered(
        &mut self,
        listing: Listing,
        filter: Option<&ShowFilter>,
    ) -> Result<Listing> {
        self.kept(listing, (filter, bind::condition))
    }

    /// As [`Session::filtered`], with `LIKE` about a column of this name.
    pub(super) fn filtered_by(
        &mut self,
        listing: Listing,
        (column, filter): (&str, Option<&ShowFilter>),
    ) -> Result<Listing> {
        let filter = filter.map(|filter| match filter {
            ShowFilter::Like(pattern) => ShowFilter::Where(like(named_column(column), pattern)),
            ShowFilter::Where(_) => filter.clone(),
        });
        self.filtered(listing, filter.as_ref())
    }

    fn kept(
        &mut self,
        mut listing: Listing,
        (filter, bound_by): (Option<&ShowFilter>, Bind),
    ) -> Result<Listing> {
        let Some(filter) = filter else {
            return Ok(listing);
        };
        let condition = match filter {
            ShowFilter::Where(condition) => condition.clone(),
            ShowFilter::Like(pattern) => like(first_column(&listing), pattern),
        };
        let table = Arc::new(listing.as_table());
        let numbering = Numbering::default();
        let bound = self.with_names(&[], |names| {
            let numbering = &numbering;
            let names = Names {
                numbering,
                ..*names
            };
            bound_by(&condition, &table, &names)
        })?;
        if numbering.has_slots() {
            return Err(Error::unsupported("SHOW … WHERE with a subquery"));
        }
        let ctx = self.context(Arc::default());
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

fn first_column(listing: &Listing) -> Expr {
    let first = listing.columns.first();
    named_column(first.map_or("", |(name, _)| name))
}

fn named_column(name: &str) -> Expr {
    Expr::Column(Box::new(ColumnName {
        database: None,
        table: None,
        column: name.to_owned(),
    }))
}

fn like(left: Expr, pattern: &str) -> Expr {
    let pattern = Expr::Literal(Literal::Text(pattern.to_owned()));
    Expr::Like {
        operands: Box::new((left, pattern)),
        escape: None,
        negated: false,
    }
}
