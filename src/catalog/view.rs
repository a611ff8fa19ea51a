//! What a view is: a query under a name. Immutable once published.
//!
//! The text of the query is kept as the server spells it: with the database before each table, with
//! the columns that `*` stood for when the view was made, and read back with the `sql_mode` that all
//! definitions are read with. What it means is found anew by each statement that names the view.

/// The definition of one view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The database it lives in.
    pub database: String,
    /// Its name.
    pub name: String,
    /// The names of its columns, when they were given; else the query's own.
    pub columns: Vec<String>,
    /// `ALGORITHM`.
    pub algorithm: ViewAlgorithm,
    /// Whose privileges it runs with under `SQL SECURITY DEFINER`: the user and the host.
    pub definer: (String, String),
    /// Whether it was made with `SQL SECURITY INVOKER`.
    pub by_invoker: bool,
    /// The query.
    pub query: String,
}

/// How a view becomes part of a query that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    /// Merged where it can be.
    Undefined,
    /// Likewise; that it can be was checked when it was made.
    Merge,
    /// Always run on its own.
    TempTable,
}

impl ViewAlgorithm {
    const ALL: [ViewAlgorithm; 3] = [
        ViewAlgorithm::Undefined,
        ViewAlgorithm::Merge,
        ViewAlgorithm::TempTable,
    ];

    /// The word for it, in SQL and where it is stored.
    pub fn name(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }

    /// The algorithm of that name, in any case.
    pub fn of_name(name: &str) -> Option<ViewAlgorithm> {
        let mut all = Self::ALL.into_iter();
        all.find(|algorithm| algorithm.name().eq_ignore_ascii_case(name))
    }
}
