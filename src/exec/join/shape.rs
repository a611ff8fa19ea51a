//! What joined rows look like. Made once per statement.

use std::collections::HashSet;
use std::sync::Arc;

use crate::catalog::Table;
use crate::error::{Error, Result};
use crate::exec::query;
use crate::exec::row::{Layout, StoredRow};
use crate::exec::rows::RowCopy;
use crate::sql::bound::{self, Joined, Relation};
use crate::sql::expr::{self, ExprKind};
use crate::sql::functions::assign;
use crate::sql::listed::Listed;
use crate::types::Value;

/// The values of one row of a source that the statement uses.
pub type Piece = Arc<[Value<'static>]>;

/// One joined row: a piece per source; `None` where there is no row, or none yet.
pub type Row = Vec<Option<Piece>>;

/// Joined rows.
pub type Batch = Vec<Row>;

/// What a piece costs beyond its values.
const PIECE_OVERHEAD_BYTES: usize = 32;

/// The sources of a join and where the columns of its row are.
#[derive(Debug)]
pub struct Shape {
    /// The sources and how they are joined.
    pub joined: Joined,
    /// For each source, the columns of it that are used: what its pieces hold.
    pub used_columns: Vec<Vec<usize>>,
    /// For each source, how its rows are made.
    pub kinds: Vec<Kind>,
    /// For each column of the row: the source, and the position in its pieces.
    places: Vec<Option<(usize, usize)>>,
}

/// A query whose outputs that nobody uses are not worked out, unless they assign variables.
fn without(
    mut query: bound::Query,
    used_columns: &[Vec<usize>],
    source_idx: usize,
) -> bound::Query {
    let used = used_columns.get(source_idx).into_iter().flatten();
    // There may be thousands of both.
    let used: HashSet<&usize> = used.collect();
    if let bound::Query::Select(select) = &mut query
        && !select.distinct
    {
        let outputs = select.outputs.iter_mut().enumerate();
        let unused = outputs.filter(|(idx, _)| !used.contains(&idx));
        for (_, output) in unused.filter(|(_, output)| !assign::is_in(&output.expr)) {
            output.expr.kind = ExprKind::Literal(Value::Null);
        }
    }
    query
}

/// How the rows of a source are made.
#[derive(Debug)]
pub enum Kind {
    /// Read from a table.
    Table(Arc<Table>, Layout),
    /// Computed by a query.
    Query(Arc<query::Program>),
    /// Those of the last round of a recursive query, by its number.
    Round(usize),
    /// Made up by the server.
    Listed(Arc<Listed>),
}

impl Shape {
    /// The shape of a join of which these columns of the row are used.
    pub fn new(joined: Joined, used: &[usize]) -> Shape {
        let sources = joined.sources.iter();
        let columns_count = sources
            .clone()
            .map(|source| source.first_column + source.columns_count())
            .max();
        let mut places = vec![None; columns_count.unwrap_or(0)];
        let mut used_columns = vec![Vec::new(); joined.sources.len()];
        for (source_idx, source) in joined.sources.iter().enumerate() {
            let columns = source.first_column..source.first_column + source.columns_count();
            let used = used.iter().filter(|idx| columns.contains(*idx));
            let Some(slots) = used_columns.get_mut(source_idx) else {
                continue;
            };
            for idx in used {
                if let Some(place) = places.get_mut(*idx) {
                    *place = Some((source_idx, slots.len()));
                }
                slots.push(idx - source.first_column);
            }
        }
        let kinds = sources
            .enumerate()
            .map(|(source_idx, source)| match &source.relation {
                Relation::Table(table) => Kind::Table(Arc::clone(table), Layout::of(table)),
                Relation::Query(query) => {
                    let query = without(query.as_ref().clone(), &used_columns, source_idx);
                    Kind::Query(Arc::new(query::Program::new(query)))
                }
                Relation::Round(round) => Kind::Round(round.number),
                Relation::Listed(listed) => Kind::Listed(Arc::clone(listed)),
            });
        Shape {
            kinds: kinds.collect(),
            used_columns,
            places,
            joined,
        }
    }

    /// A row without pieces.
    pub fn empty_row(&self) -> Row {
        vec![None; self.joined.sources.len()]
    }

    /// A row of one source alone.
    pub fn row_with(&self, source_idx: usize, piece: Piece) -> Row {
        let mut row = self.empty_row();
        if let Some(place) = row.get_mut(source_idx) {
            *place = Some(piece);
        }
        row
    }

    /// The piece of a source that a stored row makes.
    ///
    /// # Errors
    /// 1712 for damaged bytes.
    pub fn piece_of_stored(&self, source_idx: usize, row: &StoredRow<'_>) -> Result<Piece> {
        let used = self
            .used_columns
            .get(source_idx)
            .map_or(&[][..], Vec::as_slice);
        let mut failed = None;
        // Where nothing ends it early, the piece is made in one allocation.
        let values = used.iter().map(|idx| match row.value(*idx) {
            Ok(value) => value.into_owned(),
            Err(error) => {
                failed.get_or_insert(error);
                Value::Null
            }
        });
        let piece = values.collect();
        failed.map_or(Ok(piece), Err)
    }

    /// The piece of a source that a row of all its columns makes.
    ///
    /// # Errors
    /// 1041 when the process has no memory for it.
    pub fn piece_of_values(&self, source_idx: usize, values: &[Value<'_>]) -> Result<Piece> {
        let used = self
            .used_columns
            .get(source_idx)
            .map_or(&[][..], Vec::as_slice);
        let (mut failed, mut copy) = (None, RowCopy::default());
        // Of a known length, and so put where it stays: one of `Result`s would be gathered elsewhere first.
        let values = used.iter().map(|idx| match values.get(*idx) {
            Some(value) if failed.is_none() => match copy.owned(value.borrow()) {
                Ok(value) => value,
                Err(error) => {
                    failed = Some(error);
                    Value::Null
                }
            },
            Some(_) | None => Value::Null,
        });
        let piece = values.collect();
        failed.map_or(Ok(piece), Err)
    }
}

/// About how many bytes a piece holds.
pub(super) fn piece_bytes(piece: &Piece) -> usize {
    let values: usize = piece.iter().map(Value::memory_bytes).sum();
    values + PIECE_OVERHEAD_BYTES
}

/// A joined row as an input of evaluation.
#[derive(Clone, Copy)]
pub struct JoinedRow<'a> {
    shape: &'a Shape,
    pieces: &'a [Option<Piece>],
}

impl<'a> JoinedRow<'a> {
    /// A row of this shape.
    pub fn new(shape: &'a Shape, row: &'a Row) -> JoinedRow<'a> {
        JoinedRow { shape, pieces: row }
    }
}

impl expr::Row for JoinedRow<'_> {
    fn column(&self, column_idx: usize) -> Result<Value<'_>> {
        let place = self.shape.places.get(column_idx).copied().flatten();
        let Some((source_idx, position)) = place else {
            return Err(Error::internal(format!(
                "column {column_idx} of a join, which nobody was to use"
            )));
        };
        match self.pieces.get(source_idx) {
            Some(Some(piece)) => {
                let value = piece.get(position);
                let value = value.ok_or_else(|| Error::internal("a piece that is too short"))?;
                Ok(value.borrow())
            }
            Some(None) | None => Ok(Value::Null),
        }
    }
}
