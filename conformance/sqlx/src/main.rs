//! The checklist of conformance/README.md by Rust's clients: `rust-clients sqlx`, `rust-clients mysql-async`.
//! Prints `ok|FAIL|skip NAME[: why]` lines.

mod by_mysql_async;
mod by_sqlx;

use std::env;
use std::future::Future;

/// What a check comes to: an error is a failure, unless it begins with [`SKIP`].
pub type Checked = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// How the text of an error begins that is no failure: the client cannot do it.
pub const SKIP: &str = "skip: ";

/// Where the server is, and who may log in.
pub struct Place {
    pub host: String,
    pub port: u16,
    pub database: String,
    pub password: String,
    pub native_user: String,
    pub sha2_user: String,
    pub certificate: Option<String>,
}

impl Place {
    fn of_environment() -> Place {
        let named = |name: &str| env::var(name).unwrap_or_default();
        Place {
            host: named("MESETA_HOST"),
            port: named("MESETA_PORT").parse().unwrap_or(3306),
            database: named("MESETA_DATABASE"),
            password: named("MESETA_PASSWORD"),
            native_user: named("MESETA_NATIVE_USER"),
            sha2_user: named("MESETA_SHA2_USER"),
            certificate: env::var("MESETA_SERVER_CERT").ok(),
        }
    }
}

/// Errno, SQLSTATE and statement of each line of errors.tsv.
pub fn errors() -> Vec<(u16, String, String)> {
    let path = format!("{}/errors.tsv", env::var("MESETA_CHECKLIST").unwrap_or_default());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| {
        let mut fields = line.splitn(3, '\t').map(str::to_owned);
        Some((fields.next()?.parse().ok()?, fields.next()?, fields.next()?))
    };
    text.lines().filter_map(line).collect()
}

/// Fails with both when they differ.
pub fn equal<T: PartialEq + std::fmt::Debug>(found: T, expected: T) -> Checked {
    if found == expected {
        return Ok(());
    }
    Err(format!("found {found:?}, expected {expected:?}").into())
}

/// Runs a check and tells what came of it; whether it failed.
pub async fn check(name: &str, body: impl Future<Output = Checked>) -> bool {
    match body.await {
        Ok(()) => println!("ok {name}"),
        Err(error) => {
            let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some(reason) = text.strip_prefix(SKIP.trim_end()) {
                println!("skip {name}:{reason}");
                return false;
            }
            println!("FAIL {name}: {}", text.chars().take(300).collect::<String>());
            return true;
        }
    }
    false
}

#[tokio::main]
async fn main() {
    let place = Place::of_environment();
    let failed = match env::args().nth(1).as_deref() {
        Some("sqlx") => by_sqlx::run(&place).await,
        Some("mysql-async") => by_mysql_async::run(&place).await,
        _ => {
            eprintln!("rust-clients sqlx | mysql-async");
            true
        }
    };
    std::process::exit(i32::from(failed));
}
