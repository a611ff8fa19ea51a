//! Views of views: how deep they may be, and how many.

use std::sync::Arc;

use crate::catalog::{Table, View, ViewAlgorithm};
use crate::error::{Code, Error, Result};
use crate::plan::testing;
use crate::sql::ast::Statement;
use crate::sql::bind::{self, FindTable, Names, Numbering};
use crate::sql::parse::parse_first;

/// The view `v7` names the view `v6` as its query says, and `v0` the table `t`.
struct Chain {
    query: &'static str,
}

impl FindTable for Chain {
    fn find_table(&self, database: &str, name: &str) -> Result<Arc<Table>> {
        if name == "t" {
            let table = testing::table("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
            return Ok(Arc::new(table));
        }
        let text = format!("Table '{database}.{name}' doesn't exist");
        Err(Error::new(Code::TableMissing, text))
    }

    fn find_view(&self, database: &str, name: &str) -> Option<Arc<View>> {
        let number: usize = name.strip_prefix('v')?.parse().ok()?;
        let below = match number.checked_sub(1) {
            Some(below) => format!("v{below}"),
            None => "t".to_owned(),
        };
        Some(Arc::new(View {
            database: database.to_owned(),
            name: name.to_owned(),
            columns: Vec::new(),
            algorithm: ViewAlgorithm::Undefined,
            definer: (String::new(), String::new()),
            by_invoker: false,
            query: self.query.replace("below", &below),
        }))
    }
}

/// Binds a query over a chain of views on a stack as small as a thread's.
fn bound(query: &'static str, sql: &'static str) -> Result<usize> {
    let work = move || {
        let statement = parse_first(sql.as_bytes(), crate::sql::computed::MODE)?.statement;
        let Statement::Select(select) = statement else {
            panic!("{sql} is no query");
        };
        let empty = testing::table("CREATE TABLE t (id INT PRIMARY KEY)");
        let chain = Chain { query };
        let numbering = Numbering::new();
        testing::with_names(&empty, |names| {
            let names = Names {
                definitions: &chain,
                numbering: &numbering,
                ..*names
            };
            Ok(bind::query(&select, &names).map(|query| query.columns().len()))
        })
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(work).unwrap().join().unwrap()
}

const MERGED: &str = "select * from below";
const ALONE: &str =
    "select id, max(a) as a, count(*) as n from (select id, a from below) as d group by id";

#[test]
fn views_nest_as_deep_as_they_may() {
    for query in [MERGED, ALONE] {
        let deep = bound(query, "SELECT * FROM v23").unwrap();
        assert_eq!(deep, if query == MERGED { 2 } else { 3 });
        let error = bound(query, "SELECT * FROM v24").unwrap_err();
        assert_eq!(error.code(), Code::TooDeep);
    }
}

#[test]
fn views_that_double_are_refused() {
    let query = "select distinct x.id, x.a from below x, below y";
    assert_eq!(bound(query, "SELECT id FROM v6"), Ok(1));
    let error = bound(query, "SELECT id FROM v12").unwrap_err();
    assert_eq!(error.code(), Code::TooManyTables);
}

#[test]
fn what_a_view_names_must_be_there() {
    let error = bound("select nothing from below", "SELECT * FROM v0").unwrap_err();
    assert_eq!(error.code(), Code::ViewInvalid);
    assert!(error.message().starts_with("View 'shop.v0' references"));
}
