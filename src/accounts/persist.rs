//! An account as stored bytes, and back: one byte of version, then a JSON object, as
//! `codec/FORMAT.md` tells. An unknown member or privilege is damage, never skipped: it may be what
//! keeps somebody out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::account::{Account, DefaultRoles, Grants, Requirement};
use super::name::AccountName;
use super::privilege::{Privilege, Privileges};
use crate::catalog::persist::{Damage, Fields};
use crate::protocol::auth::{Crypt, Password, Plugin, Verifiers};

/// The first byte of every stored account.
const FORMAT: u8 = 1;

type Result<T> = std::result::Result<T, String>;

/// The bytes of an account; its name is in the key.
pub fn encode(account: &Account) -> Vec<u8> {
    let grants = &account.grants;
    let databases = grants.databases.iter();
    let databases: Vec<Json> = databases
        .map(|(name, held)| json!([name, names(*held)]))
        .collect();
    let tables = grants.tables.iter();
    let tables: Vec<Json> = tables
        .map(|((database, table), held)| json!([database, table, names(*held)]))
        .collect();
    let roles = account.roles.iter();
    let roles: Vec<Json> = roles
        .map(|(role, admin)| json!([role.user, role.host, admin]))
        .collect();
    let default_roles = match &account.default_roles {
        DefaultRoles::None => json!("none"),
        DefaultRoles::All => json!("all"),
        DefaultRoles::These(these) => {
            let these = these.iter().map(|role| json!([role.user, role.host]));
            Json::Array(these.collect())
        }
    };
    let mut stored = json!({
        "plugin": account.plugin.name(), "expired": account.expired, "locked": account.locked,
        "require": requirement_name(account.requirement),
        "max_user_connections": account.connections_max, "global": names(grants.global),
        "databases": databases, "tables": tables, "roles": roles, "default_roles": default_roles,
    });
    if let (Password::Set(verifiers), Json::Object(members)) = (&account.password, &mut stored) {
        let mut put = |name: &str, bytes: Option<Vec<u8>>| {
            if let Some(bytes) = bytes {
                members.insert(name.to_owned(), json!(hex(&bytes)));
            }
        };
        put("native", verifiers.native.map(Vec::from));
        put("sha2", verifiers.sha2.map(Vec::from));
        put("crypt", verifiers.crypt.as_ref().map(Crypt::text));
    }
    let mut bytes = vec![FORMAT];
    bytes.extend_from_slice(stored.to_string().as_bytes());
    bytes
}

fn names(held: Privileges) -> Vec<&'static str> {
    held.iter().map(Privilege::name).collect()
}

fn requirement_name(requirement: Requirement) -> &'static str {
    match requirement {
        Requirement::None => "NONE",
        Requirement::Ssl => "SSL",
    }
}

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// The account of that name in `bytes`.
///
/// # Errors
/// What is wrong with bytes that [`encode`] does not make.
pub fn decode(name: AccountName, bytes: &[u8]) -> Result<Account> {
    let Some((&FORMAT, text)) = bytes.split_first() else {
        return Err(format!(
            "format byte {:?}, known is {FORMAT}",
            bytes.first()
        ));
    };
    let stored = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    decode_members(name, stored).map_err(|damage| damage.0)
}

fn decode_members(name: AccountName, stored: Json) -> std::result::Result<Account, Damage> {
    let mut fields = Fields::of(stored)?;
    let plugin = fields.text("plugin")?;
    let plugin = Plugin::named(plugin.as_bytes());
    let requirement = match fields.text("require")?.as_str() {
        "NONE" => Requirement::None,
        "SSL" => Requirement::Ssl,
        other => return Err(Damage::new(format!("requirement {other}"))),
    };
    let grants = Grants {
        global: privileges(&fields.take("global")?)?,
        databases: fields
            .list("databases")?
            .iter()
            .map(database)
            .collect::<std::result::Result<_, _>>()?,
        tables: fields
            .list("tables")?
            .iter()
            .map(table)
            .collect::<std::result::Result<_, _>>()?,
    };
    let roles = fields.list("roles")?;
    let roles: std::result::Result<BTreeMap<_, _>, _> = roles.iter().map(role).collect();
    let account = Account {
        name,
        password: password(&mut fields)?,
        plugin: plugin.ok_or_else(|| Damage::new("plugin"))?,
        expired: fields.truth("expired")?,
        locked: fields.truth("locked")?,
        requirement,
        connections_max: fields.number("max_user_connections")?,
        grants,
        roles: roles?,
        default_roles: default_roles(&fields.take("default_roles")?)?,
    };
    fields.finish()?;
    Ok(account)
}

fn password(fields: &mut Fields) -> std::result::Result<Password, Damage> {
    let mut bytes = |name: &str| match fields.text_if_any(name)? {
        Some(text) => unhex(&text)
            .map(Some)
            .ok_or_else(|| Damage::new(format!("{name} is not hexadecimal"))),
        None => Ok(None),
    };
    let (native, sha2, crypt) = (bytes("native")?, bytes("sha2")?, bytes("crypt")?);
    let wrong = |name: &str| Damage::new(format!("{name} has a wrong length"));
    let verifiers = Verifiers {
        native: native
            .map(|bytes| bytes.try_into().map_err(|_| wrong("native")))
            .transpose()?,
        sha2: sha2
            .map(|bytes| bytes.try_into().map_err(|_| wrong("sha2")))
            .transpose()?,
        crypt: crypt
            .map(|bytes| Crypt::parse(&bytes).ok_or_else(|| wrong("crypt")))
            .transpose()?,
    };
    Ok(verifiers.into_password())
}

/// The bytes of hexadecimal digits.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pairs = digits.chunks_exact(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect()
}

fn privileges(json: &Json) -> std::result::Result<Privileges, Damage> {
    let mut held = Privileges::NONE;
    for name in json.as_array().into_iter().flatten() {
        let privilege = name.as_str().and_then(Privilege::named);
        let privilege = privilege.ok_or_else(|| Damage::new(format!("privilege {name}")))?;
        held = held.with(Privileges::of(&[privilege]));
    }
    Ok(held)
}

fn text(json: &Json, at: usize) -> std::result::Result<String, Damage> {
    let member = json.get(at).and_then(Json::as_str);
    member
        .map(str::to_owned)
        .ok_or_else(|| Damage::new(format!("{json} has no text at {at}")))
}

fn database(json: &Json) -> std::result::Result<(String, Privileges), Damage> {
    Ok((text(json, 0)?, privileges(&json[1])?))
}

fn table(json: &Json) -> std::result::Result<((String, String), Privileges), Damage> {
    Ok(((text(json, 0)?, text(json, 1)?), privileges(&json[2])?))
}

fn role(json: &Json) -> std::result::Result<(AccountName, bool), Damage> {
    let admin = json.get(2).and_then(Json::as_bool);
    let admin = admin.ok_or_else(|| Damage::new(format!("role {json}")))?;
    Ok((role_name(json)?, admin))
}

fn role_name(json: &Json) -> std::result::Result<AccountName, Damage> {
    Ok(AccountName {
        user: text(json, 0)?,
        host: text(json, 1)?,
    })
}

fn default_roles(json: &Json) -> std::result::Result<DefaultRoles, Damage> {
    match json.as_str() {
        Some("none") => return Ok(DefaultRoles::None),
        Some("all") => return Ok(DefaultRoles::All),
        Some(other) => return Err(Damage::new(format!("default roles {other}"))),
        None => {}
    }
    let these = json.as_array().into_iter().flatten().map(role_name);
    let these: std::result::Result<BTreeSet<_>, _> = these.collect();
    these.map(DefaultRoles::These)
}
