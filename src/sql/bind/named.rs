//! Columns that nobody declared (docs/wide.md): a statement is bound until all of them are known.
//!
//! Positions of columns are fixed by the definitions of the tables, so that a name without
//! declaration must be part of the definition before the statement is bound. Which names those are only
//! binding tells. So a statement is bound, the names that it meets are noted ([`Widening`]), and if
//! there are new ones it is bound once more, with definitions that have them
//! ([`crate::catalog::wide::widened`]).
//!
//! A declared name comes first wherever it is found: in the table, among the aliases of the select
//! list where the clause allows those, in an enclosing query. Only what is none of these is a name
//! without declaration, of the only table here that takes it; with several such tables it is
//! ambiguous (1052).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::scope::Scope;
use super::source::Place;
use super::{Names, Numbering};
use crate::catalog::wide::{self, NAME_BYTES_MAX};
use crate::catalog::{ColumnPlace, Table, TableId};
use crate::error::{Code, Error, Result};
use crate::sql::ast::{self, Block, ColumnName, QueryBody, Select, SelectItem};
use crate::sql::expr::{Expr, ExprKind};
use crate::types::Value;

/// How often a statement is bound: once for what it says, and once more for each level of names that
/// are only met when those around them are known.
const ROUNDS_MAX: usize = 16;

/// Names without declaration that one statement may say of one table; a widened definition is
/// searched name by name.
const NAMES_MAX: usize = 4096;

/// The names without declaration that a statement has met so far.
#[derive(Debug, Default)]
pub struct Widening {
    met: Mutex<Met>,
    /// The members of the select list where `*` may stand for names that are only met in the rows: by
    /// where they stand in the syntax tree.
    open: Vec<usize>,
    has_limit: bool,
}

/// A `*` that stands for columns without declaration too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Star {
    /// Which member of the select list it is.
    pub position: usize,
    /// What the table goes by.
    pub alias: String,
    /// The table.
    pub table: Arc<str>,
    /// Its id.
    pub id: TableId,
    /// The named columns that its definition has.
    pub named: Vec<String>,
}

#[derive(Debug, Default)]
struct Met {
    tables: HashMap<TableId, Known>,
    /// Whether there are names that the definitions of this round do not have.
    has_grown: bool,
    /// The `*` of this round, by where they stand.
    stars: Vec<(usize, Star)>,
}

#[derive(Debug, Default)]
struct Known {
    /// In lower case, in the order in which they were met.
    names: Vec<String>,
    /// Those that `*` stands for besides the declared columns.
    shown: Vec<String>,
    widened: Option<Arc<Table>>,
}

/// A dump says `SQL_NO_CACHE` and the columns that are declared, or `*`: of a table that takes others
/// too it would lose them in silence.
///
/// # Errors
/// 1221.
pub(super) fn check_dump(block: &Block, table: Option<&Arc<Table>>) -> Result<()> {
    let Some(table) = table.filter(|table| block.no_cache && table.takes_names()) else {
        return Ok(());
    };
    let is_declared = |name: &ColumnName| {
        let mut columns = table.columns.iter();
        columns.any(|column| {
            column.place != ColumnPlace::Named && column.name.eq_ignore_ascii_case(&name.column)
        })
    };
    let loses = block.items.iter().all(|item| match item {
        SelectItem::Star | SelectItem::TableStar(_) => true,
        SelectItem::Expr {
            expr: ast::Expr::Column(name),
            ..
        } => is_declared(name),
        SelectItem::Expr { .. } => false,
    });
    if !loses {
        return Ok(());
    }
    let text = format!(
        "Incorrect usage of SQL_NO_CACHE and table '{}' with undeclared columns: a dump would lose \
         them. Dump with --ignore-table={}.{}, and copy the table by SELECT … INTO OUTFILE and LOAD \
         DATA with the columns that SHOW DYNAMIC COLUMNS tells; in a query leave SQL_NO_CACHE out",
        table.name, table.database, table.name
    );
    Err(Error::new(Code::WrongUsage, text))
}

/// Where something stands in memory.
fn place_of(item: &SelectItem) -> usize {
    std::ptr::from_ref(item).addr()
}

impl Widening {
    /// Of a statement that is a query: its own `*` may stand for what the first page has.
    pub fn of_query(select: &Select) -> Widening {
        let items = match &select.body {
            QueryBody::Block(block) => block.items.as_slice(),
            QueryBody::SetOperation { .. } | QueryBody::Values(_) | QueryBody::Table(_) => &[],
        };
        Widening {
            open: items.iter().map(place_of).collect(),
            has_limit: select.limit.is_some(),
            ..Widening::default()
        }
    }

    /// The `*` of the statement that stand for columns without declaration too.
    pub fn stars(&self) -> Vec<Star> {
        let met = self.met.lock();
        met.stars.iter().map(|(_, star)| star.clone()).collect()
    }

    /// The names that the statement says of a table.
    pub fn names(&self, table: TableId) -> Vec<String> {
        let met = self.met.lock();
        met.tables
            .get(&table)
            .map_or(Vec::new(), |known| known.names.clone())
    }

    /// Notes a `*` of a table.
    pub(super) fn star(&self, item: &SelectItem, (alias, table): (&str, &Table)) {
        if !table.takes_names() {
            return;
        }
        let at = place_of(item);
        let position = self.open.iter().position(|open| *open == at);
        let named = table.columns.iter();
        let named = named.filter(|column| column.place == ColumnPlace::Named);
        let star = Star {
            position: position.unwrap_or(usize::MAX),
            alias: alias.to_owned(),
            table: table.name.as_str().into(),
            id: table.id,
            named: named.map(|column| column.name.clone()).collect(),
        };
        self.met.lock().stars.push((at, star));
    }

    /// How many `*` were noted.
    pub(super) fn stars_count(&self) -> usize {
        self.met.lock().stars.len()
    }

    /// Forgets the `*` behind so many: nobody asks for their columns.
    pub(super) fn forget_stars(&self, kept: usize) {
        self.met.lock().stars.truncate(kept);
    }

    /// # Errors
    /// 1221 for a `*` without `LIMIT`, 1235 for one within another query.
    fn check_stars(&self) -> Result<()> {
        let met = self.met.lock();
        for (at, star) in &met.stars {
            if !self.open.contains(at) {
                let text = format!(
                    "SELECT * of table {} with undeclared columns within another statement; name \
                     the columns",
                    star.table
                );
                return Err(Error::unsupported(text));
            }
            if !self.has_limit {
                let text = format!(
                    "Incorrect usage of SELECT * and table '{}' with undeclared columns: it shows \
                     those that the first page of rows has, so add LIMIT, or name the columns",
                    star.table
                );
                return Err(Error::new(Code::WrongUsage, text));
            }
        }
        Ok(())
    }

    /// The definition of a table with the names that were met.
    pub(super) fn table(&self, table: Arc<Table>) -> Arc<Table> {
        if !table.knows_names() {
            return table;
        }
        let mut met = self.met.lock();
        let names = met.tables.entry(table.id).or_default();
        if let Some(known) = &names.widened
            && wide::is_same(known, &table)
        {
            return Arc::clone(known);
        }
        let made = wide::widened(&table, &names.names);
        names.widened = Some(Arc::clone(&made));
        made
    }

    /// Lets `*` of a table stand for these names too.
    pub fn show(&self, table: TableId, names: Vec<String>) {
        let mut met = self.met.lock();
        let known = met.tables.entry(table).or_default();
        for name in &names {
            if !known.names.contains(name) {
                known.names.push(name.clone());
            }
        }
        known.shown = names;
        known.widened = None;
    }

    /// Those that `*` of a table stands for besides the declared columns, as positions.
    pub(super) fn shown(&self, table: &Table) -> Vec<usize> {
        let met = self.met.lock();
        let names = met.tables.get(&table.id).map(|known| &known.shown);
        let names = names.into_iter().flatten();
        // A time of writing is shown where it is named.
        let places = names.filter_map(|name| table.named_idx(name));
        let is_cell = |idx: &usize| {
            let column = table.columns.get(*idx);
            column.is_some_and(|column| column.place == ColumnPlace::Named)
        };
        places.filter(is_cell).collect()
    }

    /// Notes a name.
    ///
    /// # Errors
    /// 1166 for a name that no column can have, 1059 for one that is too long, 1117 for too many.
    pub(super) fn meet(&self, table: &Table, name: &str) -> Result<()> {
        check_name(name)?;
        let mut met = self.met.lock();
        met.has_grown = true;
        let known = met.tables.entry(table.id).or_default();
        let name = name.to_ascii_lowercase();
        if !known.names.contains(&name) {
            known.names.push(name);
        }
        if NAMES_MAX < known.names.len() {
            let text = format!(
                "Too many columns: a statement can name {NAMES_MAX} undeclared ones of a table"
            );
            return Err(Error::new(Code::TooManyColumns, text));
        }
        Ok(())
    }

    /// Whether names were met since the last round, which were not known in it.
    fn has_grown(&self) -> bool {
        let mut met = self.met.lock();
        if !met.has_grown {
            return false;
        }
        met.has_grown = false;
        for known in met.tables.values_mut() {
            known.widened = None;
        }
        true
    }
}

/// # Errors
/// 1166 and 1059.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        let text = format!("Incorrect column name '{name}'");
        return Err(Error::new(Code::WrongFieldSpecifier, text));
    }
    if NAME_BYTES_MAX < name.len() {
        let text = format!(
            "Identifier name '{name}' is too long: {} bytes, the most of an undeclared column is \
             {NAME_BYTES_MAX}",
            name.len()
        );
        return Err(Error::new(Code::IdentifierTooLong, text));
    }
    Ok(())
}

/// Binds a statement until all names without declaration are known.
///
/// # Errors
/// Those of `bound`.
pub fn rounds<T>(
    names: &Names<'_>,
    widening: &Widening,
    mut bound: impl FnMut(&Names<'_>) -> Result<T>,
) -> Result<T> {
    for _ in 0..ROUNDS_MAX {
        widening.forget_stars(0);
        let numbering = Numbering::default();
        let round = Names {
            numbering: &numbering,
            widening: Some(widening),
            ..*names
        };
        let result = bound(&round);
        // What failed may have failed for want of a name.
        if !widening.has_grown() {
            return result.and_then(|bound| widening.check_stars().map(|()| bound));
        }
    }
    Err(Error::internal("names that are new in each round"))
}

impl Names<'_> {
    /// The position of a column that is not declared; `None` when the table takes no such name, and
    /// in the round that first meets it.
    ///
    /// # Errors
    /// As [`Widening::meet`].
    pub(super) fn undeclared(&self, table: &Table, name: &str) -> Result<Option<usize>> {
        let known = if name == wide::OTHERS {
            table.others_idx()
        } else {
            table.named_idx(name)
        };
        if known.is_some() {
            return Ok(known);
        }
        if let Some(widening) = self.widening
            && table.named_type(name).is_some()
        {
            widening.meet(table, name)?;
        }
        Ok(None)
    }
}

impl Scope<'_> {
    /// The place of a name without declaration.
    ///
    /// # Errors
    /// 1052 when several tables take the name; those of [`Widening::meet`].
    pub(super) fn undeclared_place(&self, name: &ColumnName) -> Result<Option<Place>> {
        let Some((position, table)) = self.taker(name)? else {
            return Ok(None);
        };
        let idx = self.names.undeclared(table, &name.column)?;
        Ok(idx.map(|idx| (position, idx)))
    }

    /// A column without declaration. In the round that first meets it something stands for it.
    ///
    /// # Errors
    /// As [`Scope::undeclared_place`].
    pub(super) fn undeclared(&self, name: &ColumnName) -> Result<Option<Expr>> {
        if let Some(place) = self.undeclared_place(name)? {
            return Ok(self.from.column(place));
        }
        let taker = self.taker(name)?.filter(|_| self.names.widening.is_some());
        let ty = taker.and_then(|(_, table)| table.named_type(&name.column));
        Ok(ty.map(|ty| Expr {
            kind: ExprKind::Literal(Value::Null),
            ty,
            nullable: true,
        }))
    }

    /// The only table that takes a name.
    fn taker(&self, name: &ColumnName) -> Result<Option<(usize, &Arc<Table>)>> {
        let (database, table) = (name.database.as_deref(), name.table.as_deref());
        let mut found = None;
        let sources = self.from.sources.iter().enumerate();
        for (position, source) in sources.skip(self.from.first_seen) {
            let Some(own) = source.table().filter(|_| source.is_named(database, table)) else {
                continue;
            };
            let is_known = own.named_idx(&name.column).is_some() || name.column == wide::OTHERS;
            if !is_known && own.named_type(&name.column).is_none() {
                continue;
            }
            if found.replace((position, own)).is_some() {
                return Err(self.ambiguous(name));
            }
        }
        Ok(found)
    }
}
