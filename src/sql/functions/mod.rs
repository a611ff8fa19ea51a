//! The registry of scalar functions: one row per name, with arity, type, stability and body.
//!
//! From its rows come binding, `SHOW FUNCTIONS` and the page `docs/functions.md` ([`catalogue`]).
//! Aggregates are not here (`sql/aggregate`), nor are operators and special forms that have a node
//! of their own in [`super::expr`]. The parser maps MySQL's odd syntaxes to plain calls:
//!
//! ```text
//!   TRIM([BOTH] x FROM s)        TRIM(s, x)         without x: TRIM(s)
//!   TRIM(LEADING x FROM s)       LTRIM(s, x)        TRIM(TRAILING x FROM s)   RTRIM(s, x)
//!   SUBSTRING(s FROM a FOR n)    SUBSTRING(s, a, n)
//!   POSITION(x IN s)             LOCATE(x, s)
//!   EXTRACT(unit FROM d)         EXTRACT('UNIT', d)           first argument a text literal
//!   TIMESTAMPDIFF(unit, a, b)    TIMESTAMPDIFF('UNIT', a, b)  also TIMESTAMPADD
//!   a -> p                       JSON_EXTRACT(a, p)
//!   a ->> p                      JSON_UNQUOTE(JSON_EXTRACT(a, p))
//!   a || b (PIPES_AS_CONCAT)     CONCAT(a, b)
//!   a MEMBER OF (b)              MEMBER_OF(a, b)
//!   a SOUNDS LIKE b              SOUNDEX(a) = SOUNDEX(b)
//!   CHAR(n USING utf8mb4)        CAST(CHAR(n) AS CHAR)
//!   JSON_VALUE(d, p RETURNING t) CAST(JSON_VALUE(d, p) AS t)  bound as a call of type t
//!   WEIGHT_STRING(s AS CHAR(n))  WEIGHT_STRING(s, 'CHAR', n)
//!   ADDDATE(d, INTERVAL n unit)  `ExprKind::DateShift`; ADDDATE(d, n) is a call
//!   CURRENT_DATE, NOW()…         calls, with or without parentheses
//! ```

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

use super::context::EvalContext;
use super::eval::fold::Stability;
use super::eval::{convert, digits, print};
use super::expr::{Expr, ExprKind, Row};
use crate::ceiling::{self, Held};
use crate::error::{Code, Error, Result};
use crate::types::{ColumnType, Value};

/// Declares one static table of [`Function`]s of one [`Category`], a line per name:
/// `"NAME" least..most "arguments" type, nullability, stability, Kind(body), "doc";`
macro_rules! functions {
    ($(#[$meta:meta])* $table:ident of $category:ident: $($name:literal $min:literal..$max:tt $args:literal $ty:path, $null:ident, $stable:ident, $kind:ident($body:path), $doc:literal;)*) => {
        $(#[$meta])*
        pub(super) static $table: &[crate::sql::functions::Function] = &[$(
            crate::sql::functions::Function {
                name: $name,
                category: crate::sql::functions::Category::$category,
                arguments: $args,
                args_min: $min,
                args_max: functions!(@max $max),
                result_type: $ty,
                nullability: crate::sql::functions::Nullability::$null,
                stability: crate::sql::eval::fold::Stability::$stable,
                body: crate::sql::functions::Body::$kind($body),
                doc: $doc,
            },
        )*];
    };
    (@max many) => { None };
    (@max $max:literal) => { Some($max) };
}

pub(crate) mod assign;
mod bit_text;
mod calendar;
pub mod catalogue;
mod clock;
mod code;
mod compress;
mod control;
mod date_format;
mod date_math;
mod date_parse;
mod digest;
mod field;
mod growing;
mod info;
pub(crate) mod json;
mod json_change;
mod json_contents;
mod json_path;
mod json_schema;
mod json_schema_check;
mod json_show;
pub mod json_table;
mod load_file;
mod locale;
pub mod lock;
mod math;
mod name_const;
mod network;
mod numeric;
mod pause;
pub mod random;
mod regexp;
mod result;
mod search;
mod soundex;
mod text;
mod units;
mod uuid;
mod watch;

#[cfg(test)]
mod tests;

/// One function of the registry.
#[derive(Debug)]
pub struct Function {
    /// The name, upper case.
    pub name: &'static str,
    /// Where the documentation lists it.
    pub category: Category,
    /// The arguments as the documentation shows them: `str, pos [, len]`.
    pub arguments: &'static str,
    /// The least number of arguments.
    pub args_min: usize,
    /// The largest number of arguments; `None` when only the statement's size bounds it.
    pub args_max: Option<usize>,
    /// The type of the result, from the bound arguments.
    pub result_type: fn(&[Expr]) -> ColumnType,
    /// When the result can be `NULL`.
    pub nullability: Nullability,
    /// For how long the result stays the same, given the same arguments.
    pub stability: Stability,
    /// What computes it.
    pub body: Body,
    /// What it does, in one line.
    pub doc: &'static str,
}

impl Function {
    /// Whether a call with `args_count` arguments is allowed; if not: error 1582.
    pub fn accepts(&self, args_count: usize) -> bool {
        self.args_min <= args_count && self.args_max.is_none_or(|max| args_count <= max)
    }

    /// Whether a call with these arguments can be `NULL`.
    pub fn is_nullable(&self, args: &[Expr]) -> bool {
        match self.nullability {
            Nullability::Never => false,
            Nullability::Always => true,
            Nullability::AnyArgument => args.iter().any(|arg| arg.nullable),
            Nullability::AllArguments => args.iter().all(|arg| arg.nullable),
        }
    }
}

/// Chapters of the documentation, those of MySQL's manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the chapter of the same name")]
pub enum Category {
    Comparison,
    ControlFlow,
    Numeric,
    Text,
    DateAndTime,
    Cast,
    Bit,
    Json,
    Digest,
    Information,
    Locking,
    Miscellaneous,
    Aggregate,
}

impl Category {
    /// Every category, in the order of the documentation.
    pub const ALL: &'static [Category] = &[
        Category::Comparison,
        Category::ControlFlow,
        Category::Numeric,
        Category::Text,
        Category::DateAndTime,
        Category::Cast,
        Category::Bit,
        Category::Json,
        Category::Digest,
        Category::Information,
        Category::Locking,
        Category::Miscellaneous,
        Category::Aggregate,
    ];

    /// The heading.
    pub fn title(self) -> &'static str {
        match self {
            Category::Comparison => "Comparison",
            Category::ControlFlow => "Control flow",
            Category::Numeric => "Numeric",
            Category::Text => "String",
            Category::DateAndTime => "Date and time",
            Category::Cast => "Cast",
            Category::Bit => "Bit",
            Category::Json => "JSON",
            Category::Digest => "Digest and compression",
            Category::Information => "Information",
            Category::Locking => "Locking",
            Category::Miscellaneous => "Miscellaneous",
            Category::Aggregate => "Aggregate",
        }
    }
}

/// When the result of a function can be `NULL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nullability {
    /// Never.
    Never,
    /// When an argument can be.
    AnyArgument,
    /// When all arguments can be.
    AllArguments,
    /// Also when no argument is.
    Always,
}

/// What computes a function.
#[derive(Debug)]
pub enum Body {
    /// From its arguments' values; `NULL` without a call when one of them is `NULL`, and those behind it
    /// are not evaluated.
    Strict(for<'a> fn(&[Value<'a>], &Call<'a>) -> Result<Value<'a>>),
    /// As `Strict`, where MySQL evaluates all arguments before it looks for `NULL`: what is out of range
    /// behind one is an error.
    StrictOfAll(for<'a> fn(&[Value<'a>], &Call<'a>) -> Result<Value<'a>>),
    /// From its arguments' values, `NULL` included.
    Eager(for<'a> fn(&[Value<'a>], &Call<'a>) -> Result<Value<'a>>),
    /// From its unevaluated arguments; it evaluates those it needs.
    Lazy(for<'a> fn(&Call<'a>) -> Result<Value<'a>>),
}

/// The call that a [`Body`] answers.
pub struct Call<'a> {
    /// The function.
    pub function: &'static Function,
    /// The bound arguments.
    pub args: &'a [Expr],
    /// The type that the result must have.
    pub ty: &'a ColumnType,
    /// The input row of the arguments.
    pub row: &'a dyn Row,
    /// Clock, session, warnings.
    pub ctx: &'a EvalContext,
}

/// Bytes of the longest text that a function makes: `max_allowed_packet`.
pub const RESULT_BYTES_MAX: usize = 64 << 20;

/// Results from so many bytes on are asked for one by one.
pub(crate) const ASKED_BYTES_MIN: usize = 1 << 20;

/// Results from so many bytes on are asked for together: a row may have thousands. Shorter ones are less than
/// what the words of their call are asked for.
pub(crate) const DRIPPED_BYTES_MIN: usize = 1 << 10;

/// The memory of a result that is being made: a large one counts as taken until this is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Room {
    _held: Option<Held>,
}

/// Room for a result of so many bytes; `None` when it may not be made, as warning 1301 says.
///
/// # Errors
/// 1041 when the process has no memory for it.
pub(crate) fn fits(bytes: Option<usize>, name: &str, ctx: &EvalContext) -> Result<Option<Room>> {
    let Some(bytes) = bytes.filter(|bytes| *bytes <= RESULT_BYTES_MAX) else {
        convert::warn(ctx, Code::PacketOverflowed, || {
            let name = name.to_ascii_lowercase();
            format!(
                "Result of {name}() was larger than max_allowed_packet ({RESULT_BYTES_MAX}) - \
                 truncated"
            )
        });
        return Ok(None);
    };
    room(bytes, || format!("{}()", name.to_ascii_lowercase())).map(Some)
}

/// Room for so many bytes. Who wants them is named only where that is told: there may be a call for each value.
///
/// # Errors
/// 1041 when the process has no memory for them.
pub(crate) fn room(bytes: usize, who: impl FnOnce() -> String) -> Result<Room> {
    let held = if bytes < DRIPPED_BYTES_MIN {
        None
    } else if bytes < ASKED_BYTES_MIN {
        ceiling::ask_dripping(bytes).map_err(|shortage| shortage.error(&who()))?;
        None
    } else {
        Some(ceiling::hold(&who(), bytes)?)
    };
    Ok(Room { _held: held })
}

impl<'a> Call<'a> {
    /// The argument at `idx`; `NULL` when it was not given.
    fn arg<'v>(values: &'v [Value<'a>], idx: usize) -> &'v Value<'a> {
        values.get(idx).unwrap_or(&Value::Null)
    }

    /// The text of the argument at `idx`; empty when it was not given.
    fn text<'v>(&self, values: &'v [Value<'a>], idx: usize) -> Cow<'v, str> {
        match (values.get(idx), self.args.get(idx)) {
            (Some(value @ (Value::Decimal(_) | Value::Double(_))), Some(arg)) => {
                let spelled = digits::spelled(value.clone(), arg);
                Cow::Owned(convert::into_text(spelled, self.ctx).into_owned())
            }
            (Some(value), _) => convert::text(value, self.ctx),
            (None, _) => Cow::Borrowed(""),
        }
    }

    /// The argument at `idx` as a count or position; 0 when it was not given.
    fn count(&self, values: &[Value<'a>], idx: usize) -> Result<i64> {
        values
            .get(idx)
            .map_or(Ok(0), |value| convert::count(value, self.ctx))
    }

    /// As [`Call::count`]; `default` when it was not given.
    fn count_or(&self, values: &[Value<'a>], idx: usize, default: i64) -> Result<i64> {
        values
            .get(idx)
            .map_or(Ok(default), |value| convert::count(value, self.ctx))
    }

    /// The argument at `idx` as a double; 0 when it was not given.
    fn double(&self, values: &[Value<'a>], idx: usize) -> Result<f64> {
        let value = values.get(idx).unwrap_or(&Value::Null);
        Ok(convert::double(value, self.ctx)?.unwrap_or(0.0))
    }

    /// Room for a result of so many bytes.
    ///
    /// # Errors
    /// As [`fits`].
    fn fits(&self, bytes: Option<usize>) -> Result<Option<Room>> {
        fits(bytes, self.function.name, self.ctx)
    }

    /// Whether a result of this capacity may become as long; asks each time it grows, and what it has
    /// asked for it has until the next time, when that is resident.
    ///
    /// # Errors
    /// As [`fits`].
    fn may_grow(&self, room: &mut Option<Room>, sizes: (usize, Option<usize>)) -> Result<bool> {
        let (capacity, bytes) = sizes;
        let has_room = |bytes| bytes <= capacity && bytes <= RESULT_BYTES_MAX;
        if bytes.is_some_and(has_room) {
            return Ok(true);
        }
        *room = None;
        *room = self.fits(bytes)?;
        Ok(room.is_some())
    }

    /// The text of the call, for errors.
    fn shown(&self) -> String {
        let expr = Expr {
            kind: ExprKind::Call(self.function, self.args.to_vec()),
            ty: self.ty.clone(),
            nullable: true,
        };
        print::text(&expr)
    }

    /// Error 1690.
    fn out_of_range(&self, kind: &str) -> Error {
        let text = format!("{kind} value is out of range in '{}'", self.shown());
        Error::new(Code::NumericOverflow, text)
    }
}

/// Bytes of all texts among values.
pub(crate) fn text_bytes(values: &[Value<'_>]) -> usize {
    let bytes = values.iter().map(|value| {
        if let Value::Text(text) | Value::Json(text) = value {
            text.len()
        } else if let Value::Bytes(bytes) = value {
            bytes.len()
        } else {
            0
        }
    });
    bytes.fold(0, usize::saturating_add)
}

/// A computed text.
fn of_text<'a>(text: impl Into<String>) -> Value<'a> {
    Value::Text(Cow::Owned(text.into()))
}

/// A number of characters, bytes or members.
fn of_count<'a>(count: usize) -> Value<'a> {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Every function, ordered by name.
static BY_NAME: LazyLock<Vec<&'static Function>> = LazyLock::new(|| {
    let tables = [
        bit_text::TABLE,
        bit_text::BITS,
        calendar::TABLE,
        clock::TABLE,
        code::TABLE,
        code::NUMBERS,
        compress::TABLE,
        control::TABLE,
        control::COMPARISONS,
        date_format::TABLE,
        date_math::TABLE,
        date_parse::TABLE,
        digest::TABLE,
        info::TABLE,
        json::TABLE,
        json_change::TABLE,
        json_contents::TABLE,
        json_schema::TABLE,
        json_show::TABLE,
        load_file::TABLE,
        lock::TABLE,
        math::TABLE,
        name_const::TABLE,
        network::TABLE,
        numeric::TABLE,
        pause::TABLE,
        random::TABLE,
        regexp::TABLE,
        search::TABLE,
        soundex::TABLE,
        text::TABLE,
        units::TABLE,
        units::NUMBERS,
        uuid::TABLE,
    ];
    let mut all: Vec<&'static Function> = tables.iter().flat_map(|table| table.iter()).collect();
    all.sort_by_key(|function| function.name);
    all
});

/// Every function, ordered by name.
pub fn all() -> &'static [&'static Function] {
    &BY_NAME
}

/// The function of this name, in any case.
pub fn find(name: &str) -> Option<&'static Function> {
    let at = BY_NAME.binary_search_by(|function| cmp_upper(function.name, name));
    at.ok().and_then(|idx| BY_NAME.get(idx).copied())
}

fn cmp_upper(upper: &str, name: &str) -> Ordering {
    upper
        .bytes()
        .cmp(name.bytes().map(|byte| byte.to_ascii_uppercase()))
}
