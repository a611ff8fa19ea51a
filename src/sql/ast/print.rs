//! Expressions as text: operators in prefix form inside parentheses, as goldens show them.

use std::fmt;

use super::{Call, ColumnName, Expr, Literal};

impl fmt::Debug for Expr {
    #[expect(clippy::too_many_lines, reason = "one arm per kind: a list, not logic")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Literal(literal) => literal.fmt_sql(f),
            Expr::Column(name) => write!(f, "{name}"),
            Expr::Parameter(position) => write!(f, "?{position}"),
            Expr::UserVariable(name) => write!(f, "@{name}"),
            Expr::Assign(name, value) => write!(f, "(:= @{name} {value:?})"),
            Expr::SystemVariable(scope, name) => write!(f, "@@{scope:?}.{name}"),
            Expr::Unary(op, expr) => write!(f, "({op:?} {expr:?})"),
            Expr::Binary(op, both) => write!(f, "({op:?} {:?} {:?})", both.0, both.1),
            Expr::Compare(op, both) => write!(f, "({op:?} {:?} {:?})", both.0, both.1),
            Expr::And(all) => list(f, "And", all),
            Expr::Or(all) => list(f, "Or", all),
            Expr::Xor(both) => write!(f, "(Xor {:?} {:?})", both.0, both.1),
            Expr::Not(expr) => write!(f, "(Not {expr:?})"),
            Expr::IsNull { expr, negated } => write!(f, "({}IsNull {expr:?})", not(*negated)),
            Expr::IsTruth {
                expr,
                truth,
                negated,
            } => {
                write!(f, "({}Is {expr:?} {truth:?})", not(*negated))
            }
            Expr::InList {
                expr,
                list,
                negated,
            } => {
                write!(f, "({}In {expr:?} {list:?})", not(*negated))
            }
            Expr::InSelect {
                expr,
                select,
                negated,
            } => {
                write!(f, "({}In {expr:?} {select:?})", not(*negated))
            }
            Expr::Quantified {
                expr,
                op,
                all,
                select,
            } => {
                let word = if *all { "All" } else { "Any" };
                write!(f, "({op:?}{word} {expr:?} {select:?})")
            }
            Expr::Between {
                expr,
                bounds,
                negated,
            } => {
                let (low, high) = bounds.as_ref();
                write!(f, "({}Between {expr:?} {low:?} {high:?})", not(*negated))
            }
            Expr::Like {
                operands,
                escape,
                negated,
            } => {
                write!(
                    f,
                    "({}Like {:?} {:?}",
                    not(*negated),
                    operands.0,
                    operands.1
                )?;
                match escape {
                    Some(escape) => write!(f, " escape {escape:?})"),
                    None => write!(f, ")"),
                }
            }
            Expr::Regexp { operands, negated } => {
                write!(
                    f,
                    "({}Regexp {:?} {:?})",
                    not(*negated),
                    operands.0,
                    operands.1
                )
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                write!(f, "(Case {operand:?} {branches:?} {otherwise:?})")
            }
            Expr::Cast(expr, target) => write!(f, "(Cast {expr:?} {target:?})"),
            Expr::ConvertUsing(expr, charset) => write!(f, "(Using {expr:?} {charset})"),
            Expr::Collate(expr, collation) => write!(f, "(Collate {expr:?} {collation})"),
            Expr::DateShift {
                operands,
                unit,
                negated,
            } => {
                let sign = if *negated { '-' } else { '+' };
                write!(
                    f,
                    "({sign}Interval {:?} {:?} {unit:?})",
                    operands.0, operands.1
                )
            }
            Expr::Call(call) => call.fmt_sql(f),
            Expr::Row(members) => list(f, "Row", members),
            Expr::Subquery(select) => write!(f, "(Subquery {select:?})"),
            Expr::Exists(select) => write!(f, "(Exists {select:?})"),
            Expr::Values(name) => write!(f, "(Values {name})"),
            Expr::DefaultOf(name) => write!(f, "(DefaultOf {name})"),
            Expr::Unsupported(what) => write!(f, "(Unsupported {what})"),
        }
    }
}

impl fmt::Display for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.database, &self.table].into_iter().flatten() {
            write!(f, "{part}.")?;
        }
        f.write_str(&self.column)
    }
}

impl Literal {
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Decimal(digits) => write!(f, "{digits}m"),
            Literal::Double(value) => write!(f, "{value:e}"),
            Literal::Text(text) => write!(f, "{text:?}"),
            Literal::Bytes(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
            Literal::Date(text) => write!(f, "DATE {text:?}"),
            Literal::Time(text) => write!(f, "TIME {text:?}"),
            Literal::Timestamp(text) => write!(f, "TIMESTAMP {text:?}"),
        }
    }
}

impl Call {
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        if self.distinct {
            f.write_str("DISTINCT ")?;
        }
        if self.star {
            f.write_str("*")?;
        }
        for (idx, arg) in self.args.iter().enumerate() {
            write!(f, "{}{arg:?}", if idx == 0 { "" } else { ", " })?;
        }
        if !self.order_by.is_empty() {
            write!(f, " ORDER BY {:?}", self.order_by)?;
        }
        if let Some(separator) = &self.separator {
            write!(f, " SEPARATOR {separator:?}")?;
        }
        f.write_str(")")?;
        match &self.over {
            Some(over) => write!(f, " OVER {over:?}"),
            None => Ok(()),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, name: &str, members: &[Expr]) -> fmt::Result {
    write!(f, "({name}")?;
    for member in members {
        write!(f, " {member:?}")?;
    }
    f.write_str(")")
}

fn not(negated: bool) -> &'static str {
    if negated { "Not" } else { "" }
}
