//! One slt file: read, run against one server, and compared.
//!
//! The parser is that of the `sqllogictest` crate; running and comparing are ours, because a
//! file keeps its connections from record to record (transactions, `USE`, variables).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use md5::{Digest, Md5};
use sqllogictest::parser::{ExpectedError, ResultMode};
use sqllogictest::{
    Condition, Connection, Control, DefaultColumnType, QueryExpect, Record, SortMode,
    StatementExpect,
};

use crate::client::{Answer, Client, EndForm, Failure};
use crate::present::{hex, sorted, values_of};
use crate::scope::OutOfScope;
use crate::{fill, refusal};

/// How many failed records of a file are told in full, unless `MESETA_SLT_TOLD` says otherwise.
const FAILURES_TOLD_MAX: usize = 12;

/// Where and how a file runs.
pub(crate) struct Target<'a> {
    pub(crate) address: &'a str,
    pub(crate) database: &'a str,
    /// What `skipif` and `onlyif` can name.
    pub(crate) labels: &'a [&'a str],
    pub(crate) out_of_scope: &'a OutOfScope,
    pub(crate) part: Part,
    /// Whether the server refuses full scans, and rightly so is what is to be found out.
    pub(crate) refuses: bool,
}

/// Which queries of a file are run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    All,
    /// Those at the beginning.
    First(usize),
    /// So many in a row, then not so many in a row, to the end of the file.
    Some {
        run: usize,
        skip: usize,
    },
}

impl Part {
    /// Whether the file is left before the query of this number.
    fn ends_before(self, query_idx: usize) -> bool {
        matches!(self, Part::First(queries) if queries <= query_idx)
    }

    fn has(self, query_idx: usize) -> bool {
        match self {
            Part::All | Part::First(_) => true,
            Part::Some { run, skip } => query_idx % (run + skip) < run,
        }
    }
}

/// What came of a file.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) out_of_scope: usize,
    /// Queries that passed by being refused.
    pub(crate) refused: usize,
    pub(crate) failures: Vec<String>,
    /// Results that differ from the expected: line of the record, and what it should say.
    pub(crate) corrections: Vec<(usize, Vec<String>)>,
}

impl Outcome {
    /// The text for a failed file.
    pub(crate) fn report(&self) -> String {
        let mut text = String::new();
        let told_max = std::env::var("MESETA_SLT_TOLD")
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(FAILURES_TOLD_MAX);
        for failure in self.failures.iter().take(told_max) {
            let _ = writeln!(text, "{failure}");
        }
        let _ = write!(
            text,
            "{} records passed, {} failed",
            self.passed,
            self.failures.len()
        );
        text
    }
}

/// Runs a file; an error when it cannot be read, or when the server is lost.
pub(crate) fn run_file(path: &Path, target: &Target<'_>) -> Result<Outcome, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text = normalize(&text, target.labels);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let records = sqllogictest::parser::parse_with_name::<DefaultColumnType>(&text, name.as_ref())
        .map_err(|e| e.to_string())?;
    let is_stock = path
        .extension()
        .is_some_and(|extension| extension == "test");
    let mut run = Run {
        target,
        file: path.to_string_lossy().into_owned(),
        connections: HashMap::new(),
        // That of the tests' own runner, where a file does not say.
        hash_threshold: if is_stock { 8 } else { 0 },
        valuewise: is_stock,
        sort_mode: SortMode::NoSort,
        labelled: HashMap::new(),
        outcome: Outcome::default(),
    };
    run.prepare()?;
    let mut queries_count = 0;
    for record in records {
        if matches!(record, Record::Query { .. }) {
            let query_idx = queries_count;
            queries_count += 1;
            if target.part.ends_before(query_idx) {
                break;
            }
            if !target.part.has(query_idx) {
                continue;
            }
        }
        if run.record(record)? == Next::Halt {
            break;
        }
    }
    run.finish();
    Ok(run.outcome)
}

/// Makes a stock file fit the parser: comments behind conditions go, and a conditional `halt`
/// either ends the file or is blanked. Line numbers stay.
fn normalize(text: &str, labels: &[&str]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut pending: Vec<usize> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some(verb @ ("skipif" | "onlyif")) => {
                pending.push(lines.len());
                lines.push(format!("{verb} {}", words.next().unwrap_or_default()));
            }
            Some("halt") => {
                let holds = pending
                    .iter()
                    .all(|&at| condition_holds(&lines[at], labels));
                for at in pending.drain(..) {
                    lines[at].clear();
                }
                if holds {
                    break;
                }
                lines.push(String::new());
            }
            Some(word) if word.starts_with('#') => lines.push(line.to_owned()),
            _ => {
                pending.clear();
                lines.push(line.trim_end_matches(['\r']).to_owned());
            }
        }
    }
    lines.join("\n") + "\n"
}

fn condition_holds(line: &str, labels: &[&str]) -> bool {
    match line.split_once(' ') {
        Some(("skipif", label)) => !labels.contains(&label),
        Some((_, label)) => labels.contains(&label),
        None => true,
    }
}

#[derive(PartialEq, Eq)]
enum Next {
    Record,
    Halt,
}

/// A file being run.
struct Run<'a> {
    target: &'a Target<'a>,
    file: String,
    connections: HashMap<Connection, Client>,
    hash_threshold: usize,
    valuewise: bool,
    sort_mode: SortMode,
    /// The results that a label stands for.
    labelled: HashMap<String, Vec<String>>,
    outcome: Outcome,
}

impl Run<'_> {
    /// An empty database of the file's own.
    fn prepare(&mut self) -> Result<(), String> {
        let database = self.target.database;
        let mut client = Client::connect(self.target.address, "", EndForm::Ok)
            .map_err(|e| format!("cannot connect: {e}"))?;
        for sql in [
            format!("DROP DATABASE IF EXISTS `{database}`"),
            format!("CREATE DATABASE `{database}`"),
        ] {
            client.execute(&sql).map_err(|e| format!("{sql}: {e}"))?;
        }
        Ok(())
    }

    /// Drops the database when all went well; a failed file's data stays to be looked at.
    fn finish(&mut self) {
        self.connections.clear();
        if !self.outcome.failures.is_empty() {
            return;
        }
        if let Ok(mut client) = Client::connect(self.target.address, "", EndForm::Eof) {
            let _ = client.execute(&format!("DROP DATABASE `{}`", self.target.database));
        }
    }

    fn record(&mut self, record: Record<DefaultColumnType>) -> Result<Next, String> {
        match record {
            Record::Statement {
                loc,
                conditions,
                connection,
                sql,
                expected,
                ..
            } => {
                if self.is_wanted(&conditions, loc.line(), &sql) {
                    let answer = self.execute(&connection, &sql)?;
                    let verdict = judge_statement(answer, &expected);
                    self.note(loc.line(), &sql, verdict);
                }
            }
            Record::Query {
                loc,
                conditions,
                connection,
                sql,
                expected,
                ..
            } => {
                if self.is_wanted(&conditions, loc.line(), &sql) {
                    let answer = self.answer(&connection, &sql)?;
                    let verdict = match self.judge_refusal(&connection, &sql, &answer)? {
                        Ok(true) => Ok(()),
                        Ok(false) => self.judge_query(answer, expected, loc.line()),
                        Err(why) => Err(why),
                    };
                    self.note(loc.line(), &sql, verdict);
                }
            }
            Record::HashThreshold { threshold, .. } => {
                self.hash_threshold = usize::try_from(threshold).unwrap_or(usize::MAX);
            }
            Record::Control(Control::ResultMode(mode)) => {
                self.valuewise = mode == ResultMode::ValueWise;
            }
            Record::Control(Control::SortMode(mode)) => self.sort_mode = mode,
            Record::Halt { .. } => return Ok(Next::Halt),
            Record::Condition(_)
            | Record::Connection(_)
            | Record::Comment(_)
            | Record::Newline
            | Record::Subtest { .. } => {}
            other => return Err(format!("a record this runner does not know: {other:?}")),
        }
        Ok(Next::Record)
    }

    fn is_wanted(&mut self, conditions: &[Condition], line: u32, sql: &str) -> bool {
        let labels = self.target.labels;
        let holds = conditions.iter().all(|condition| match condition {
            Condition::OnlyIf { label } => labels.contains(&label.as_str()),
            Condition::SkipIf { label } => !labels.contains(&label.as_str()),
        });
        if holds && self.target.out_of_scope.covers(&self.file, line, sql) {
            self.outcome.out_of_scope += 1;
            return false;
        }
        holds
    }

    fn note(&mut self, line: u32, sql: &str, verdict: Result<(), String>) {
        match verdict {
            Ok(()) => self.outcome.passed += 1,
            Err(why) => {
                let failure = format!("{}:{line}: {why}\n  {sql}\n", self.file);
                self.outcome.failures.push(failure);
            }
        }
    }

    /// As [`Run::answer`]; a copy of a whole table is allowed where full scans are refused.
    fn execute(&mut self, name: &Connection, sql: &str) -> Result<Result<Answer, Failure>, String> {
        let answer = self.answer(name, sql)?;
        let Err(failure) = &answer else {
            return Ok(answer);
        };
        match fill::allowed(sql, failure) {
            Some(sql) => self.answer(name, &sql),
            None => Ok(answer),
        }
    }

    /// Where full scans are refused: whether this query was, and rightly.
    fn judge_refusal(
        &mut self,
        name: &Connection,
        sql: &str,
        answer: &Result<Answer, Failure>,
    ) -> Result<Result<bool, String>, String> {
        if !self.target.refuses {
            return Ok(Ok(false));
        }
        let [table, tree] = refusal::statements(sql);
        let told = (self.answer(name, &table)?, self.answer(name, &tree)?);
        let (Ok(Answer::Rows(table)), Ok(Answer::Rows(tree))) = told else {
            return Ok(Err(format!("EXPLAIN: {told:?}")));
        };
        let explained = refusal::explained(&table, &tree);
        let judged = explained.and_then(|explained| refusal::judge(answer, explained));
        self.outcome.refused += usize::from(judged == Ok(true));
        Ok(judged)
    }

    /// The server's answer; an error of ours only when the connection breaks.
    fn answer(&mut self, name: &Connection, sql: &str) -> Result<Result<Answer, Failure>, String> {
        if !self.connections.contains_key(name) {
            let client = self.connect(name)?;
            self.connections.insert(name.clone(), client);
        }
        let Some(client) = self.connections.get_mut(name) else {
            return Err(format!("no connection {name:?}"));
        };
        match client.query(sql) {
            Err(Failure::Lost(error)) => {
                Err(format!("{}: connection lost: {error}\n  {sql}", self.file))
            }
            answer => Ok(answer),
        }
    }

    /// The file's plain connection uses the new end of result sets, named ones the old one.
    fn connect(&self, name: &Connection) -> Result<Client, String> {
        let end = match name {
            Connection::Default => EndForm::Ok,
            Connection::Named(_) => EndForm::Eof,
        };
        let mut client = Client::connect(self.target.address, self.target.database, end)
            .map_err(|e| format!("cannot connect: {e}"))?;
        if self.target.labels.contains(&"mariadb") {
            // The server's collation: bytes, no padding.
            let sql = "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin";
            client.execute(sql).map_err(|e| e.to_string())?;
        }
        Ok(client)
    }

    fn judge_query(
        &mut self,
        answer: Result<Answer, Failure>,
        expected: QueryExpect<DefaultColumnType>,
        line: u32,
    ) -> Result<(), String> {
        let (types, sort_mode, label, results) = match expected {
            QueryExpect::Error(error) => return judge_error(answer.map(|_| ()), &error),
            QueryExpect::Results {
                types,
                sort_mode,
                label,
                results,
                ..
            } => (types, sort_mode, label, results),
        };
        let rows = match answer {
            Ok(Answer::Rows(rows)) => rows,
            Ok(Answer::Done(_)) => return Err("no result set".to_owned()),
            Err(failure) => return Err(failure.to_string()),
        };
        if rows.columns_count != types.len() {
            let (got, want) = (rows.columns_count, types.len());
            return Err(format!("{got} columns, expected {want}"));
        }
        let mode = sort_mode.unwrap_or(self.sort_mode);
        let values = sorted(values_of(&rows, &types), types.len(), mode);
        let found = self.presented(values, types.len());
        if found != results {
            self.outcome
                .corrections
                .push((line as usize, found.clone()));
            return Err(format!(
                "expected\n    {}\n  found\n    {}",
                results.join("\n    "),
                found.join("\n    ")
            ));
        }
        match label {
            Some(label) => self.judge_label(label, &found),
            None => Ok(()),
        }
    }

    /// Queries of one label must agree.
    fn judge_label(&mut self, label: String, found: &[String]) -> Result<(), String> {
        let first = self.labelled.entry(label).or_insert_with(|| found.to_vec());
        if *first == found {
            Ok(())
        } else {
            Err("another query of this label gave another result".to_owned())
        }
    }

    /// The lines that a file shows for these values.
    fn presented(&self, values: Vec<String>, columns_count: usize) -> Vec<String> {
        if 0 < self.hash_threshold && self.hash_threshold < values.len() {
            let mut hash = Md5::new();
            for value in &values {
                hash.update(value.as_bytes());
                hash.update(b"\n");
            }
            let digest = hex(&hash.finalize());
            return vec![format!("{} values hashing to {digest}", values.len())];
        }
        if columns_count < 2 {
            let lines = values.iter().flat_map(|value| value.split('\n'));
            return lines.map(str::to_owned).collect();
        }
        if self.valuewise {
            return values;
        }
        values
            .chunks(columns_count)
            .map(|row| row.join(" "))
            .collect()
    }
}

fn judge_statement(
    answer: Result<Answer, Failure>,
    expected: &StatementExpect,
) -> Result<(), String> {
    match (expected, answer) {
        (StatementExpect::Error(error), answer) => judge_error(answer.map(|_| ()), error),
        (_, Err(failure)) => Err(failure.to_string()),
        (StatementExpect::Ok, Ok(_)) => Ok(()),
        (StatementExpect::Count(_), Ok(Answer::Rows(_))) => {
            Err("rows where a count was expected".to_owned())
        }
        (StatementExpect::Count(count), Ok(Answer::Done(done))) => {
            let found = done.affected_rows;
            if found == *count {
                return Ok(());
            }
            Err(format!("{found} rows affected, expected {count}"))
        }
    }
}

fn judge_error(answer: Result<(), Failure>, expected: &ExpectedError) -> Result<(), String> {
    let failure = match answer {
        Ok(()) => return Err("succeeded, an error was expected".to_owned()),
        Err(failure) => failure,
    };
    let text = failure.to_string();
    let state = match &failure {
        Failure::Server { state, .. } => Some(state.as_str()),
        Failure::Lost(_) => None,
    };
    if expected.is_match(&text, state) {
        Ok(())
    } else {
        Err(format!("{text}\n  is not {expected}"))
    }
}
