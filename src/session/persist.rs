//! `SET PERSIST`, `SET PERSIST_ONLY` and `RESET PERSIST`: values that global variables have from the
//! start on. They lie in the system space of the data directory and win over options.

use std::borrow::Cow;

use parking_lot::RwLock;

use super::Session;
use super::set::{aliases, name_kept};
use super::settings;
use super::variables::{self, Globals, Reach};
use crate::catalog::store::SYSTEM_SPACE;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::{Engine, KeyRange, Page, Scan, WriteSet};
use crate::sql::ast::ResetPersist;
use crate::types::Value;

/// The version of a record.
const VERSION: u8 = 1;

/// What the text of a record is.
const NUMBER: u8 = b'i';
const TEXT: u8 = b't';
/// There is none: the value is NULL.
const NULL: u8 = b'n';

/// What is kept, as `performance_schema.persisted_variables` tells it.
#[derive(Debug, Default)]
pub(super) struct Persisted {
    all: RwLock<Vec<(String, Value<'static>)>>,
    /// Held while it is read again, so that what was read later is what stays.
    reading: tokio::sync::Mutex<()>,
}

impl Persisted {
    /// Names and values, in order of name.
    pub(super) fn all(&self) -> Vec<(String, Value<'static>)> {
        self.all.read().clone()
    }

    /// Looks at what was written just now. It is written, whatever becomes of that.
    async fn read_again(&self, engine: &dyn Engine) {
        let _reading = self.reading.lock().await;
        match stored(engine).await {
            Ok(all) => *self.all.write() = all,
            Err(error) => tracing::warn!("persisted variables cannot be read: {error}"),
        }
    }
}

/// A variable and the value that it is to keep; `None` for its default.
type Kept<'a> = (&'a str, Option<&'a Value<'static>>);

/// What is to be written so that variables have these values at the next start, when the server's are
/// these.
///
/// # Errors
/// 1193, 1228, 1231, 1232, 1238 as SET GLOBAL gives them.
pub(super) fn records<'a>(
    kept: impl Iterator<Item = Kept<'a>>,
    globals: &Globals,
) -> Result<WriteSet> {
    let mut writes = WriteSet::blind();
    for (name, value) in kept {
        let variable = variables::find(name)?;
        if variable.reach == Reach::SessionOnly {
            let text = format!("Variable '{name}' is a SESSION variable");
            return Err(Error::new(Code::LocalVariable, text));
        }
        let value = match value {
            Some(value) => Some(variable.beside(value.clone(), || globals.get(name))?),
            None => None,
        };
        let value = variable.checked(value)?;
        // Under one of its names: two records of one variable would be two values.
        let kept = name_kept(variable.name);
        for other in aliases(variable.name) {
            if other != kept {
                writes.delete(SYSTEM_SPACE, key(other));
            }
        }
        writes.put(SYSTEM_SPACE, key(kept), encode(&value));
    }
    Ok(writes)
}

impl Session {
    /// Writes [`records`].
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) async fn keep(&mut self, writes: WriteSet) -> Result<()> {
        if !writes.is_empty() {
            self.commit_kept(writes).await?;
        }
        Ok(())
    }

    async fn commit_kept(&self, writes: WriteSet) -> Result<()> {
        let engine = self.shared.engine.as_ref();
        engine.commit(writes).await?;
        self.shared.persisted.read_again(engine).await;
        Ok(())
    }

    /// `RESET PERSIST`: forgets values; those of now stay.
    ///
    /// # Errors
    /// 3615 when there is none to forget; those of the engine.
    pub(super) async fn reset_persist(&mut self, reset: &ResetPersist) -> Result<()> {
        let stored = stored(self.shared.engine.as_ref()).await?;
        let only = reset.name.as_deref().map(name_kept);
        let is_meant = |name: &str| only.is_none_or(|only| only == name_kept(name));
        let mut writes = WriteSet::blind();
        for (name, _) in stored.iter().filter(|(name, _)| is_meant(name)) {
            writes.delete(SYSTEM_SPACE, key(name));
        }
        if !writes.is_empty() {
            return self.commit_kept(writes).await;
        }
        let Some(name) = &reset.name else {
            return Ok(());
        };
        let text = format!("Variable {name} does not exist in persisted config file");
        let error = Error::new(Code::NotPersisted, text);
        if reset.if_exists {
            self.note(&error);
            return Ok(());
        }
        Err(error)
    }
}

/// Gives the variables the values that they were to keep, and logs each: it wins over an option. One that this version
/// does not take is left out, and logged, too.
///
/// # Errors
/// Those of the engine; 1712 for a record that cannot be read.
pub(super) async fn restore(engine: &dyn Engine, globals: &Globals) -> Result<Persisted> {
    let stored = stored(engine).await?;
    let has = |name: &str| stored.iter().any(|(other, _)| other == name);
    for (name, value) in &stored {
        // Older servers kept a variable under each of its names.
        if name_kept(name) != name && has(name_kept(name)) {
            continue;
        }
        match give(globals, name, value) {
            Ok(()) => tracing::info!("{name} has its persisted value: {}", value.to_text()),
            Err(error) => tracing::warn!("the persisted value of {name} is not used: {error}"),
        }
    }
    Ok(Persisted {
        all: RwLock::new(stored),
        ..Persisted::default()
    })
}

/// Gives a variable a value under all its names, if this server and this machine know it.
fn give(globals: &Globals, name: &str, value: &Value<'static>) -> Result<()> {
    if name == "time_zone" {
        // Nobody could log in.
        settings::check_time_zone(value)?;
    }
    for alias in aliases(name) {
        globals.set(alias, Some(value.clone()))?;
    }
    Ok(())
}

/// All values that are kept.
async fn stored(engine: &dyn Engine) -> Result<Vec<(String, Value<'static>)>> {
    let snapshot = engine.snapshot();
    let mut scan = Scan::new(SYSTEM_SPACE, KeyRange::all());
    let mut page = Page::default();
    let mut all = Vec::new();
    loop {
        snapshot.scan(&scan, &mut page).await?;
        for (key, value) in page.iter() {
            if let SystemKey::Variable(name) = SystemKey::decode(key)? {
                let value = decode(value).ok_or_else(|| damaged(&name))?;
                all.push((name, value));
            }
        }
        if !scan.advance(&mut page) {
            return Ok(all);
        }
    }
}

fn damaged(name: &str) -> Error {
    let text = format!("the persisted value of {name} is damaged");
    Error::new(Code::StorageCorrupt, text)
}

fn key(name: &str) -> Vec<u8> {
    SystemKey::Variable(name.to_owned()).encode()
}

fn encode(value: &Value<'_>) -> Vec<u8> {
    let kind = match value {
        Value::Int(_) | Value::UInt(_) => NUMBER,
        Value::Null => NULL,
        Value::Float(_)
        | Value::Double(_)
        | Value::Decimal(_)
        | Value::Text(_)
        | Value::Bytes(_)
        | Value::Date(_)
        | Value::Time(_)
        | Value::Datetime(_)
        | Value::Timestamp(_)
        | Value::Year(_)
        | Value::Json(_)
        | Value::Enum(_) => TEXT,
    };
    let mut bytes = vec![VERSION, kind];
    if !value.is_null() {
        bytes.extend_from_slice(value.to_text().as_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Value<'static>> {
    let [VERSION, kind, text @ ..] = bytes else {
        return None;
    };
    let text = std::str::from_utf8(text).ok()?;
    match *kind {
        NULL if text.is_empty() => Some(Value::Null),
        TEXT => Some(Value::Text(Cow::Owned(text.to_owned()))),
        NUMBER if text.starts_with('-') => text.parse().ok().map(Value::Int),
        NUMBER => text.parse().ok().map(Value::UInt),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::memory::Memory;

    /// What was kept on another machine, or by another server.
    #[tokio::test]
    async fn what_is_not_known_here_is_left_out_and_the_first_name_wins() {
        let engine = Memory::default();
        let mut writes = WriteSet::blind();
        for (name, value) in [
            ("time_zone", "No/Where"),
            ("no_such_variable", "1"),
            ("transaction_isolation", "READ-UNCOMMITTED"),
            ("tx_isolation", "READ-COMMITTED"),
            ("tx_read_only", "1"),
        ] {
            writes.put(SYSTEM_SPACE, key(name), encode(&Value::text(value)));
        }
        engine.create_space(SYSTEM_SPACE).await.unwrap();
        engine.commit(writes).await.unwrap();
        let globals = Globals::default();
        restore(&engine, &globals).await.unwrap();
        for (name, expected) in [
            ("time_zone", "SYSTEM"),
            ("transaction_isolation", "READ-UNCOMMITTED"),
            ("tx_isolation", "READ-UNCOMMITTED"),
            ("transaction_read_only", "1"),
        ] {
            assert_eq!(globals.get(name).unwrap().to_text(), expected, "{name}");
        }
    }

    #[test]
    fn values_come_back_and_others_are_damage() {
        let values = [
            Value::UInt(7),
            Value::Int(-1),
            Value::text("a"),
            Value::text(""),
            Value::Null,
        ];
        for value in values {
            let read = decode(&encode(&value)).unwrap();
            assert_eq!(read.to_text(), value.to_text());
            assert_eq!(read.is_null(), value.is_null());
            assert_eq!(
                matches!(read, Value::Text(_)),
                matches!(value, Value::Text(_))
            );
        }
        for bytes in [
            &b""[..],
            b"\x01",
            b"\x02t",
            b"\x01x",
            b"\x01nx",
            b"\x01ix",
            b"\x01t\xFF",
        ] {
            assert!(decode(bytes).is_none());
        }
    }
}
