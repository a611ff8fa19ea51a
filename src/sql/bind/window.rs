//! Window functions: their calls, and the windows behind `OVER`.
//!
//! A call is bound where it stands, to a slot that stands for its value; its window is bound when
//! the select list is known, whose aliases it may use. What becomes of the slots is in
//! [`super::windowing`]. Source: MySQL 8.0 manual, "Window Functions".

use super::call;
use super::json_truth;
use super::scope::{AggregateRule, Clause, Scope};
use super::twice::twice;
use crate::error::{Code, Error, Result};
use crate::sql::aggregate::{aggregate_type, names};
use crate::sql::ast::{self, Literal, NamedWindow, Over, WindowSpec};
use crate::sql::bound::{
    Aggregate, AggregateKind, Frame, FrameBound, OrderBy, WindowFunction, WindowKind,
};
use crate::sql::eval::{digits, fold, typing};
use crate::sql::expr::{Expr, ExprKind, Slot};
use crate::types::{ColumnType, Value};

/// Windows that one query may name. Each may go on from the one before: all before it are looked up for each.
const WINDOWS_MAX: usize = 128;

/// Window functions of one query. Each call is compared with those before it.
const FUNCTIONS_MAX: usize = 4096;

/// How errors call a window without a name.
const UNNAMED: &str = "<unnamed window>";

/// A window function whose window is not bound yet.
pub(super) struct WindowCall {
    /// As it is written: what is written twice is computed once.
    call: ast::Call,
    /// What stands for its value.
    expr: Expr,
    slot: usize,
    kind: WindowKind,
    args: Vec<Expr>,
}

/// A window function over its window, before rows are made for it.
pub(super) struct Draft {
    /// What stands for its value.
    pub(super) slot: usize,
    /// `PARTITION BY`.
    pub(super) partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub(super) order_by: Vec<OrderBy>,
    /// The function; its place is not known yet.
    pub(super) function: WindowFunction,
}

impl Draft {
    /// Calls `visit` with each expression of it.
    pub(super) fn each_expr(
        &mut self,
        visit: &mut dyn FnMut(&mut Expr) -> Result<()>,
    ) -> Result<()> {
        self.partition_by.iter_mut().try_for_each(&mut *visit)?;
        let keys = self.order_by.iter_mut();
        keys.map(|key| &mut key.expr).try_for_each(&mut *visit)?;
        let function = &mut self.function;
        function.args.iter_mut().try_for_each(&mut *visit)?;
        if let WindowKind::Aggregate(aggregate) = &mut function.kind {
            aggregate.args.iter_mut().try_for_each(&mut *visit)?;
        }
        for bound in [&mut function.frame.start, &mut function.frame.end] {
            match bound {
                FrameBound::Unbounded | FrameBound::CurrentRow | FrameBound::Peers => {}
                FrameBound::RowsBefore(expr)
                | FrameBound::RowsBehind(expr)
                | FrameBound::Value(expr) => visit(expr)?,
            }
        }
        Ok(())
    }
}

impl Scope<'_> {
    /// A call with `OVER`.
    ///
    /// # Errors
    /// 3593 where none may stand; 1117 past [`FUNCTIONS_MAX`].
    pub(super) fn window_call(&mut self, call: &ast::Call) -> Result<Expr> {
        let is_place = matches!(self.clause, Clause::FieldList | Clause::OrderBy);
        if !is_place || self.is_in_window || self.aggregate_rule != AggregateRule::Allowed {
            return Err(misplaced(&call.name));
        }
        if let Some(known) = self.windows.iter().find(|known| known.call == *call) {
            return Ok(known.expr.clone());
        }
        if FUNCTIONS_MAX <= self.windows.len() {
            let text = format!(
                "Too many window functions; the most that one query can compute is {FUNCTIONS_MAX}"
            );
            return Err(Error::new(Code::TooManyColumns, text));
        }
        self.is_in_window = true;
        let bound = self.window_function(call);
        self.is_in_window = false;
        let (kind, args, (ty, nullable)) = bound?;
        let slot = self.names.numbering.next();
        let text = format!("{} OVER", call.name.to_ascii_lowercase()).into();
        let expr = Expr {
            kind: ExprKind::Slot(Slot {
                idx: slot,
                per_row: true,
                text,
                is_column: false,
                decimals: decimals(&kind, &args),
            }),
            ty,
            nullable,
        };
        self.windows.push(WindowCall {
            call: call.clone(),
            expr: expr.clone(),
            slot,
            kind,
            args,
        });
        Ok(expr)
    }

    /// Function, arguments, and the type of the result.
    fn window_function(
        &mut self,
        call: &ast::Call,
    ) -> Result<(WindowKind, Vec<Expr>, (ColumnType, bool))> {
        let Some(kind) = window_kind(&call.name) else {
            let aggregate = self.window_aggregate(call)?;
            let ty = aggregate.ty.clone();
            let nullable = call::is_nullable(aggregate.kind);
            let kind = WindowKind::Aggregate(Box::new(aggregate));
            return Ok((kind, Vec::new(), (ty, nullable)));
        };
        let args = self.values(&call.args)?;
        check_arguments(call, &kind, &args)?;
        let shown = shown(&kind, &args);
        Ok((kind, args, shown))
    }

    fn window_aggregate(&mut self, call: &ast::Call) -> Result<Aggregate> {
        let Some(kind) = names::find(&call.name).map(|known| known.kind) else {
            return Err(no_window_function(call));
        };
        if kind == AggregateKind::AnyValue {
            return Err(no_window_function(call));
        }
        if kind == AggregateKind::GroupConcat {
            return Err(Error::unsupported("group_concat as window function"));
        }
        if call.distinct {
            return Err(Error::unsupported("<window function>(DISTINCT ..)"));
        }
        call::check_aggregate(call, kind)?;
        let mut args = self.values(&call.args)?;
        if matches!(kind, AggregateKind::JsonArray | AggregateKind::JsonObject)
            && let Some(value) = args.last_mut()
        {
            json_truth::keep_truth(value, call.args.last());
        }
        Ok(Aggregate {
            ty: aggregate_type(kind, &args),
            kind,
            args,
            distinct: false,
            order_by: Vec::new(),
            separator: None,
        })
    }

    /// Whether the value of a window function is in the expression.
    pub(super) fn has_window(&self, expr: &Expr) -> bool {
        if self.windows.is_empty() {
            return false;
        }
        let is_window = |slot: &Slot| self.windows.iter().any(|call| call.slot == slot.idx);
        let mut found = matches!(&expr.kind, ExprKind::Slot(slot) if is_window(slot));
        fold::each_child(expr, &mut |child| found |= self.has_window(child));
        found
    }

    /// Binds the windows, when all clauses are.
    ///
    /// # Errors
    /// 3579 to 3592; 1436 past [`WINDOWS_MAX`].
    pub(super) fn window_drafts(&mut self, named: &[NamedWindow]) -> Result<Vec<Draft>> {
        if WINDOWS_MAX < named.len() {
            let count = named.len();
            let text = format!("WINDOW names {count} windows; {WINDOWS_MAX} is the most");
            return Err(Error::new(Code::TooDeep, text));
        }
        if let Some(name) = twice(named.iter().map(|window| window.name.as_str())) {
            let text = format!("Window '{name}' is defined twice.");
            return Err(Error::new(Code::WindowTwice, text));
        }
        for window in named {
            let spec = inherited((&window.name, &window.spec), named)?;
            self.window((&window.name, &spec))?;
        }
        let mut drafts = Vec::with_capacity(self.windows.len());
        for idx in 0..self.windows.len() {
            let over = self
                .windows
                .get(idx)
                .and_then(|call| call.call.over.clone());
            let Some(over) = over else { continue };
            let (name, spec) = match over.as_ref() {
                Over::Name(name) => {
                    let window = find(name, named)?;
                    let spec = inherited((&window.name, &window.spec), named)?;
                    (window.name.as_str(), spec)
                }
                Over::Spec(spec) => (UNNAMED, inherited((UNNAMED, spec), named)?),
            };
            let (partition_by, order_by, frame) = self.window((name, &spec))?;
            if let Some(call) = self.windows.get(idx) {
                drafts.push(call.over(partition_by, order_by, frame));
            }
        }
        Ok(drafts)
    }

    /// A window whose parts are its own.
    fn window(
        &mut self,
        (name, spec): (&str, &WindowSpec),
    ) -> Result<(Vec<Expr>, Vec<OrderBy>, Frame)> {
        self.clause = Clause::WindowPartition;
        let mut partition_by = Vec::with_capacity(spec.partition_by.len());
        for expr in &spec.partition_by {
            partition_by.push(self.window_key(name, expr)?);
        }
        self.clause = Clause::WindowOrder;
        let mut order_by = Vec::with_capacity(spec.order_by.len());
        for item in &spec.order_by {
            order_by.push(OrderBy {
                expr: self.window_key(name, &item.expr)?,
                descending: item.descending,
            });
        }
        let frame = self.frame(name, spec.frame.as_ref(), &order_by)?;
        Ok((partition_by, order_by, frame))
    }

    fn window_key(&mut self, name: &str, expr: &ast::Expr) -> Result<Expr> {
        if let ast::Expr::Literal(Literal::Int(_)) = expr {
            return Err(Error::new(
                Code::WindowOrdinal,
                format!(
                    "Window '{name}': ORDER BY or PARTITION BY uses legacy position indication \
                     which is not supported, use expression."
                ),
            ));
        }
        self.is_in_window = true;
        let bound = self.value(expr);
        self.is_in_window = false;
        let is_nested = match &bound {
            Ok(bound) => self.has_window(bound),
            Err(error) => error.code() == Code::WindowMisplaced,
        };
        if is_nested {
            return Err(Error::new(
                Code::WindowNested,
                format!(
                    "You cannot nest a window function in the specification of window '{name}'."
                ),
            ));
        }
        bound
    }
}

impl WindowCall {
    fn over(&self, partition_by: Vec<Expr>, order_by: Vec<OrderBy>, frame: Frame) -> Draft {
        Draft {
            slot: self.slot,
            partition_by,
            order_by,
            function: WindowFunction {
                position: 0,
                kind: self.kind.clone(),
                args: self.args.clone(),
                frame,
                ty: self.expr.ty.clone(),
            },
        }
    }
}

/// Error 3593.
pub(super) fn misplaced(name: &str) -> Error {
    let name = name.to_ascii_lowercase();
    Error::new(
        Code::WindowMisplaced,
        format!("You cannot use the window function '{name}' in this context.'"),
    )
}

fn no_window_function(call: &ast::Call) -> Error {
    Error::new(
        Code::Parse,
        format!(
            "You have an error in your SQL syntax: {} with these arguments is no window function, \
             so OVER cannot follow it",
            call.name
        ),
    )
}

/// # Errors
/// 3579.
fn find<'a>(name: &str, named: &'a [NamedWindow]) -> Result<&'a NamedWindow> {
    let mut windows = named.iter();
    let found = windows.find(|window| window.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let text = format!("Window name '{name}' is not defined.");
        Error::new(Code::WindowMissing, text)
    })
}

/// The window with what it has from the windows that it goes on from.
///
/// # Errors
/// 3579 to 3583.
fn inherited((name, spec): (&str, &WindowSpec), named: &[NamedWindow]) -> Result<WindowSpec> {
    let mut chain = vec![(name, spec)];
    let mut last = spec;
    while let Some(base) = &last.base {
        let base = find(base, named)?;
        if named.len() < chain.len() {
            return Err(Error::new(
                Code::WindowCircle,
                "There is a circularity in the window dependency graph.",
            ));
        }
        chain.push((&base.name, &base.spec));
        last = &base.spec;
    }
    let mut whole = WindowSpec {
        base: None,
        ..last.clone()
    };
    let mut above = chain.iter().rev();
    let (mut base, _) = above.next().copied().unwrap_or((name, spec));
    for (name, spec) in above {
        check_inherits((base, &whole), (name, spec))?;
        if !spec.order_by.is_empty() {
            whole.order_by.clone_from(&spec.order_by);
        }
        whole.frame.clone_from(&spec.frame);
        base = name;
    }
    Ok(whole)
}

/// # Errors
/// 3581 to 3583.
fn check_inherits(
    (base_name, base): (&str, &WindowSpec),
    (name, spec): (&str, &WindowSpec),
) -> Result<()> {
    if !spec.partition_by.is_empty() {
        return Err(Error::new(
            Code::WindowPartitionTwice,
            "A window which depends on another cannot define partitioning.",
        ));
    }
    if base.frame.is_some() {
        return Err(Error::new(
            Code::WindowFrameInherited,
            format!(
                "Window '{base_name}' has a frame definition, so cannot be referenced by another \
                 window."
            ),
        ));
    }
    if !base.order_by.is_empty() && !spec.order_by.is_empty() {
        return Err(Error::new(
            Code::WindowOrderTwice,
            format!(
                "Window '{name}' cannot inherit '{base_name}' since both contain an ORDER BY clause."
            ),
        ));
    }
    Ok(())
}

fn window_kind(name: &str) -> Option<WindowKind> {
    const KINDS: &[(&str, WindowKind)] = &[
        ("ROW_NUMBER", WindowKind::RowNumber),
        ("RANK", WindowKind::Rank),
        ("DENSE_RANK", WindowKind::DenseRank),
        ("PERCENT_RANK", WindowKind::PercentRank),
        ("CUME_DIST", WindowKind::CumeDist),
        ("NTILE", WindowKind::Ntile),
        ("LAG", WindowKind::Lag),
        ("LEAD", WindowKind::Lead),
        ("FIRST_VALUE", WindowKind::FirstValue),
        ("LAST_VALUE", WindowKind::LastValue),
        ("NTH_VALUE", WindowKind::NthValue),
    ];
    let found = KINDS
        .iter()
        .find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, kind)| kind.clone())
}

/// # Errors
/// 1064 for a wrong number of arguments, 1210 for a count that is none.
fn check_arguments(call: &ast::Call, kind: &WindowKind, args: &[Expr]) -> Result<()> {
    let (fewest, most) = match kind {
        WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::PercentRank
        | WindowKind::CumeDist
        | WindowKind::Aggregate(_) => (0, 0),
        WindowKind::Ntile | WindowKind::FirstValue | WindowKind::LastValue => (1, 1),
        WindowKind::Lag | WindowKind::Lead => (1, 3),
        WindowKind::NthValue => (2, 2),
    };
    let has_count = (fewest..=most).contains(&args.len());
    if call.star || call.distinct || !has_count {
        return Err(no_window_function(call));
    }
    let (count, least) = match kind {
        WindowKind::Ntile => (args.first(), 1),
        WindowKind::NthValue => (args.get(1), 1),
        WindowKind::Lag | WindowKind::Lead => (args.get(1), 0),
        WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::PercentRank
        | WindowKind::CumeDist
        | WindowKind::FirstValue
        | WindowKind::LastValue
        | WindowKind::Aggregate(_) => (None, 0),
    };
    let fits = match count.map(|count| &count.kind) {
        Some(ExprKind::Literal(Value::Int(count))) => least <= *count,
        None | Some(ExprKind::Parameter(_) | ExprKind::UserVariable(_)) => true,
        Some(_) => false,
    };
    if fits {
        return Ok(());
    }
    let name = call.name.to_ascii_lowercase();
    Err(Error::new(
        Code::WrongArguments,
        format!("Incorrect arguments to {name}"),
    ))
}

/// The digits after the point that a DOUBLE of a function has, where its argument fixes them.
fn decimals(kind: &WindowKind, args: &[Expr]) -> Option<u8> {
    match kind {
        WindowKind::Aggregate(aggregate) => digits::of_aggregate(aggregate, &|_| None),
        WindowKind::Lag
        | WindowKind::Lead
        | WindowKind::FirstValue
        | WindowKind::LastValue
        | WindowKind::NthValue => digits::of_double(args.first()?, &|_| None),
        WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::Ntile
        | WindowKind::PercentRank
        | WindowKind::CumeDist => None,
    }
}

/// The type of a function's result, and whether it can be `NULL`.
fn shown(kind: &WindowKind, args: &[Expr]) -> (ColumnType, bool) {
    match kind {
        WindowKind::RowNumber
        | WindowKind::Rank
        | WindowKind::DenseRank
        | WindowKind::Ntile
        | WindowKind::Aggregate(_) => (ColumnType::BIGINT_UNSIGNED, false),
        WindowKind::PercentRank | WindowKind::CumeDist => (ColumnType::Double, false),
        WindowKind::Lag | WindowKind::Lead => {
            let values = args.first().into_iter().chain(args.get(2));
            (typing::common_of(values), true)
        }
        WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue => {
            let ty = match args.first().map(|arg| &arg.ty) {
                // The label, as of all that is not the column itself.
                Some(ColumnType::Enum(_)) => ColumnType::VARCHAR,
                Some(ty) => ty.clone(),
                None => ColumnType::Null,
            };
            (ty, true)
        }
    }
}
