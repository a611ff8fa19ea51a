//! `VIEWS`, and the columns of views.

use std::sync::Arc;

use super::schemata::{CATALOG, CHARSET, COLLATION, each_table};
use super::table::{LONGTEXT, Made, NAME, YES_NO, column, text, varchar, yes_no};
use super::{INFORMATION_SCHEMA, Scene, Tables};
use crate::accounts::Privilege;
use crate::catalog::{Column, ColumnDefault, Table, View};
use crate::codec::row::ColumnId;
use crate::error::Result;
use crate::session::define::stored;
use crate::session::settings::mode_of;
use crate::sql::ast::QueryBody;
use crate::sql::bind::{self, Names, Numbering};
use crate::sql::context::SessionFacts;
use crate::sql::expr::VariableScope;
use crate::types::{ResultColumn, Value};

/// A view and its columns, if what it names is there.
pub(super) struct ViewOf {
    view: Arc<View>,
    columns: Option<Vec<ResultColumn>>,
    /// Whether the session may see what it is made of.
    is_shown: bool,
}

/// `information_schema.VIEWS`.
pub(super) static VIEWS: Made<ViewOf> = Made {
    database: INFORMATION_SCHEMA,
    name: "VIEWS",
    each: |scene, wants, give| {
        each_table(scene, wants, &mut |table| match table.view() {
            Some(view) => give(ViewOf {
                view: Arc::clone(view),
                columns: scene.view_columns(view).ok(),
                is_shown: scene
                    .state
                    .rights()
                    .on_table(&view.database, &view.name)
                    .has(Privilege::ShowView),
            }),
            None => Ok(()),
        })
    },
    columns: &[
        column("TABLE_CATALOG", NAME, |_| Value::text(CATALOG)),
        column("TABLE_SCHEMA", NAME, |v| text(v.view.database.as_str())),
        column("TABLE_NAME", NAME, |v| text(v.view.name.as_str())),
        column("VIEW_DEFINITION", LONGTEXT, |v| {
            text(if v.is_shown {
                v.view.query.as_str()
            } else {
                ""
            })
        }),
        column("CHECK_OPTION", varchar(8), |_| Value::text("NONE")),
        column("IS_UPDATABLE", YES_NO, |v| yes_no(v.is_updatable())),
        column("DEFINER", varchar(288), |v| {
            let (user, host) = &v.view.definer;
            text(format!("{user}@{host}"))
        }),
        column("SECURITY_TYPE", varchar(7), |v| {
            Value::text(if v.view.by_invoker {
                "INVOKER"
            } else {
                "DEFINER"
            })
        }),
        column("CHARACTER_SET_CLIENT", NAME, |_| Value::text(CHARSET)),
        column("COLLATION_CONNECTION", NAME, |_| Value::text(COLLATION)),
    ],
};

impl ViewOf {
    /// Whether rows of a table may be changed through it: one block that only filters, with a column of
    /// a table.
    fn is_updatable(&self) -> bool {
        let mut columns = self.columns.iter().flatten();
        let has_base = columns.any(|column| !column.org_name.is_empty());
        let is_plain = bind::query_of(&self.view).is_ok_and(|query| match query.body {
            QueryBody::Block(block) => {
                query.limit.is_none()
                    && !block.distinct
                    && block.group_by.is_empty()
                    && block.having.is_none()
            }
            QueryBody::Table(_) => true,
            QueryBody::SetOperation { .. } | QueryBody::Values(_) => false,
        });
        has_base && is_plain
    }
}

impl Scene {
    /// The columns of a view, as statements that name it find them.
    ///
    /// # Errors
    /// 1356 when what the view names is not there any more.
    pub(in crate::session) fn view_columns(&self, view: &View) -> Result<Vec<ResultColumn>> {
        let current = self.shared.catalog.current();
        let mode = self.state.system_variable(VariableScope::Any, "sql_mode")?;
        let names = Names {
            definitions: &Tables {
                definitions: current.as_ref(),
                scene: (&self.shared, &self.state),
                own: None,
            },
            database: None,
            mode: mode_of(&mode.to_text()),
            facts: self.state.as_ref(),
            parameters: &[],
            ctes: None,
            numbering: &Numbering::default(),
            trace: None,
            widening: None,
            depth: 0,
        };
        let widening = bind::Widening::default();
        let mut columns =
            bind::named::rounds(&names, &widening, |names| bind::view_columns(view, names))?;
        for column in &mut columns {
            column.ty = stored(&column.ty);
        }
        Ok(columns)
    }

    /// The columns of a view as those of a table; none when what it names is not there any more.
    pub(super) fn view_as_table(&self, view: &View) -> Table {
        let columns = self.view_columns(view).unwrap_or_default();
        let columns = columns.into_iter().enumerate().map(|(idx, column)| {
            let id = ColumnId(u32::try_from(idx).unwrap_or(u32::MAX));
            Column {
                nullable: column.nullable,
                default: self.view_default(&column),
                ..Column::new(id, &column.name, column.ty.clone())
            }
        });
        super::bare(&view.database, &view.name, columns.collect())
    }

    /// The default of a view's column: that of the table's column that it is; what is computed and
    /// never `NULL` has one as MySQL gives it, 0 or nothing.
    fn view_default(&self, column: &ResultColumn) -> ColumnDefault {
        let current = self.shared.catalog.current();
        let table = current.table(&column.database, &column.org_table).ok();
        let base = table.and_then(|table| {
            let idx = table.column_idx(&column.org_name)?;
            table.columns.get(idx)
        });
        let is_text = super::columns::has_charset(&column.ty);
        match base {
            Some(base) => base.default.clone(),
            None if column.nullable => ColumnDefault::None,
            None if column.ty.is_numeric() => ColumnDefault::Constant(Value::text("0")),
            None if is_text => ColumnDefault::Constant(Value::text("")),
            None => ColumnDefault::None,
        }
    }
}
