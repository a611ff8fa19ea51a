//! Expressions.

use super::literal;
use super::operands::{
    comparable, operand_columns, same_width, take_type, type_of, typed, years_between,
    years_in_list,
};
use super::scope::Scope;
use super::{caseless, json_truth, operands, subquery};
use crate::error::{Code, Error, Result};
use crate::sql::ast;
use crate::sql::eval::typing;
use crate::sql::expr::{
    BinaryOp, CastType, CompareOp, Expr, ExprKind, IntervalUnit, UnaryOp, VariableScope,
};
use crate::sql::functions::{self, assign};
use crate::types::{ColumnType, Time, Value};

impl Scope<'_> {
    /// An expression with one value.
    ///
    /// # Errors
    /// 1054, 1305 and others of names; 1241 for a row.
    pub(super) fn value(&mut self, expr: &ast::Expr) -> Result<Expr> {
        match expr {
            ast::Expr::Row(_) => Err(operand_columns(1)),
            _ => self.operand(expr),
        }
    }

    /// An expression that may be a row.
    pub(super) fn operand(&mut self, expr: &ast::Expr) -> Result<Expr> {
        match expr {
            ast::Expr::Literal(constant) => literal::literal(constant, self.names.mode),
            ast::Expr::Column(name) => self.column(name),
            ast::Expr::Parameter(position) => Ok(self.parameter(*position, ColumnType::VARCHAR)),
            ast::Expr::UserVariable(name) => self.user_variable(name),
            ast::Expr::SystemVariable(scope, name) => self.system_variable(*scope, name),
            ast::Expr::Assign(name, value) => {
                self.names.numbering.begin_assigning();
                assign::assignment(name, self.value(value)?)
            }
            ast::Expr::Call(call) => self.call(call),
            ast::Expr::Row(members) => self.row(members),
            ast::Expr::Subquery(select) => self.scalar_subquery(select),
            ast::Expr::Exists(select) => self.exists(select),
            ast::Expr::InSelect {
                expr,
                select,
                negated,
            } => self.in_select(expr, select, *negated),
            ast::Expr::Quantified {
                expr,
                op,
                all,
                select,
            } => self.quantified((expr, *op), *all, select),
            ast::Expr::Values(name) => self.proposed_value(name),
            ast::Expr::DefaultOf(name) => self.default_of(name),
            ast::Expr::Unsupported(what) => Err(Error::unsupported(what)),
            _ => self.operator(expr),
        }
    }

    fn operator(&mut self, expr: &ast::Expr) -> Result<Expr> {
        match expr {
            ast::Expr::Unary(op, a) => self.unary(*op, a),
            ast::Expr::Binary(op, both) => self.binary(*op, both),
            ast::Expr::Compare(op, both) => self.compare(*op, both),
            ast::Expr::And(members) => self.logic(members, ExprKind::And),
            ast::Expr::Or(members) => self.logic(members, ExprKind::Or),
            ast::Expr::Xor(both) => {
                let (a, b) = (self.value(&both.0)?, self.value(&both.1)?);
                let nullable = a.nullable || b.nullable;
                Ok(truth(ExprKind::Xor(Box::new(a), Box::new(b)), nullable))
            }
            ast::Expr::Not(a) => {
                let a = self.value(a)?;
                let nullable = a.nullable;
                Ok(truth(ExprKind::Not(Box::new(a)), nullable))
            }
            ast::Expr::Cast(a, target) => self.cast(a, target),
            ast::Expr::ConvertUsing(a, charset) => self.convert_using(a, charset),
            ast::Expr::Collate(a, collation) => self.collate(a, collation),
            ast::Expr::DateShift {
                operands,
                unit,
                negated,
            } => self.date_shift(operands, *unit, *negated),
            ast::Expr::Case {
                operand,
                branches,
                otherwise,
            } => self.case(operand.as_deref(), branches, otherwise.as_deref()),
            _ => self.predicate(expr),
        }
    }

    fn predicate(&mut self, expr: &ast::Expr) -> Result<Expr> {
        match expr {
            ast::Expr::IsNull { expr, negated } => {
                let (expr, negated) = (Box::new(self.value(expr)?), *negated);
                Ok(truth(ExprKind::IsNull { expr, negated }, false))
            }
            ast::Expr::IsTruth {
                expr,
                truth: wanted,
                negated,
            } => {
                let (truth_wanted, negated) = (*wanted, *negated);
                let kind = ExprKind::IsTruth {
                    expr: Box::new(self.value(expr)?),
                    truth: truth_wanted,
                    negated,
                };
                Ok(truth(kind, false))
            }
            ast::Expr::InList {
                expr,
                list,
                negated,
            } => self.in_list(expr, list, *negated),
            ast::Expr::Between {
                expr,
                bounds,
                negated,
            } => self.between(expr, bounds, *negated),
            ast::Expr::Like {
                operands,
                escape,
                negated,
            } => self.like(operands, escape.as_deref(), *negated),
            ast::Expr::Regexp { operands, negated } => self.regexp(operands, *negated),
            _ => Err(Error::internal("an expression that no rule binds")),
        }
    }

    pub(super) fn values(&mut self, exprs: &[ast::Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    fn row(&mut self, members: &[ast::Expr]) -> Result<Expr> {
        let members = self.values(members)?;
        Ok(Expr {
            nullable: members.iter().any(|member| member.nullable),
            kind: ExprKind::Row(members),
            ty: ColumnType::Null,
        })
    }

    // Variables.

    /// A variable has the type that it has before the statement, a text if it has no value; within one that assigns
    /// variables it is read for each row, and made to be of that type.
    fn user_variable(&self, name: &str) -> Result<Expr> {
        let value = self.names.facts.user_variable(name);
        let ty = value.map_or_else(|| type_of(&Value::Null), |value| type_of(&value));
        if !self.names.numbering.is_assigning() {
            return Ok(Expr {
                ty,
                kind: ExprKind::UserVariable(name.to_owned()),
                nullable: true,
            });
        }
        let target = match &ty {
            ty if ty.is_integer() && ty.is_unsigned() => CastType::Unsigned,
            ty if ty.is_integer() => CastType::Signed,
            ColumnType::Double => CastType::Double,
            ty if ty.is_text() => CastType::Char(None),
            _ => return assign::reading(name, ty),
        };
        let read = assign::reading(name, ty.clone())?;
        Ok(Expr {
            kind: ExprKind::Cast(Box::new(read), target),
            ty,
            nullable: true,
        })
    }

    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Expr> {
        let current = self.names.facts.system_variable(scope, name)?;
        Ok(Expr {
            ty: type_of(&current),
            kind: ExprKind::SystemVariable {
                scope,
                name: name.to_owned(),
            },
            nullable: true,
        })
    }

    // Operators.

    fn unary(&mut self, op: UnaryOp, a: &ast::Expr) -> Result<Expr> {
        let a = literal::as_number(self.value(a)?);
        Ok(match op {
            UnaryOp::Negate => literal::negated(a),
            UnaryOp::BitNot => Expr {
                ty: typing::unary_type(op, &a),
                nullable: a.nullable,
                kind: ExprKind::Unary(op, Box::new(a)),
            },
        })
    }

    fn binary(&mut self, op: BinaryOp, both: &(ast::Expr, ast::Expr)) -> Result<Expr> {
        // Operators nest deeply: what is large stays out of this frame.
        let a = self.value(&both.0)?;
        let b = self.value(&both.1)?;
        Ok(self.of_operator(op, a, b))
    }

    fn of_operator(&self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        let (mut a, mut b) = operands::of_operator(op, a, b);
        if self.names.parameters.is_empty() {
            take_type(&mut a, &b);
            take_type(&mut b, &a);
        }
        let divides = matches!(
            op,
            BinaryOp::Divide | BinaryOp::IntegerDivide | BinaryOp::Modulo
        );
        Expr {
            ty: typing::binary_type_in(self.names.mode, op, (&a, &b)),
            nullable: divides || a.nullable || b.nullable,
            kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
        }
    }

    fn compare(&mut self, op: CompareOp, both: &(ast::Expr, ast::Expr)) -> Result<Expr> {
        subquery::check_beside_row(both)?;
        let (mut a, mut b) = (self.operand(&both.0)?, self.operand(&both.1)?);
        same_width(&a, &b)?;
        (a, b) = self.of_digits((a, b), both)?;
        (a, b) = comparable(a, b, self.columns_count());
        (a, b) = self.caseless(a, b);
        let may_be_null = a.nullable || b.nullable || may_be_no_moment(&a, &b);
        let nullable = op != CompareOp::NullSafeEqual && may_be_null;
        Ok(truth(
            ExprKind::Compare(op, Box::new(a), Box::new(b)),
            nullable,
        ))
    }

    fn logic(&mut self, members: &[ast::Expr], kind: fn(Vec<Expr>) -> ExprKind) -> Result<Expr> {
        let members = self.values(members)?;
        let nullable = members.iter().any(|member| member.nullable);
        Ok(truth(kind(members), nullable))
    }

    fn in_list(&mut self, expr: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        let mut expr = self.operand(expr)?;
        let mut members = Vec::with_capacity(list.len());
        for written in list {
            let member = self.operand(written)?;
            same_width(&expr, &member)?;
            let member = self.digits_beside(&expr, (member, written))?;
            let (left, member) = typed(expr, member);
            expr = left;
            members.push(member);
        }
        (expr, members) = years_in_list(expr, members, self.columns_count());
        if self.is_caseless(&expr) {
            expr = caseless::lower(expr);
            members = members.into_iter().map(caseless::lower).collect();
        }
        let mut nullable = expr.nullable || members.iter().any(|member| member.nullable);
        nullable |= members.iter().any(|member| may_be_no_moment(&expr, member));
        let kind = ExprKind::InList {
            expr: Box::new(expr),
            list: members,
            negated,
        };
        Ok(truth(kind, nullable))
    }

    fn between(
        &mut self,
        expr: &ast::Expr,
        bounds: &(ast::Expr, ast::Expr),
        negated: bool,
    ) -> Result<Expr> {
        let expr = self.value(expr)?;
        let (low, high) = (self.value(&bounds.0)?, self.value(&bounds.1)?);
        let low = self.digits_beside(&expr, (low, &bounds.0))?;
        let high = self.digits_beside(&expr, (high, &bounds.1))?;
        let (expr, low, high) = years_between(expr, (low, high), self.columns_count());
        let mut nullable = expr.nullable || low.nullable || high.nullable;
        nullable |= may_be_no_moment(&expr, &low) || may_be_no_moment(&expr, &high);
        let kind = ExprKind::Between {
            expr: Box::new(expr),
            low: Box::new(low),
            high: Box::new(high),
            negated,
        };
        Ok(truth(kind, nullable))
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let operand = operand.map(|operand| self.value(operand)).transpose()?;
        let branches: Result<Vec<(Expr, Expr)>> = branches
            .iter()
            .map(|(written, result)| {
                let condition = self.value(written)?;
                let condition = (condition, written);
                let condition = self.digits_beside_operand(operand.as_ref(), condition)?;
                Ok((condition, self.value(result)?))
            })
            .collect();
        let branches = branches?;
        let otherwise = otherwise
            .map(|otherwise| self.value(otherwise))
            .transpose()?;
        let results = branches.iter().map(|(_, result)| result).chain(&otherwise);
        Ok(Expr {
            ty: typing::common_of(results.clone()),
            nullable: otherwise.is_none() || results.clone().any(|result| result.nullable),
            kind: ExprKind::Case {
                operand: operand.map(Box::new),
                branches,
                otherwise: otherwise.map(Box::new),
            },
        })
    }

    fn cast(&mut self, a: &ast::Expr, target: &CastType) -> Result<Expr> {
        let written = a;
        let mut a = self.value(a)?;
        if *target == CastType::Json {
            json_truth::keep_truth(&mut a, Some(written));
        }
        let takes_bytes = matches!(
            target,
            CastType::Char(_)
                | CastType::Binary(_)
                | CastType::BytesBeside
                | CastType::AsIs
                | CastType::Json
        );
        let mut a = if takes_bytes {
            a
        } else {
            literal::as_number(a)
        };
        let takes_target = |function: &functions::Function| function.name == "JSON_VALUE";
        if matches!(written, ast::Expr::Call(_))
            && matches!(&a.kind, ExprKind::Call(function, _) if takes_target(function))
        {
            // The call itself makes the type that it is to return, as what cannot be it is its ON ERROR.
            a.ty = typing::cast_type(target);
            return Ok(a);
        }
        Ok(cast(a, target.clone()))
    }

    fn convert_using(&mut self, a: &ast::Expr, charset: &str) -> Result<Expr> {
        let a = self.value(a)?;
        match charset {
            "utf8mb4" | "utf8" | "utf8mb3" => Ok(cast(a, CastType::Char(None))),
            "binary" => Ok(cast(a, CastType::Binary(None))),
            _ => Err(Error::new(
                Code::UnknownCharset,
                format!("Unknown character set: '{charset}'; the one here is utf8mb4"),
            )),
        }
    }

    /// All comparisons are by bytes, so only a collation that says so is granted.
    fn collate(&mut self, a: &ast::Expr, collation: &str) -> Result<Expr> {
        let a = self.value(a)?;
        let utf8 = collation.starts_with("utf8");
        if collation == "binary" || (utf8 && collation.ends_with("_bin")) {
            return Ok(a);
        }
        Err(Error::new(
            Code::UnknownCollation,
            format!("Unknown collation: '{collation}'; the one here is utf8mb4_bin"),
        ))
    }

    fn date_shift(
        &mut self,
        operands: &(ast::Expr, ast::Expr),
        unit: IntervalUnit,
        negated: bool,
    ) -> Result<Expr> {
        let (date, amount) = (self.value(&operands.0)?, self.value(&operands.1)?);
        Ok(Expr {
            ty: typing::date_shift_type(&date, &amount, unit),
            nullable: true,
            kind: ExprKind::DateShift {
                date: Box::new(date),
                amount: Box::new(amount),
                unit,
                negated,
            },
        })
    }
}

/// A condition: 1, 0 or `NULL`.
pub(super) fn truth(kind: ExprKind, nullable: bool) -> Expr {
    Expr {
        kind,
        ty: typing::condition_type(),
        nullable,
    }
}

/// `a = b`, in a row of so many columns.
pub(super) fn equality(a: Expr, b: Expr, columns_count: usize) -> Expr {
    let (a, b) = comparable(a, b, columns_count);
    let nullable = a.nullable || b.nullable;
    truth(
        ExprKind::Compare(CompareOp::Equal, Box::new(a), Box::new(b)),
        nullable,
    )
}

/// Whether one is a date or a time, and the other a text that need not be one: then their comparison is `NULL`.
fn may_be_no_moment(a: &Expr, b: &Expr) -> bool {
    if let (ExprKind::Row(a), ExprKind::Row(b)) = (&a.kind, &b.kind) {
        return a.iter().zip(b).any(|(a, b)| may_be_no_moment(a, b));
    }
    let (moment, text) = if is_moment(&a.ty) { (a, b) } else { (b, a) };
    let is_text = text.ty.is_text()
        || matches!(
            text.ty,
            ColumnType::Enum(_) | ColumnType::Json | ColumnType::Dynamic
        );
    if !is_moment(&moment.ty) || !is_text {
        return false;
    }
    match &text.kind {
        ExprKind::Literal(Value::Text(text)) if matches!(moment.ty, ColumnType::Time { .. }) => {
            Time::parse(text, 0).is_none()
        }
        // A bad one is an error.
        ExprKind::Literal(_) => false,
        _ => true,
    }
}

fn is_moment(ty: &ColumnType) -> bool {
    ty.is_temporal() && *ty != ColumnType::Year
}

/// `CAST(a AS target)`.
fn cast(a: Expr, target: CastType) -> Expr {
    let may_fail = match target {
        CastType::Date
        | CastType::Time(_)
        | CastType::Datetime(_)
        | CastType::Year
        | CastType::YearBeside => true,
        // Bytes that are no text.
        CastType::Char(_) => typing::is_binary(&a.ty),
        CastType::Signed
        | CastType::Unsigned
        | CastType::Binary(_)
        | CastType::BytesBeside
        | CastType::AsIs
        | CastType::Decimal { .. }
        | CastType::Float
        | CastType::Double
        | CastType::Json => false,
    };
    Expr {
        ty: typing::cast_type(&target),
        nullable: may_fail || a.nullable,
        kind: ExprKind::Cast(Box::new(a), target),
    }
}

/// A call of a function that is known to be there.
///
/// # Errors
/// An internal one when it is not.
pub(super) fn known_call(name: &str, args: Vec<Expr>) -> Result<Expr> {
    let Some(function) = functions::find(name) else {
        return Err(Error::internal(format!("the function {name} is missing")));
    };
    Ok(Expr {
        ty: (function.result_type)(&args),
        nullable: function.is_nullable(&args),
        kind: ExprKind::Call(function, args),
    })
}
