//! `CREATE TABLE … SELECT`: a table with the columns of a query, filled with its rows.
//!
//! The table is there before its rows are; if they cannot be put into it, it is dropped. Source: MySQL
//! manual, "CREATE TABLE ... SELECT Statement".

use crate::catalog::{Fate, TableId};
use crate::error::{Code, Error, Result};
use crate::session::{Reply, Session};
use crate::sql::ast::{
    ColumnDef, CreateQuery, CreateTable, Insert, InsertRows, InsertVerb, OnDuplicate, Statement,
    TableName, TableSource,
};
use crate::sql::bind;
use crate::types::column_type::LobSize;
use crate::types::{ColumnType, ResultColumn};

impl Session {
    pub(in crate::session) async fn create_table_of(
        &mut self,
        create: &CreateTable,
    ) -> Result<Reply> {
        let Some(query) = &create.query else {
            return Err(Error::internal("CREATE TABLE without a query"));
        };
        let bound = self.bound(&[], |names| bind::query(&query.select, names))?;
        let columns: Vec<ResultColumn> = bound.columns().into_iter().cloned().collect();
        let whole = with_columns(create, &columns)?;
        if !create.temporary && self.named_temporary(&create.table).is_some() {
            let what = "CREATE TABLE … SELECT with the name of a temporary table";
            return Err(Error::unsupported(what));
        }
        if create.temporary {
            return self.create_temporary_of(whole, (query, &columns)).await;
        }
        if !self.create_table(&whole).await? {
            return Ok(self.nothing());
        }
        let made = self.id_of(&whole.table)?;
        let insert = Statement::Insert(Box::new(insert_of(&whole, query, &columns)));
        let filled = self.fill(&insert).await;
        let filled = match filled {
            Ok(reply) => self.commit_open().await.map(|()| reply),
            Err(error) => Err(error),
        };
        if filled.is_err() {
            self.drop_unfilled((whole.table, made)).await?;
        }
        filled
    }

    /// The table gets its name when its rows are there: the query may read one that it will hide.
    async fn create_temporary_of(
        &mut self,
        mut whole: CreateTable,
        (query, columns): (&CreateQuery, &[ResultColumn]),
    ) -> Result<Reply> {
        let Some(unnamed) = self.create_unnamed(&whole).await? else {
            return Ok(self.nothing());
        };
        whole.table = unnamed;
        let insert = Statement::Insert(Box::new(insert_of(&whole, query, columns)));
        let filled = self.fill(&insert).await;
        self.name_temporary(&whole.table, filled.is_ok()).await?;
        filled
    }

    /// The storage of the table that has a name now.
    fn id_of(&self, table: &TableName) -> Result<Option<TableId>> {
        let database = self.database_or_current(table.database.as_deref())?;
        let definitions = self.shared.catalog.current();
        let found = definitions.table(&database, &table.name);
        Ok(found.ok().map(|table| table.id))
    }

    /// Drops the table that could not be filled, unless somebody else has, and has made another of its name.
    async fn drop_unfilled(&mut self, (table, made): (TableName, Option<TableId>)) -> Result<()> {
        self.transaction = None;
        if self.id_of(&table)? != made {
            return Ok(());
        }
        let database = self.database_or_current(table.database.as_deref())?;
        let made = [(database, table.name)];
        match self.shared.catalog.drop_tables(&made, Fate::Gone).await {
            Err(error) if error.code() == Code::UnknownTable => Ok(()),
            other => other,
        }
    }

    async fn fill(&mut self, insert: &Statement) -> Result<Reply> {
        let compiled = self.compile(insert, &[])?;
        Box::pin(self.run_compiled((insert, compiled), Vec::new())).await
    }
}

/// The statement with the columns of the query behind its own.
fn with_columns(create: &CreateTable, columns: &[ResultColumn]) -> Result<CreateTable> {
    let mut whole = create.clone();
    let TableSource::Columns { columns: own, .. } = &mut whole.source else {
        return Err(Error::unsupported("CREATE TABLE … LIKE … SELECT"));
    };
    for column in columns {
        let mut declared = own.iter();
        if !declared.any(|own| own.name.eq_ignore_ascii_case(&column.name)) {
            own.push(definition(column));
        }
    }
    Ok(whole)
}

fn definition(column: &ResultColumn) -> ColumnDef {
    ColumnDef {
        name: column.name.clone(),
        ty: stored(&column.ty),
        nullable: Some(column.nullable),
        default: None,
        on_update_now: false,
        auto_increment: false,
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

fn insert_of(create: &CreateTable, query: &CreateQuery, columns: &[ResultColumn]) -> Insert {
    Insert {
        verb: if query.replace {
            InsertVerb::Replace
        } else {
            InsertVerb::Insert
        },
        ignore: query.ignore,
        hints: Vec::new(),
        table: create.table.clone(),
        columns: Some(columns.iter().map(|column| column.name.clone()).collect()),
        rows: InsertRows::Select(query.select.clone()),
        alias: None,
        on_duplicate: OnDuplicate::Error,
    }
}
