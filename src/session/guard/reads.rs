//! Which tables a statement on rows reads and writes, by what is written in it. Names of common table
//! expressions are none; columns tell whether a row is read, not which.

use crate::accounts::{Privilege, Privileges};
use crate::sql::ast::{
    Assignment, Block, Cte, Delete, Distance, Expr, FrameBound, Insert, InsertRows, InsertValue,
    InsertVerb, IntoTarget, Join, Limit, LoadData, LoadDuplicates, Lock, OnDuplicate, OrderItem,
    Over, QueryBody, Select, SelectItem, TableFactor, TableName, TableRef, Update, WindowSpec,
    With,
};
use crate::sql::bind::estimate;

/// A table, and what a statement does with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) table: TableName,
    pub(super) privileges: Privileges,
    /// Of these, any one will do, in addition.
    pub(super) any_of: Privileges,
    /// The column whose reading needs `SELECT`, where that is what the statement does besides.
    pub(super) column: Option<String>,
}

/// Gathers what a statement touches.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) touched: Vec<Touch>,
    /// Whether a file of the server is read or written.
    pub(super) names_file: bool,
    /// Names of common table expressions that hide tables.
    hidden: Vec<String>,
    /// The first column that was met.
    column: Option<String>,
}

const READS: &[Privilege] = &[Privilege::Select];

/// One of which must be held to lock rows that are read.
const LOCKS: &[Privilege] = &[Privilege::Update, Privilege::Delete, Privilege::LockTables];

impl Walk {
    fn touch(&mut self, table: &TableName, privileges: &[Privilege]) {
        self.touched.push(Touch {
            table: table.clone(),
            privileges: Privileges::of(privileges),
            any_of: Privileges::NONE,
            column: None,
        });
    }

    fn is_hidden(&self, table: &TableName) -> bool {
        table.database.is_none()
            && self
                .hidden
                .iter()
                .any(|name| name.eq_ignore_ascii_case(&table.name))
    }

    pub(super) fn reads(&mut self, table: &TableName) {
        if !self.is_hidden(table) {
            self.touch(table, READS);
        }
    }

    pub(super) fn inserts(&mut self, table: &TableName) {
        self.touch(table, &[Privilege::Insert]);
    }

    pub(super) fn load(&mut self, load: &LoadData, overwrites: bool) {
        self.names_file |= !load.local;
        match load.on_duplicate {
            LoadDuplicates::Replace => {
                self.touch(&load.table, &[Privilege::Insert, Privilege::Delete]);
            }
            LoadDuplicates::Error if overwrites && !load.local => {
                self.touch(&load.table, &[Privilege::Insert, Privilege::Update]);
            }
            LoadDuplicates::Error | LoadDuplicates::Ignore => self.inserts(&load.table),
        }
        for assignment in &load.assignments {
            if let InsertValue::Expr(expr) = &assignment.value {
                self.expr(expr);
            }
        }
    }

    pub(super) fn select(&mut self, select: &Select) {
        let hidden = self.with(&select.with);
        self.names_file |= matches!(select.into, Some(IntoTarget::File(_)));
        let first = self.touched.len();
        self.body(&select.body);
        if select.lock == Some(Lock::Update) {
            for touch in self.touched.iter_mut().skip(first) {
                touch.any_of = Privileges::of(LOCKS);
            }
        }
        self.order(&select.order_by);
        self.limit(select.limit.as_ref());
        self.hidden.truncate(hidden);
    }

    /// The queries of a `WITH`, whose names hide tables from then on. Returns how many names did before.
    fn with(&mut self, with: &With) -> usize {
        let hidden = self.hidden.len();
        for cte in &with.ctes {
            self.cte(cte, with.recursive);
            self.hidden.push(cte.name.clone());
        }
        hidden
    }

    /// The query of a common table expression. Its own name is one in the parts of a recursion behind the
    /// first; in that the name is a table's as far as privileges go (it is an error when it is bound).
    fn cte(&mut self, cte: &Cte, recursive: bool) {
        let query = &cte.select;
        let mut later = Vec::new();
        let mut first = query;
        while let QueryBody::SetOperation { sides, .. } = &first.body
            && recursive
            && first.with.ctes.is_empty()
            && (later.is_empty() || (first.order_by.is_empty() && first.limit.is_none()))
        {
            later.push(&sides.1);
            first = &sides.0;
        }
        self.select(first);
        if later.is_empty() {
            return;
        }
        self.hidden.push(cte.name.clone());
        for part in later.into_iter().rev() {
            self.select(part);
        }
        self.hidden.pop();
        self.order(&query.order_by);
        self.limit(query.limit.as_ref());
    }

    fn body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Block(block) => self.block(block),
            QueryBody::SetOperation { sides, .. } => {
                self.select(&sides.0);
                self.select(&sides.1);
            }
            QueryBody::Values(rows) => {
                for row in rows {
                    self.exprs(row);
                }
            }
            QueryBody::Table(table) => self.reads(table),
        }
    }

    fn block(&mut self, block: &Block) {
        for item in &block.items {
            match item {
                SelectItem::Star | SelectItem::TableStar(_) => {}
                SelectItem::Expr { expr, .. } => self.expr(expr),
            }
        }
        self.tables(&block.from);
        self.exprs(&block.filter);
        self.exprs(&block.group_by);
        self.exprs(&block.having);
        for window in &block.windows {
            self.window(&window.spec);
        }
    }

    fn tables(&mut self, tables: &[TableRef]) {
        for table in tables {
            self.factor(&table.factor);
            for join in &table.joins {
                let Join { right, on, .. } = join;
                self.factor(right);
                self.exprs(on);
            }
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table { name, .. } => self.reads(name),
            TableFactor::Derived { select, .. } => self.select(select),
            TableFactor::Nested(tables) => self.tables(tables),
            TableFactor::JsonTable(table) => self.expr(&table.document),
        }
    }

    fn order(&mut self, items: &[OrderItem]) {
        for item in items {
            self.expr(&item.expr);
        }
    }

    fn limit(&mut self, limit: Option<&Limit>) {
        if let Some(limit) = limit {
            self.expr(&limit.count);
            self.exprs(&limit.offset);
        }
    }

    fn window(&mut self, spec: &WindowSpec) {
        self.exprs(&spec.partition_by);
        self.order(&spec.order_by);
        if let Some(frame) = &spec.frame {
            self.bound(&frame.start);
            self.bound(&frame.end);
        }
    }

    fn bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::Preceding(Distance { amount, .. })
            | FrameBound::Following(Distance { amount, .. }) => self.expr(amount),
            FrameBound::UnboundedPreceding
            | FrameBound::CurrentRow
            | FrameBound::UnboundedFollowing => {}
        }
    }

    pub(super) fn insert(&mut self, insert: &Insert, overwrites: bool) {
        let mut privileges = vec![Privilege::Insert];
        match insert.verb {
            InsertVerb::Insert | InsertVerb::Upsert => {}
            InsertVerb::Replace => privileges.push(Privilege::Delete),
        }
        let overwrites = overwrites || insert.verb == InsertVerb::Upsert;
        if overwrites && !insert.ignore && insert.on_duplicate == OnDuplicate::Unsaid {
            privileges.push(Privilege::Update);
        }
        let mut column = None;
        if let OnDuplicate::Update(assignments) = &insert.on_duplicate {
            privileges.push(Privilege::Update);
            self.assignments(assignments);
            column = self.column.take();
        }
        self.touch(&insert.table, &privileges);
        self.reads_column(&insert.table, column);
        match &insert.rows {
            InsertRows::Values(rows) => {
                for value in rows.iter().flatten() {
                    self.value(value);
                }
            }
            InsertRows::Select(select) => self.select(select),
        }
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            self.value(&assignment.value);
        }
    }

    fn value(&mut self, value: &InsertValue) {
        match value {
            InsertValue::Expr(expr) => self.expr(expr),
            InsertValue::Default => {}
        }
    }

    /// The rows of a table that is written are read, too.
    fn reads_column(&mut self, table: &TableName, column: Option<String>) {
        if let Some(column) = column {
            self.touch(table, READS);
            if let Some(touch) = self.touched.last_mut() {
                touch.column = Some(column);
            }
        }
    }

    /// `names_column` tells whether a table has a column.
    pub(super) fn update(
        &mut self,
        update: &Update,
        names_column: &dyn Fn(&TableName, &str) -> bool,
    ) {
        let hidden = self.with(&update.with);
        self.updated(update, names_column);
        self.hidden.truncate(hidden);
    }

    fn updated(&mut self, update: &Update, names_column: &dyn Fn(&TableName, &str) -> bool) {
        let mut bases = Vec::new();
        base_tables(&update.tables, &mut bases);
        if let [(only, _)] = bases.as_slice()
            && is_one_table(&update.tables)
            && !self.is_hidden(only)
        {
            self.touch(only, &[Privilege::Update]);
            self.rest_of_update(update);
            let column = self.column.take();
            self.reads_column(only, column);
            return;
        }
        for (table, alias) in &bases {
            let is_assigned = update.assignments.iter().any(|assignment| {
                let column = &assignment.column;
                match &column.table {
                    Some(name) => is_named(name, table, *alias),
                    None => names_column(table, &column.column),
                }
            });
            if is_assigned && !self.is_hidden(table) {
                self.touch(table, &[Privilege::Update]);
            }
        }
        self.tables(&update.tables);
        self.rest_of_update(update);
    }

    fn rest_of_update(&mut self, update: &Update) {
        self.assignments(&update.assignments);
        self.exprs(&update.filter);
        self.order(&update.order_by);
        self.exprs(&update.limit);
    }

    /// What tells of a row by its key: names beside its table are not to be found out by it either.
    pub(super) fn explained_row(&mut self, row: &Delete) {
        self.reads(&row.table);
        self.exprs(&row.filter);
    }

    pub(super) fn delete(&mut self, delete: &Delete) {
        let hidden = self.with(&delete.with);
        self.deleted(delete);
        self.hidden.truncate(hidden);
    }

    fn deleted(&mut self, delete: &Delete) {
        let Some(several) = &delete.several else {
            self.touch(&delete.table, &[Privilege::Delete]);
            self.exprs(&delete.filter);
            self.order(&delete.order_by);
            self.exprs(&delete.limit);
            let column = self.column.take();
            self.reads_column(&delete.table, column);
            return;
        };
        let mut bases = Vec::new();
        base_tables(&several.tables, &mut bases);
        for target in &several.targets {
            // Any that may be meant: which one is, is known when the statement is bound.
            let meant = bases
                .iter()
                .filter(|(table, alias)| may_mean(target, table, *alias));
            let meant: Vec<&TableName> = meant.map(|(table, _)| *table).collect();
            for table in if meant.is_empty() {
                vec![target]
            } else {
                meant
            } {
                self.touch(table, &[Privilege::Delete]);
            }
        }
        self.tables(&several.tables);
        self.exprs(&delete.filter);
        self.order(&delete.order_by);
        self.exprs(&delete.limit);
    }

    pub(super) fn exprs<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm per kind: a list, not logic")]
    pub(super) fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Column(name) | Expr::DefaultOf(name) => {
                self.column.get_or_insert_with(|| name.column.clone());
            }
            Expr::Literal(_)
            | Expr::Parameter(_)
            | Expr::UserVariable(_)
            | Expr::SystemVariable(..)
            | Expr::Values(_)
            | Expr::Unsupported(_) => {}
            Expr::Assign(_, inner)
            | Expr::Unary(_, inner)
            | Expr::Not(inner)
            | Expr::Cast(inner, _)
            | Expr::ConvertUsing(inner, _)
            | Expr::Collate(inner, _)
            | Expr::IsNull { expr: inner, .. }
            | Expr::IsTruth { expr: inner, .. } => self.expr(inner),
            Expr::Binary(_, both)
            | Expr::Compare(_, both)
            | Expr::Xor(both)
            | Expr::DateShift { operands: both, .. }
            | Expr::Regexp { operands: both, .. } => self.pair(both),
            Expr::Like {
                operands, escape, ..
            } => {
                self.pair(operands);
                self.exprs(escape.as_deref());
            }
            Expr::Between { expr, bounds, .. } => {
                self.expr(expr);
                self.pair(bounds);
            }
            Expr::And(all) | Expr::Or(all) | Expr::Row(all) => self.exprs(all),
            Expr::InList { expr, list, .. } => {
                self.expr(expr);
                self.exprs(list);
            }
            Expr::InSelect { expr, select, .. } | Expr::Quantified { expr, select, .. } => {
                self.expr(expr);
                self.select(select);
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                self.exprs(operand.as_deref());
                for branch in branches {
                    self.pair(branch);
                }
                self.exprs(otherwise.as_deref());
            }
            Expr::Call(call) => {
                if let Some(table) = estimate::named_table(call) {
                    // A stored table: no common table expression hides it.
                    self.touch(&table, READS);
                    return;
                }
                self.exprs(&call.args);
                self.order(&call.order_by);
                match call.over.as_deref() {
                    Some(Over::Spec(spec)) => self.window(spec),
                    Some(Over::Name(_)) | None => {}
                }
            }
            Expr::Subquery(select) | Expr::Exists(select) => self.select(select),
        }
    }

    fn pair(&mut self, pair: &(Expr, Expr)) {
        self.expr(&pair.0);
        self.expr(&pair.1);
    }
}

/// The tables of the outermost FROM of a query.
pub(super) fn bases_of(select: &Select) -> Vec<&TableName> {
    match &select.body {
        QueryBody::Block(block) => {
            let mut bases = Vec::new();
            base_tables(&block.from, &mut bases);
            bases.into_iter().map(|(table, _)| table).collect()
        }
        QueryBody::Table(table) => vec![table],
        QueryBody::SetOperation { .. } | QueryBody::Values(_) => Vec::new(),
    }
}

fn is_one_table(tables: &[TableRef]) -> bool {
    matches!(tables, [TableRef { factor: TableFactor::Table { .. }, joins }] if joins.is_empty())
}

/// Every table of a FROM with its alias; not those within subqueries.
fn base_tables<'a>(tables: &'a [TableRef], out: &mut Vec<(&'a TableName, Option<&'a str>)>) {
    for table in tables {
        let joined = table.joins.iter().map(|join| &join.right);
        for factor in std::iter::once(&table.factor).chain(joined) {
            match factor {
                TableFactor::Table { name, alias, .. } => out.push((name, alias.as_deref())),
                TableFactor::Nested(nested) => base_tables(nested, out),
                TableFactor::Derived { .. } | TableFactor::JsonTable(_) => {}
            }
        }
    }
}

/// Whether a target of DELETE may be this table: by the rule of the binder, with an unnamed database
/// being any.
fn may_mean(target: &TableName, table: &TableName, alias: Option<&str>) -> bool {
    let databases = target.database.as_ref().zip(table.database.as_ref());
    alias.unwrap_or(&table.name) == target.name
        && databases.is_none_or(|(target, table)| target == table)
}

fn is_named(name: &str, table: &TableName, alias: Option<&str>) -> bool {
    alias.unwrap_or(&table.name).eq_ignore_ascii_case(name)
}
