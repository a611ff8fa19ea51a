//! `JSON_TABLE` in `FROM`: its document may read the sources before it.

use std::sync::Arc;

use super::derived::check_columns;
use super::from::Side;
use super::output::result_column;
use super::scope::{Clause, Scope};
use crate::error::{Error, Result};
use crate::sql::ast;
use crate::sql::bound::{JsonRows, Query, Relation};
use crate::sql::expr::{Expr, ExprKind};
use crate::sql::functions::json_table::JsonTable;
use crate::types::{ColumnType, ResultColumn};

impl Scope<'_> {
    /// The rows of a document.
    ///
    /// # Errors
    /// Those of its paths; 1060 for two columns of one name.
    pub(super) fn json_table(&mut self, table: &ast::JsonTable) -> Result<Side> {
        let alias = table.alias.as_deref().unwrap_or_default();
        let (made, typed) = JsonTable::new(table)?;
        let columns: Vec<ResultColumn> = typed.into_iter().map(column).collect();
        check_columns(&columns)?;
        let names = self.names;
        let outside = std::mem::take(&mut self.captures);
        let first_seen = std::mem::take(&mut self.from.first_seen);
        let (document, asked, parameters_count) = {
            let mut inner = Scope::new(names, None, Clause::FieldList);
            inner.outer = Some(self);
            let document = inner.value(&table.document);
            (
                document,
                !inner.subqueries.is_empty(),
                inner.parameters_count,
            )
        };
        self.from.first_seen = first_seen;
        let captures = std::mem::replace(&mut self.captures, outside);
        let document = document?;
        if asked {
            return Err(Error::unsupported("a subquery in JSON_TABLE"));
        }
        self.parameters_count = self.parameters_count.max(parameters_count);
        let query = Query::Json(Box::new(JsonRows {
            document,
            table: Arc::new(made),
            columns: columns.clone(),
            parameters_count,
        }));
        let side = self.opaque(Relation::Query(Arc::new(query)), alias, columns);
        if let Some(relation) = self.from.relations.last_mut() {
            relation.captures = captures;
        }
        Ok(side)
    }
}

fn column((name, ty): (String, ColumnType)) -> ResultColumn {
    let value = Expr {
        kind: ExprKind::Column(0),
        ty,
        nullable: true,
    };
    ResultColumn {
        name,
        display_chars: 0,
        ..result_column(&value)
    }
}
