//! Why an access path was taken or not: data, rendered in one place.
//!
//! EXPLAIN, the text of a refusal and the advisor print these; none of them repeats the planner's
//! reasoning.

use std::fmt;

/// What the planner found out about one way to read the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Which way.
    pub path: Path,
    /// Whether it is the one chosen; none is when the statement is refused.
    pub is_taken: bool,
    /// Why, or why not.
    pub reason: Reason,
}

/// A way to read a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Path {
    /// By the primary key of these columns.
    PrimaryKey(Vec<String>),
    /// By a secondary index.
    Index {
        /// Its name.
        name: String,
        /// Its columns.
        columns: Vec<String>,
    },
    /// Every row.
    FullScan,
}

/// Why a path was taken or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The predicate cannot be true.
    Contradiction,
    /// `LIMIT 0`.
    NoRowsWanted,
    /// Every part of the key has one value.
    OneKey,
    /// Every part of the key has a list of values.
    Keys {
        /// How many combinations there are.
        count: usize,
    },
    /// The leftmost parts of the key are bounded.
    Bounded {
        /// The columns that bound the spans.
        columns: Vec<String>,
        /// What ended the match before the last part.
        end: End,
    },
    /// The first column has few values, and the columns behind it are bounded.
    Skip {
        /// The first column.
        column: String,
        /// How many values it has.
        count: usize,
        /// What else bounds the spans.
        columns: Vec<String>,
    },
    /// No condition names the first column of the key.
    NoCondition {
        /// The column.
        column: String,
    },
    /// A condition names the first column and cannot bound it.
    Blocked {
        /// The column.
        column: String,
        /// The condition, as SQL.
        condition: String,
        /// Why.
        obstacle: Obstacle,
    },
    /// It would do, and another path is better.
    Worse {
        /// The other path.
        than: String,
        /// What the other has.
        because: Advantage,
    },
    /// Nothing bounds what is read but LIMIT, and it gives the order.
    InOrder,
    /// All of a partial index, as the conditions imply its own.
    Partial {
        /// The condition of the index, as SQL.
        predicate: String,
    },
    /// A partial index may lack rows that are wanted.
    NotImplied {
        /// The condition of the index, as SQL.
        predicate: String,
    },
    /// The number of rows is known without it.
    Counted,
    /// MIN and MAX are the first and the last of its spans.
    Ends,
    /// It bounds a side of an OR, and other keys the other sides.
    United,
    /// It bounds a side of an AND, and another index another side.
    Crossed,
    /// A hint names it to be ignored.
    Ignored,
    /// A hint names other indexes.
    NotNamed,
    /// The index is not in a state to be read; its name.
    Unreadable(&'static str),
    /// The transaction sees a state of before the definitions of now.
    OlderView,
    /// A keyed path is there.
    NotNeeded,
    /// Nothing bounds the rows, and this permits it.
    Permitted(Permission),
    /// Nothing bounds the rows, and nothing permits it.
    Refused,
}

/// What one path has that another has not, in the order in which paths are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advantage {
    /// It finds one row, or rows by their full keys.
    FullKeys,
    /// More columns have one value, or a list of them.
    EqualParts,
    /// It needs no lookup of rows.
    Covering,
    /// It gives the order of ORDER BY.
    Order,
    /// A range bounds one column more.
    Range,
    /// MIN and MAX are the first and the last of its spans.
    Ends,
    /// It reads fewer rows.
    Rows {
        /// About how many it reads.
        rows: u64,
        /// About how many the other reads; `None` when it was not counted, as these are few.
        against: Option<u64>,
        /// Whether the other must look up rows, and this one not.
        is_looked_up: bool,
    },
    /// Nothing: it comes first.
    Place,
}

/// What ended the leftmost match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All parts are used.
    LastPart,
    /// This column is bounded by a range.
    Range(String),
    /// This column has no condition that bounds it.
    NoCondition(String),
    /// More combinations than the planner builds.
    TooManySpans,
}

/// What permits a full scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// `_l_allow_filtering_`.
    Hint,
    /// `--allow-full-scan` or `sql_big_selects`.
    Setting,
    /// `SQL_NO_CACHE`, and no filter, grouping or sorting: a dump.
    Whole,
    /// No filter, grouping or sorting, and a small LIMIT.
    Limit,
}

/// Why a condition cannot bound a key column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A text column is compared with a number: many texts are one number.
    ComparesAsNumbers,
    /// A number or a time is matched as text.
    ComparesAsText,
    /// A text is compared with a date or time: many texts are one date.
    ComparesAsTimes,
    /// A text column is compared with bytes that are no text.
    ComparesAsBytes,
    /// The text is not a value of the column's type.
    NotAValue,
    /// An ENUM is compared with a text by `<` or `>`: labels are not ordered as members.
    EnumOrder,
    /// The column stands inside a function or an arithmetic expression.
    Wrapped,
    /// It is compared with something that differs from row to row.
    NotConstant,
    /// One side of an OR does not bound the column.
    UnboundedOr,
    /// The LIKE pattern begins with a wildcard.
    LeadingWildcard,
    /// The condition is true for every row.
    AlwaysTrue,
    /// More alternatives than the planner follows.
    TooManyAlternatives,
    /// The comparison is less exact than the column.
    Inexact,
    /// The values have no order that a key could follow.
    Unordered,
    /// An operator that bounds nothing (XOR, REGEXP, NOT LIKE, CASE…).
    Operator,
    /// The part of the key that is computed from the column by this function needs its value.
    NeedsValue(&'static str),
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::PrimaryKey(columns) => write!(f, "primary key ({})", columns.join(", ")),
            Path::Index { name, columns } => {
                write!(f, "index \"{name}\" ({})", columns.join(", "))
            }
            Path::FullScan => f.write_str("full scan"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Contradiction => f.write_str("the condition is never true"),
            Reason::NoRowsWanted => f.write_str("LIMIT 0 wants no row"),
            Reason::OneKey => f.write_str("every column has one value"),
            Reason::Keys { count } => {
                write!(f, "every column has a list of values, {count} keys in all")
            }
            Reason::Bounded { columns, end } => {
                write!(f, "bounded by {}; {end}", columns.join(", "))
            }
            Reason::Skip {
                column,
                count,
                columns,
            } => {
                let columns = columns.join(", ");
                write!(
                    f,
                    "skips through {count} values of {column}; bounded by {columns}"
                )
            }
            Reason::NoCondition { column } => {
                write!(f, "no condition on {column}, the first column")
            }
            Reason::Blocked {
                column,
                condition,
                obstacle,
            } => write!(
                f,
                "the condition on {column}, the first column, cannot use it: {condition} {obstacle}"
            ),
            Reason::Worse { than, because } => write!(f, "would do, but {than} {because}"),
            Reason::InOrder => f.write_str("gives the order, and LIMIT bounds what is read"),
            Reason::Partial { predicate } => write!(f, "has just the rows WHERE {predicate}"),
            Reason::NotImplied { predicate } => write!(
                f,
                "has just the rows WHERE {predicate}, which the conditions do not imply"
            ),
            Reason::Counted => f.write_str("not needed: the number of rows is kept"),
            Reason::Ends => f.write_str("has what is asked for at the ends of its spans"),
            Reason::United => f.write_str("bounds a side of the OR; the rows are united"),
            Reason::Crossed => f.write_str(
                "bounds a side of the AND; only rows that both indexes find are looked up",
            ),
            Reason::Ignored => f.write_str("ignored by a hint"),
            Reason::NotNamed => f.write_str("a hint names other indexes"),
            Reason::Unreadable(state) => write!(f, "is {state}"),
            Reason::OlderView => {
                f.write_str("cannot be used by a transaction that is older than the definitions")
            }
            Reason::NotNeeded => f.write_str("not needed"),
            Reason::Permitted(permission) => write!(f, "permitted by {permission}"),
            Reason::Refused => f.write_str("not permitted"),
        }
    }
}

impl Path {
    /// MySQL's name of the key; `None` for a full scan.
    pub(super) fn key_name(&self) -> Option<&str> {
        match self {
            Path::PrimaryKey(_) => Some("PRIMARY"),
            Path::Index { name, .. } => Some(name),
            Path::FullScan => None,
        }
    }
}

impl Reason {
    /// Whether the path bounds what is read, taken or not.
    pub(super) fn is_keyed(&self) -> bool {
        match self {
            Reason::OneKey
            | Reason::Keys { .. }
            | Reason::Bounded { .. }
            | Reason::Skip { .. }
            | Reason::Worse { .. }
            | Reason::InOrder
            | Reason::Partial { .. }
            | Reason::Ends
            | Reason::United
            | Reason::Crossed => true,
            Reason::Contradiction
            | Reason::Counted
            | Reason::NoRowsWanted
            | Reason::NoCondition { .. }
            | Reason::Blocked { .. }
            | Reason::NotImplied { .. }
            | Reason::Ignored
            | Reason::NotNamed
            | Reason::Unreadable(_)
            | Reason::OlderView
            | Reason::NotNeeded
            | Reason::Permitted(_)
            | Reason::Refused => false,
        }
    }
}

impl fmt::Display for Advantage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Advantage::Rows {
            rows,
            against,
            is_looked_up,
        } = self
        {
            let plural = if *rows == 1 { "" } else { "s" };
            write!(f, "reads about {rows} row{plural}")?;
            return match against {
                Some(against) if *is_looked_up => {
                    write!(f, " against {against} entries and their rows")
                }
                Some(against) => write!(f, " against {against}"),
                None => f.write_str(", few enough"),
            };
        }
        f.write_str(match self {
            Advantage::FullKeys => "has full keys",
            Advantage::EqualParts => "has values for more columns",
            Advantage::Covering => "needs no lookup of rows",
            Advantage::Order => "gives the order",
            Advantage::Range => "is bounded by a range too",
            Advantage::Ends => "has what is asked for at the ends of its spans",
            Advantage::Rows { .. } => "reads fewer rows",
            Advantage::Place => "comes first",
        })
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::LastPart => f.write_str("all columns are used"),
            End::Range(column) => write!(f, "the range on {column} ends the match"),
            End::NoCondition(column) => write!(f, "no condition bounds {column}"),
            End::TooManySpans => {
                f.write_str("more combinations than the planner builds, so the rest is filtered")
            }
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Permission::Hint => "the hint _l_allow_filtering_",
            Permission::Setting => "sql_big_selects or --allow-full-scan",
            Permission::Whole => "SQL_NO_CACHE, as it reads the table whole",
            Permission::Limit => "its LIMIT",
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Obstacle::NeedsValue(function) = self {
            return write!(f, "is neither = nor IN, which {function} needs");
        }
        f.write_str(match self {
            Obstacle::NeedsValue(_) => "is neither = nor IN",
            Obstacle::ComparesAsNumbers => "compares as numbers, which is not the order of the key",
            Obstacle::ComparesAsText => "compares as texts, which is not the order of the key",
            Obstacle::ComparesAsTimes => "compares as times, which is not the order of the key",
            Obstacle::ComparesAsBytes => "compares with bytes that are not text",
            Obstacle::NotAValue => "compares with what is not a value of the column's type",
            Obstacle::EnumOrder => "compares labels, but the key is in the order of the members",
            Obstacle::Wrapped => "hides the column in an expression",
            Obstacle::NotConstant => "compares with something that differs from row to row",
            Obstacle::UnboundedOr => "has an OR with a side that does not bound the column",
            Obstacle::LeadingWildcard => "begins with a wildcard",
            Obstacle::AlwaysTrue => "is true for every row",
            Obstacle::TooManyAlternatives => "has more alternatives than the planner follows",
            Obstacle::Inexact => "compares less exactly than the column stores",
            Obstacle::Unordered => "compares in an order that the key does not have",
            Obstacle::Operator => "has an operator that bounds nothing",
        })
    }
}
