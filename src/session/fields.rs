//! `COM_FIELD_LIST`: the columns of a table, each with its default.

use super::{Session, compile};
use crate::catalog::{Column, ColumnDefault};
use crate::error::Result;
use crate::exec::write::row::implicit_default;
use crate::sql::ast::TableName;
use crate::sql::eval::like::is_like;
use crate::types::{ResultColumn, Value};

/// A column, and what a row has in it that is written without it; of one that is computed when the
/// row is written, what stands for nothing in its type, as in MySQL.
#[derive(Debug, Clone)]
pub struct Field {
    /// The column.
    pub column: ResultColumn,
    /// Its default.
    pub default: Value<'static>,
}

impl Session {
    /// The columns of a table whose names are like `wildcard` (empty: all), in any case.
    ///
    /// # Errors
    /// 1146 when there is no such table.
    pub fn list_fields(&mut self, table: &str, wildcard: &str) -> Result<Vec<Field>> {
        self.renew_rights();
        let name = TableName {
            database: None,
            name: table.to_owned(),
        };
        self.allow(&self.needs_to_list(&name)?)?;
        let wildcard = wildcard.to_lowercase();
        let is_asked = |name: &str| {
            let matches = || is_like(&name.to_lowercase(), &wildcard, Some('\\'), || Ok(()));
            wildcard.is_empty() || matches().unwrap_or(false)
        };
        if let Some(view) = self.named_view(&name) {
            let columns = self.view_columns(&view)?.into_iter();
            let fields = columns.map(|column| Field {
                default: default_of(&column.ty, column.nullable),
                column: ResultColumn {
                    database: view.database.clone(),
                    table: view.name.clone(),
                    org_table: view.name.clone(),
                    org_name: column.name.clone(),
                    ..column
                },
            });
            return Ok(fields
                .filter(|field| is_asked(&field.column.name))
                .collect());
        }
        let table = self.shown_table(None, table)?;
        let columns = table.columns.iter().filter(|column| !column.hidden);
        let columns = columns
            .enumerate()
            .filter(|(_, column)| is_asked(&column.name));
        let fields = columns.map(|(idx, column)| Field {
            column: compile::result_column(&table, idx, column),
            default: default(column),
        });
        Ok(fields.collect())
    }
}

fn default(column: &Column) -> Value<'static> {
    match &column.default {
        ColumnDefault::Constant(value) => value.clone(),
        ColumnDefault::None | ColumnDefault::Now => default_of(&column.ty, column.nullable),
    }
}

fn default_of(ty: &crate::types::ColumnType, nullable: bool) -> Value<'static> {
    if nullable {
        Value::Null
    } else {
        implicit_default(ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::testing::{options, session};
    use crate::session::{Reply, Shared};
    use crate::types::Attributes;

    /// Each column with the letters of what its table says of it.
    fn shown<'c>(columns: impl IntoIterator<Item = &'c ResultColumn>) -> String {
        let letters = [
            ('P', Attributes::PRIMARY_KEY),
            ('U', Attributes::UNIQUE_KEY),
            ('M', Attributes::MULTIPLE_KEY),
            ('k', Attributes::PART_KEY),
            ('a', Attributes::AUTO_INCREMENT),
            ('n', Attributes::NO_DEFAULT),
        ];
        let shown = columns.into_iter().map(|column| {
            let own = letters
                .iter()
                .filter(|(_, one)| column.attributes.has(*one));
            let own: String = own.map(|(letter, _)| *letter).collect();
            let field = if column.is_field { "" } else { "()" };
            format!("{}{field}:{own}", column.name)
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    async fn selected(session: &mut Session, sql: &str) -> String {
        let answer = session.query(sql.as_bytes()).await.unwrap();
        match answer.reply {
            Reply::Rows(rows) => shown(rows.columns.iter()),
            Reply::Done(_) | Reply::File(_) => String::new(),
        }
    }

    /// As MySQL's flags are (MySQL 8.0 Source Documentation, "Column Definition Flags").
    #[tokio::test]
    async fn a_column_tells_of_its_part_in_keys_and_of_its_default() {
        let shared = Shared::open(options()).await.unwrap();
        let mut session = session(&shared, 1);
        for (sql, told) in [
            (
                "t (id INT AUTO_INCREMENT PRIMARY KEY, u INT NOT NULL UNIQUE, u2 INT UNIQUE, \
                 m INT NOT NULL DEFAULT 5, m2 INT, m3 INT, x INT NOT NULL, z VARCHAR(9), \
                 s TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, \
                 KEY (m), KEY (m2, m3), UNIQUE (x, z), KEY (z(3)))",
                "id:Pka u:Ukn u2:Uk m:Mk m2:Mk m3:k x:Mkn z:Mk s:",
            ),
            (
                "p (a INT, b INT, c INT NOT NULL, PRIMARY KEY (a, b), UNIQUE (b), KEY (b DESC, c))",
                "a:Pkn b:PUMkn c:kn",
            ),
            (
                "hidden (a INT NOT NULL, b INT NOT NULL, c INT, UNIQUE (a, b), KEY (b), \
                 KEY ((c + 1)))",
                "a:Pkn b:PMkn c:",
            ),
        ] {
            let name = sql.split(' ').next().unwrap();
            selected(&mut session, &format!("CREATE TABLE {sql}")).await;
            let fields = session.list_fields(name, "").unwrap();
            assert_eq!(shown(fields.iter().map(|field| &field.column)), told);
            let sql = format!("SELECT * FROM {name} LIMIT 1");
            assert_eq!(selected(&mut session, &sql).await, told);
        }
    }

    #[tokio::test]
    async fn rows_that_were_put_aside_have_no_keys_and_expressions_are_no_fields() {
        let shared = Shared::open(options()).await.unwrap();
        let mut session = session(&shared, 1);
        for sql in [
            "CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL)",
            "CREATE VIEW v AS SELECT a, b + 1 AS c FROM t",
        ] {
            selected(&mut session, sql).await;
        }
        for (sql, told) in [
            (
                "SELECT a, a + 1, COUNT(*) FROM t WHERE a = 1 GROUP BY a",
                "a:Pkn a + 1(): COUNT(*)():",
            ),
            ("SELECT * FROM v WHERE a = 1", "a:Pkn c():"),
            ("SELECT * FROM (SELECT a, 1 AS c FROM t LIMIT 1) q", "a: c:"),
            ("SELECT 1 UNION SELECT 2", "1:"),
            ("SELECT 1", "1():"),
        ] {
            assert_eq!(selected(&mut session, sql).await, told, "{sql}");
        }
    }
}
