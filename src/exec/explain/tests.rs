//! Goldens of EXPLAIN of joins, subqueries and set operations: a server with the tables and rows of the
//! directives, a statement in, what EXPLAIN says out.

use crate::exec::testing::Server;
use crate::plan::testing::{directive, run_goldens};

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.build().unwrap().block_on(work)
}

#[test]
fn goldens_of_explain() {
    let cases = run_goldens("src/exec/testdata/explain", &|directives, input| {
        block_on(answer(directives, input))
    });
    assert!(25 <= cases);
}

/// A server with the tables and rows of the directives.
async fn filled(directives: &[String]) -> Server {
    let server = Server::refusing().await;
    for line in directives.iter().flat_map(|block| block.lines()) {
        let statement = match line.split_once(' ') {
            Some(("table", rest)) => format!("CREATE TABLE {rest}"),
            Some(("rows", rest)) => format!("INSERT INTO {rest}"),
            Some(_) | None => continue,
        };
        server.run(&statement).await.unwrap();
    }
    server
}

async fn answer(directives: &[String], input: &str) -> String {
    let server = filled(directives).await;
    let formats = directive(directives, "formats").unwrap_or("traditional tree");
    let mut told = Vec::new();
    for format in formats.split(' ') {
        match server
            .run(&format!("EXPLAIN FORMAT={format} {input}"))
            .await
        {
            Ok(rows) => told.extend(rows.iter().map(|row| row.join(" | "))),
            Err(error) => told.push(error.to_string()),
        }
    }
    let is_refused = told
        .iter()
        .any(|text| text.contains("Refused with error 1104: "));
    let run = server.run(input).await;
    if formats.contains("tree") {
        let was_refused = run
            .as_ref()
            .is_err_and(|error| error.code().errno() == 1104);
        assert_eq!(
            is_refused,
            was_refused,
            "{input}: {run:?}\n{}",
            told.join("\n")
        );
    }
    told.join("\n")
}

/// Time is not the same twice.
fn without_times(text: &str) -> String {
    let parts = text.split(" ms").collect::<Vec<_>>();
    let cut = parts.iter().enumerate().map(|(at, part)| {
        if at + 1 == parts.len() {
            return (*part).to_owned();
        }
        let number = part.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        format!("{number}N")
    });
    cut.collect::<Vec<_>>().join(" ms")
}

#[test]
fn goldens_of_explain_analyze() {
    run_goldens("src/exec/testdata/analyze", &|directives, input| {
        let text = block_on(answer_analyzed(directives, input));
        without_times(&text)
    });
}

async fn answer_analyzed(directives: &[String], input: &str) -> String {
    let server = filled(directives).await;
    match server.run(&format!("EXPLAIN ANALYZE {input}")).await {
        Ok(rows) => rows
            .iter()
            .map(|row| row.join(" | "))
            .collect::<Vec<_>>()
            .join("\n"),
        Err(error) => error.to_string(),
    }
}
