//! `CREATE TABLE … SELECT`: a table with the columns of a query, filled with its rows.
//!
//! The table gets its name when its rows are there: after a crash it is there with all of them or not at all, and
//! others see it so. Source: MySQL manual, "CREATE TABLE ... SELECT Statement".

use std::sync::Arc;

use crate::catalog::{Column, ColumnDefault, Table, describe};
use crate::error::{Error, Result};
use crate::session::{Reply, Session};
use crate::sql::ast::{
    ColumnDef, ColumnName, CreateQuery, CreateTable, DefaultValue, Insert, InsertRows, InsertVerb,
    Literal, OnDuplicate, Statement, TableName, TableSource,
};
use crate::sql::bind;
use crate::types::column_type::LobSize;
use crate::types::{ColumnType, ResultColumn, Value, Zone};

impl Session {
    pub(in crate::session) async fn create_table_of(
        &mut self,
        create: &CreateTable,
        parameters: Vec<Value<'static>>,
    ) -> Result<Reply> {
        let Some(query) = &create.query else {
            return Err(Error::internal("CREATE TABLE without a query"));
        };
        if !create.temporary {
            // Before its query is looked at: as of all that defines, also where it fails.
            self.commit_open().await?;
        }
        let types: Vec<_> = parameters.iter().map(bind::parameter_type).collect();
        let bound = self.bound(&types, |names| bind::query(&query.select, names))?;
        let columns: Vec<ResultColumn> = bound.columns().into_iter().cloned().collect();
        let whole = self.with_columns(create, &columns)?;
        if create.temporary {
            let filling = (query, columns.as_slice(), parameters);
            return self.create_temporary_of(whole, filling).await;
        }
        let Some(table) = self.defined(&whole).await? else {
            return Ok(self.nothing());
        };
        let table = match self.shared.catalog.foster(table).await {
            Ok(table) => table,
            Err(error) => {
                self.note_there(create, &error)?;
                return Ok(self.nothing());
            }
        };
        let unnamed = self.show_unnamed(Arc::clone(&table));
        let insert = Statement::Insert(Box::new(insert_of(unnamed, query, &columns)));
        let filled = match self.fill(&insert, parameters).await {
            Ok(reply) => self.commit_open().await.map(|()| reply),
            Err(error) => Err(error),
        };
        self.hide_unnamed(&table);
        self.publish_filled((create, &table), filled).await
    }

    /// Gives the table its name, if it could be filled; else it goes.
    async fn publish_filled(
        &mut self,
        (create, table): (&CreateTable, &Arc<Table>),
        filled: Result<Reply>,
    ) -> Result<Reply> {
        let published = match filled {
            Ok(reply) => self.shared.catalog.adopt(table).await.map(|()| reply),
            Err(error) => Err(error),
        };
        match published {
            Ok(mut reply) => {
                self.warn_of_lints_of((&table.database, &table.name), None);
                if let Reply::Done(done) = &mut reply {
                    done.warnings_count = self.warnings.count();
                    self.state.set_warnings_count(done.warnings_count);
                }
                Ok(reply)
            }
            Err(error) => {
                self.drop_transaction();
                self.shared.catalog.abandon(table).await;
                let counters = &self.shared.ids.counters;
                counters.sweep(self.shared.engine.as_ref());
                self.note_there(create, &error)?;
                Ok(self.nothing())
            }
        }
    }

    /// As the permanent one: the query may read a table that it will hide.
    async fn create_temporary_of(
        &mut self,
        whole: CreateTable,
        (query, columns, parameters): (&CreateQuery, &[ResultColumn], Vec<Value<'static>>),
    ) -> Result<Reply> {
        let Some(unnamed) = self.create_unnamed(&whole).await? else {
            return Ok(self.nothing());
        };
        let insert = Statement::Insert(Box::new(insert_of(unnamed.clone(), query, columns)));
        let filled = self.fill(&insert, parameters).await;
        self.name_temporary(&unnamed, filled.is_ok()).await?;
        filled
    }

    async fn fill(&mut self, insert: &Statement, parameters: Vec<Value<'static>>) -> Result<Reply> {
        let types: Vec<_> = parameters.iter().map(bind::parameter_type).collect();
        let compiled = self.compile(insert, &types)?;
        Box::pin(self.run_compiled((insert, compiled), parameters)).await
    }
}

impl Session {
    /// The statement with the columns of the query behind its own.
    fn with_columns(&self, create: &CreateTable, columns: &[ResultColumn]) -> Result<CreateTable> {
        let mut whole = create.clone();
        let TableSource::Columns { columns: own, .. } = &mut whole.source else {
            return Err(Error::unsupported("CREATE TABLE … LIKE … SELECT"));
        };
        // As MySQL: first those that are declared alone, then those of the query, in its order.
        let mut selected = Vec::with_capacity(columns.len());
        for column in columns {
            let mut declared = own.iter();
            let declared = declared.position(|own| own.name.eq_ignore_ascii_case(&column.name));
            selected.push(if let Some(idx) = declared {
                own.remove(idx)
            } else {
                let mut made = definition(column);
                self.inherit(&mut made, column);
                made
            });
        }
        own.append(&mut selected);
        Ok(whole)
    }

    /// Gives a column what is declared of the column of a table that the query shows in it, if it does,
    /// as MySQL: its comment, and with its type its default and `ON UPDATE`.
    fn inherit(&self, made: &mut ColumnDef, column: &ResultColumn) {
        if column.org_name.is_empty() {
            return;
        }
        let Ok(table) = self.shown_table(Some(&column.database), &column.org_table) else {
            return;
        };
        let idx = table.column_idx(&column.org_name);
        let Some(source) = idx.and_then(|idx| table.columns.get(idx)) else {
            return;
        };
        made.comment.clone_from(&source.comment);
        if source.ty == made.ty {
            made.default = if source.auto_increment && !source.nullable {
                // As MySQL: the copy counts nothing.
                Some(zero())
            } else {
                default_of(source, &self.settings.zone)
            };
            made.on_update_now = source.on_update_now;
        }
    }
}

fn zero() -> DefaultValue {
    DefaultValue::Literal {
        literal: Literal::Int(0),
        negative: false,
    }
}

/// The default of a column as it is declared in a session of this time zone.
fn default_of(column: &Column, zone: &Zone) -> Option<DefaultValue> {
    let literal = match &column.default {
        ColumnDefault::None => return None,
        ColumnDefault::Now => {
            return Some(DefaultValue::Now {
                fsp: column.ty.fsp(),
            });
        }
        ColumnDefault::Constant(Value::Bytes(bytes)) => Literal::Bytes(bytes.to_vec()),
        ColumnDefault::Constant(value) => Literal::Text(describe::constant_text(value, zone)),
    };
    Some(DefaultValue::Literal {
        literal,
        negative: false,
    })
}

fn definition(column: &ResultColumn) -> ColumnDef {
    ColumnDef {
        name: column.name.clone(),
        ty: stored(&column.ty),
        // One that a key is declared of becomes NOT NULL.
        nullable: (!column.nullable).then_some(false),
        default: None,
        on_update_now: false,
        auto_increment: false,
        checks_sign: false,
        comment: String::new(),
        charset: None,
        collation: None,
        unsupported: None,
    }
}

/// The type of a column that holds values of a type.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all other types are those of columns"
)]
pub(in crate::session) fn stored(ty: &ColumnType) -> ColumnType {
    match ty {
        ColumnType::Null => ColumnType::Binary { bytes: 1 },
        ColumnType::Dynamic | ColumnType::Varchar { chars_max: None } => {
            ColumnType::Text(LobSize::Long)
        }
        ColumnType::Varchar { chars_max: Some(0) } => ColumnType::Char { chars_max: 1 },
        ColumnType::Varbinary { bytes_max: None } => ColumnType::Blob(LobSize::Long),
        other => other.clone(),
    }
}

fn insert_of(table: TableName, query: &CreateQuery, columns: &[ResultColumn]) -> Insert {
    let names = columns.iter().map(|column| ColumnName {
        database: None,
        table: None,
        column: column.name.clone(),
    });
    Insert {
        verb: if query.replace {
            InsertVerb::Replace
        } else {
            InsertVerb::Insert
        },
        ignore: query.ignore,
        hints: Vec::new(),
        table,
        columns: Some(names.collect()),
        rows: InsertRows::Select(query.select.clone()),
        alias: None,
        on_duplicate: OnDuplicate::Unsaid,
    }
}
