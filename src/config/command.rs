//! The commands that need no server: `meseta check` and `meseta restore`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::{Request, first_line, is_answer};
use crate::upkeep::Task;

/// What `--help` says of them.
pub(super) const HELP: &str = "\
Commands (each has a --help of its own):
  meseta check DIR                          Read and verify a backup, or the data of a stopped server
  meseta restore BACKUP --data-dir NEW      Make a data directory from a backup
  meseta restore BACKUP --data-dir DIR --table DB.TABLE
                                            Put one table of a backup into the data of a stopped server";

const DIR: &str = "dir";
const BACKUP: &str = "backup";
const DATA_DIR: &str = "data-dir";
const TABLE: &str = "table";

/// The command that the arguments begin with, if they do.
pub(super) fn of(arguments: &[OsString]) -> Option<Result<Request, String>> {
    let name = arguments.get(1)?.to_str()?;
    let (command, task): (Command, fn(&ArgMatches) -> Option<Task>) = match name {
        "check" => (check(), check_task),
        "restore" => (restore(), restore_task),
        _ => return None,
    };
    let arguments = arguments.get(1..).unwrap_or_default();
    let request = match command
        .bin_name(format!("meseta {name}"))
        .try_get_matches_from(arguments)
    {
        Ok(matches) => match task(&matches) {
            Some(task) => Ok(Request::Upkeep(task)),
            None => Err("--table takes DATABASE.TABLE; see --help".to_owned()),
        },
        Err(error) if is_answer(error.kind()) => Ok(Request::Print(error.to_string())),
        Err(error) => Err(first_line(&error.to_string())),
    };
    Some(request)
}

fn path(name: &'static str, help: &'static str) -> Arg {
    let argument = Arg::new(name).value_parser(value_parser!(PathBuf));
    argument.required(true).help(help)
}

fn check() -> Command {
    Command::new("check")
        .about(
            "Reads every file of a backup, or of the data directory of a stopped server, and compares \
             it with its checksum; then reads every row, and compares the tables with their indexes \
             both ways. Nothing is changed. Ends with 0 when all is well, 1 when something is damaged, \
             2 when it could not be looked at, or a signal has interrupted it.",
        )
        .arg(path(DIR, "The backup, or the data directory").value_name("DIR"))
}

fn restore() -> Command {
    Command::new("restore")
        .about(
            "Makes a data directory from a backup, verifying every file on the way. With --table, puts \
             one table with its indexes into the data directory of a stopped server instead.",
        )
        .arg(path(BACKUP, "The backup: a directory that BACKUP TO has made").value_name("BACKUP"))
        .arg(
            path(DATA_DIR, "The data directory: empty or missing, but for --table")
                .long(DATA_DIR)
                .value_name("DIR"),
        )
        .arg(
            Arg::new(TABLE)
                .long(TABLE)
                .value_name("DB.TABLE")
                .help("The one table to restore; there must be none of that name. `a.b`.c where a name has a dot"),
        )
}

fn check_task(matches: &ArgMatches) -> Option<Task> {
    let dir = matches.get_one::<PathBuf>(DIR)?.clone();
    Some(Task::Check { dir })
}

/// A name as it is, or between backticks, which are doubled in it; and what is behind it.
fn name(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('`') else {
        let end = text.find('.').unwrap_or(text.len());
        let (name, rest) = text.split_at_checked(end)?;
        return Some((name.to_owned(), rest));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (before, behind) = rest.split_once('`')?;
        name.push_str(before);
        let Some(more) = behind.strip_prefix('`') else {
            return Some((name, behind));
        };
        name.push('`');
        rest = more;
    }
}

/// `DATABASE.TABLE`. A table whose name has a dot needs no backticks, a database does.
fn qualified(text: &str) -> Option<(String, String)> {
    let (database, rest) = name(text)?;
    let table = rest.strip_prefix('.')?;
    let table = if table.starts_with('`') {
        let (table, rest) = name(table)?;
        rest.is_empty().then_some(table)?
    } else {
        table.to_owned()
    };
    let is_name = !database.is_empty() && !table.is_empty();
    is_name.then_some((database, table))
}

/// `None` for a table without database.
fn restore_task(matches: &ArgMatches) -> Option<Task> {
    let backup = matches.get_one::<PathBuf>(BACKUP)?.clone();
    let data_dir = matches.get_one::<PathBuf>(DATA_DIR)?.clone();
    let Some(table) = matches.get_one::<String>(TABLE) else {
        return Some(Task::Restore { backup, data_dir });
    };
    let table = qualified(table)?;
    Some(Task::RestoreTable {
        backup,
        data_dir,
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::qualified;

    #[test]
    fn names_with_dots_stand_between_backticks() {
        let parts =
            |text: &str| qualified(text).map(|(database, table)| [database, table].join("|"));
        for (text, expected) in [
            ("shop.orders", Some("shop|orders")),
            ("shop.t.1", Some("shop|t.1")),
            ("`we ird.db`.t", Some("we ird.db|t")),
            ("`we ird.db`.`t.1`", Some("we ird.db|t.1")),
            ("`a``b`.`c``.`", Some("a`b|c`.")),
            ("orders", None),
            (".orders", None),
            ("shop.", None),
            ("`shop`orders", None),
            ("`shop.orders", None),
            ("shop.`orders`x", None),
        ] {
            assert_eq!(parts(text).as_deref(), expected, "{text}");
        }
    }
}
