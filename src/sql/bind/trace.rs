//! What names meant: kept while the query of a view is bound, so that its text can say it.
//!
//! A name is known by where it stands in the syntax tree, which stays in place meanwhile.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

use crate::sql::ast::text::Spelling;
use crate::sql::ast::{ColumnName, Expr, SelectItem, TableName};

/// What the names of a statement meant.
#[derive(Debug, Default)]
pub struct Trace {
    met: Mutex<Met>,
}

#[derive(Debug, Default)]
struct Met {
    columns: HashMap<usize, ColumnName>,
    stars: HashMap<usize, Vec<ColumnName>>,
    /// The databases of tables and views.
    tables: HashMap<usize, String>,
    /// Texts that give bytes in digits (`bind/hex`).
    digits: HashSet<usize>,
    /// The operands of each `LIKE` without escape character.
    unescaped: HashSet<usize>,
    /// Views, those within views too: their databases and names.
    views: HashSet<(String, String)>,
}

/// Where something stands in memory.
fn place<T>(of: &T) -> usize {
    std::ptr::from_ref(of).addr()
}

impl Trace {
    pub(super) fn column(&self, name: &ColumnName, meant: ColumnName) {
        self.met.lock().columns.insert(place(name), meant);
    }

    pub(super) fn star(&self, star: &SelectItem, meant: Vec<ColumnName>) {
        self.met.lock().stars.insert(place(star), meant);
    }

    pub(super) fn table(&self, name: &TableName, database: &str) {
        let database = database.to_owned();
        self.met.lock().tables.insert(place(name), database);
    }

    pub(super) fn digits(&self, text: &Expr) {
        self.met.lock().digits.insert(place(text));
    }

    pub(super) fn unescaped(&self, operands: &(Expr, Expr)) {
        self.met.lock().unescaped.insert(place(operands));
    }

    pub(super) fn view(&self, database: &str, name: &str) {
        let view = (database.to_owned(), name.to_owned());
        self.met.lock().views.insert(view);
    }

    /// Whether the view was named, by the statement or by a view that it names.
    pub fn has_view(&self, database: &str, name: &str) -> bool {
        let view = (database.to_owned(), name.to_owned());
        self.met.lock().views.contains(&view)
    }
}

impl Spelling for Trace {
    fn column(&self, name: &ColumnName) -> ColumnName {
        let met = self.met.lock();
        met.columns.get(&place(name)).unwrap_or(name).clone()
    }

    fn table(&self, name: &TableName) -> TableName {
        let met = self.met.lock();
        let database = met.tables.get(&place(name)).cloned();
        TableName {
            database: database.or_else(|| name.database.clone()),
            name: name.name.clone(),
        }
    }

    fn star(&self, star: &SelectItem) -> Option<Vec<ColumnName>> {
        self.met.lock().stars.get(&place(star)).cloned()
    }

    fn gives_bytes(&self, text: &Expr) -> bool {
        self.met.lock().digits.contains(&place(text))
    }

    fn is_unescaped(&self, operands: &(Expr, Expr)) -> bool {
        self.met.lock().unescaped.contains(&place(operands))
    }
}
