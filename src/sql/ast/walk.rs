//! Expressions part by part.

use super::{Call, Expr, OrderItem, Over};

impl Expr {
    /// Whether a user variable is assigned in it; not counting subqueries.
    pub fn assigns(&self) -> bool {
        let mut found = matches!(self, Expr::Assign(..));
        self.each_child(&mut |child| found |= child.assigns());
        found
    }

    /// Calls `visit` with each operand; not with what is in subqueries.
    pub fn each_child(&self, visit: &mut dyn FnMut(&Expr)) {
        match self {
            Expr::Literal(_)
            | Expr::Column(_)
            | Expr::Parameter(_)
            | Expr::UserVariable(_)
            | Expr::SystemVariable(..)
            | Expr::Subquery(_)
            | Expr::Exists(_)
            | Expr::Values(_)
            | Expr::DefaultOf(_)
            | Expr::Unsupported(_) => {}
            Expr::Assign(_, a)
            | Expr::Unary(_, a)
            | Expr::Not(a)
            | Expr::Cast(a, _)
            | Expr::ConvertUsing(a, _)
            | Expr::Collate(a, _)
            | Expr::IsNull { expr: a, .. }
            | Expr::IsTruth { expr: a, .. }
            | Expr::InSelect { expr: a, .. }
            | Expr::Quantified { expr: a, .. } => visit(a),
            Expr::Binary(_, both)
            | Expr::Compare(_, both)
            | Expr::Xor(both)
            | Expr::Regexp { operands: both, .. }
            | Expr::DateShift { operands: both, .. } => pair(both, visit),
            Expr::And(all) | Expr::Or(all) | Expr::Row(all) => all.iter().for_each(visit),
            Expr::InList { expr, list, .. } => {
                visit(expr);
                list.iter().for_each(visit);
            }
            Expr::Between { expr, bounds, .. } => {
                visit(expr);
                pair(bounds, visit);
            }
            Expr::Like {
                operands, escape, ..
            } => {
                pair(operands, visit);
                if let Some(escape) = escape {
                    visit(escape);
                }
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                if let Some(operand) = operand {
                    visit(operand);
                }
                for branch in branches {
                    pair(branch, visit);
                }
                if let Some(otherwise) = otherwise {
                    visit(otherwise);
                }
            }
            Expr::Call(call) => call.each_child(visit),
        }
    }

    /// Whether it is, or has in it, one of which `is_such` holds.
    pub fn has(&self, is_such: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = is_such(self);
        self.each_child(&mut |child| found = found || child.has(is_such));
        found
    }
}

impl Call {
    fn each_child(&self, visit: &mut dyn FnMut(&Expr)) {
        let sorted = |items: &[OrderItem], visit: &mut dyn FnMut(&Expr)| {
            for item in items {
                visit(&item.expr);
            }
        };
        self.args.iter().for_each(&mut *visit);
        sorted(&self.order_by, visit);
        if let Some(Over::Spec(spec)) = self.over.as_deref() {
            spec.partition_by.iter().for_each(&mut *visit);
            sorted(&spec.order_by, visit);
        }
    }
}

fn pair((a, b): &(Expr, Expr), visit: &mut dyn FnMut(&Expr)) {
    visit(a);
    visit(b);
}
