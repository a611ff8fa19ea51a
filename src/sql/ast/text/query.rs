//! Queries, their clauses and their tables.

use super::Printer;
use crate::sql::ast::{
    Block, Hint, IndexHint, IndexHintKind, Join, JoinKind, Lock, OrderItem, QueryBody, Select,
    SelectItem, SetOperator, TableFactor, TableRef,
};
use crate::types::literal::string_literal;

/// Characters of a column's name, as in MySQL.
const NAME_CHARS_MAX: usize = 64;

impl Printer<'_> {
    /// A query; `is_named` when its columns have names that somebody may use.
    pub(super) fn select(&mut self, select: &Select, is_named: bool) {
        if !select.with.ctes.is_empty() {
            self.word(if select.with.recursive {
                "with recursive "
            } else {
                "with "
            });
            self.list(&select.with.ctes, |printer, cte| {
                printer.name(&cte.name);
                printer.name_list(&cte.columns);
                printer.word(" as (");
                printer.select(&cte.select, true);
                printer.word(")");
            });
            self.word(" ");
        }
        self.body(&select.body, is_named);
        self.order_by(&select.order_by);
        if let Some(limit) = &select.limit {
            self.word(" limit ");
            if let Some(offset) = &limit.offset {
                self.expr(offset);
                self.word(",");
            }
            self.expr(&limit.count);
        }
        match select.lock {
            Some(Lock::Update) => self.word(" for update"),
            Some(Lock::Share) => self.word(" for share"),
            None => {}
        }
    }

    fn body(&mut self, body: &QueryBody, is_named: bool) {
        match body {
            QueryBody::Block(block) => self.block(block, is_named),
            QueryBody::SetOperation {
                operator,
                all,
                sides,
            } => {
                self.side(&sides.0, Some(*operator), is_named);
                let word = match operator {
                    SetOperator::Union => " union ",
                    SetOperator::Intersect => " intersect ",
                    SetOperator::Except => " except ",
                };
                self.words(&[word, if *all { "all " } else { "" }]);
                self.side(&sides.1, None, is_named);
            }
            QueryBody::Values(rows) => {
                self.word("values ");
                self.list(rows, |printer, row| {
                    printer.word("row(");
                    printer.list(row, Printer::expr);
                    printer.word(")");
                });
            }
            QueryBody::Table(name) => {
                self.word("table ");
                self.table_name(name);
            }
        }
    }

    /// One side of a set operation; on the left, operators of one rank need no parentheses.
    fn side(&mut self, side: &Select, left_of: Option<SetOperator>, is_named: bool) {
        let is_intersect = |operator: SetOperator| operator == SetOperator::Intersect;
        let is_plain = side.with.ctes.is_empty()
            && side.order_by.is_empty()
            && side.limit.is_none()
            && side.lock.is_none();
        let is_bare = match &side.body {
            QueryBody::SetOperation { operator, .. } => left_of.is_some_and(|outer| {
                is_intersect(*operator) == is_intersect(outer) || is_intersect(*operator)
            }),
            QueryBody::Block(_) | QueryBody::Values(_) | QueryBody::Table(_) => true,
        };
        if is_plain && is_bare {
            return self.select(side, is_named);
        }
        self.word("(");
        self.select(side, is_named);
        self.word(")");
    }

    fn block(&mut self, block: &Block, is_named: bool) {
        self.word("select ");
        self.hints(&block.hints);
        if block.distinct {
            self.word("distinct ");
        }
        if block.straight {
            self.word("straight_join ");
        }
        if block.counts_rows {
            self.word("sql_calc_found_rows ");
        }
        let mut position = 0;
        self.list(&block.items, |printer, item| {
            position += 1;
            printer.item(item, (position, is_named));
        });
        if !block.from.is_empty() {
            self.word(" from ");
            self.list(&block.from, Printer::table_ref);
        }
        if let Some(filter) = &block.filter {
            self.word(" where ");
            self.expr(filter);
        }
        if !block.group_by.is_empty() {
            self.word(" group by ");
            self.list(&block.group_by, Printer::expr);
        }
        if block.rollup {
            self.word(" with rollup");
        }
        if let Some(having) = &block.having {
            self.word(" having ");
            self.expr(having);
        }
        if !block.windows.is_empty() {
            self.word(" window ");
            self.list(&block.windows, |printer, window| {
                printer.name(&window.name);
                printer.word(" as ");
                printer.window(&window.spec);
            });
        }
    }

    /// Hints between their marks; an argument that is no number is quoted.
    fn hints(&mut self, hints: &[Hint]) {
        if hints.is_empty() {
            return;
        }
        self.word("/*+");
        for hint in hints {
            self.words(&[" ", &hint.name]);
            let is_number = |arg: &str| arg.bytes().all(|byte| byte.is_ascii_digit());
            if !hint.args.is_empty() {
                self.word("(");
                self.list(&hint.args, |printer, arg| {
                    if is_number(arg) {
                        printer.word(arg);
                    } else {
                        printer.word(&string_literal(arg));
                    }
                });
                self.word(")");
            }
        }
        self.word(" */ ");
    }

    fn item(&mut self, item: &SelectItem, (position, is_named): (usize, bool)) {
        match item {
            SelectItem::Star | SelectItem::TableStar(_) => self.star(item, is_named),
            SelectItem::Expr { expr, alias, text } => {
                self.expr(expr);
                let name = alias.as_ref().unwrap_or(text);
                if is_named || alias.is_some() {
                    self.word(" AS ");
                    if is_column_name(name) {
                        self.name(name);
                    } else {
                        self.name(&format!("Name_exp_{position}"));
                    }
                }
            }
        }
    }

    fn star(&mut self, item: &SelectItem, is_named: bool) {
        if let Some(columns) = self.spelling.star(item) {
            self.list(&columns, |printer, column| {
                printer.spelled_column(column);
                if is_named {
                    printer.word(" AS ");
                    printer.name(&column.column);
                }
            });
            return;
        }
        if let SelectItem::TableStar(table) = item {
            self.table_name(table);
            self.word(".");
        }
        self.word("*");
    }

    // Tables.

    fn table_ref(&mut self, table: &TableRef) {
        table.joins.iter().for_each(|_| self.word("("));
        self.factor(&table.factor);
        for join in &table.joins {
            self.join(join);
            self.word(")");
        }
    }

    fn join(&mut self, join: &Join) {
        self.word(if join.natural { " natural" } else { "" });
        self.word(match join.kind {
            JoinKind::Inner if join.straight => " straight_join ",
            JoinKind::Inner => " join ",
            JoinKind::Left => " left join ",
            JoinKind::Right => " right join ",
        });
        self.factor(&join.right);
        if let Some(on) = &join.on {
            self.word(" on(");
            self.expr(on);
            self.word(")");
        }
        if !join.using.is_empty() {
            self.word(" using");
            self.name_list(&join.using);
        }
    }

    fn factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table {
                name,
                alias,
                index_hints,
            } => {
                self.table_name(name);
                if let Some(alias) = alias {
                    self.word(" ");
                    self.name(alias);
                }
                for hint in index_hints {
                    self.index_hint(hint);
                }
            }
            TableFactor::JsonTable(table) => self.json_table(table),
            TableFactor::Derived {
                select,
                alias,
                columns,
                lateral,
            } => {
                self.word(if *lateral { "lateral (" } else { "(" });
                self.select(select, true);
                self.word(") ");
                self.name(alias.as_deref().unwrap_or_default());
                self.name_list(columns);
            }
            // A join has its own parentheses.
            TableFactor::Nested(tables) if tables.len() == 1 => {
                for table in tables {
                    self.table_ref(table);
                }
            }
            TableFactor::Nested(tables) => {
                self.word("(");
                self.list(tables, Printer::table_ref);
                self.word(")");
            }
        }
    }

    fn index_hint(&mut self, hint: &IndexHint) {
        self.word(match hint.kind {
            IndexHintKind::Use => " use index (",
            IndexHintKind::Force => " force index (",
            IndexHintKind::Ignore => " ignore index (",
        });
        self.list(&hint.indexes, |printer, index| printer.name(index));
        self.word(")");
    }

    // Order.

    /// ` order by …`, when there is one.
    pub(super) fn order_by(&mut self, items: &[OrderItem]) {
        if items.is_empty() {
            return;
        }
        self.word(" order by ");
        self.list(items, |printer, item| {
            printer.expr(&item.expr);
            if item.descending {
                printer.word(" desc");
            }
        });
    }
}

/// Whether a column can have the name.
fn is_column_name(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(' ') && name.chars().count() <= NAME_CHARS_MAX
}
