//! Functions that tell about the session and about expressions.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use super::super::eval::convert;
use super::super::eval::typing::is_text;
use super::{Call, of_text, result};
use crate::error::Result;
use crate::types::{ColumnType, Value};

functions! {
    /// The session.
    TABLE of Information:
    "VERSION" 0..0 "" result::text, Never, Statement, Eager(version), "The version of the server.";
    "DATABASE" 0..0 "" result::text, Always, Statement, Eager(database), "The current database.";
    "SCHEMA" 0..0 "" result::text, Always, Statement, Eager(database), "The current database.";
    "USER" 0..0 "" result::text, Never, Statement, Eager(user), "The user and host that the client gave.";
    "CURRENT_USER" 0..0 "" result::text, Never, Statement, Eager(current_user), "The account that was matched.";
    "SESSION_USER" 0..0 "" result::text, Never, Statement, Eager(user), "The user and host that the client gave.";
    "SYSTEM_USER" 0..0 "" result::text, Never, Statement, Eager(user), "The user and host that the client gave.";
    "CONNECTION_ID" 0..0 "" result::unsigned, Never, Statement, Eager(connection_id), "The number of the connection.";
    "LAST_INSERT_ID" 0..1 "[n]" result::unsigned, AnyArgument, Statement, Eager(last_insert_id), "The first number that the last INSERT generated; with an argument, that number from now on.";
    "CURRENT_ROLE" 0..0 "" result::text, Never, Statement, Eager(current_role), "The active roles.";
    "ROW_COUNT" 0..0 "" result::int, Never, Statement, Eager(row_count), "How many rows the last statement changed.";
    "FOUND_ROWS" 0..0 "" result::unsigned, Never, Statement, Eager(found_rows), "How many rows the last SELECT had.";
    "MYSQL_QUERY_ATTRIBUTE_STRING" 1..1 "name" result::text, Always, Statement, Eager(query_attribute), "What the client sent by that name with the statement, as text.";
    "CHARSET" 1..1 "str" result::text, Never, Constant, Lazy(charset), "The character set of the argument.";
    "COLLATION" 1..1 "str" result::text, Never, Constant, Lazy(collation), "The collation of the argument.";
    "COERCIBILITY" 1..1 "str" result::int, Never, Constant, Lazy(coercibility), "How readily the argument's collation gives way: 0 never to 6 always.";
}

fn version<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::text(call.ctx.facts.version()))
}

fn database<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(call.ctx.facts.database().map_or(Value::Null, of_text))
}

fn user<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(call.ctx.facts.user()))
}

fn connection_id<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::UInt(call.ctx.facts.connection_id()))
}

fn current_user<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(call.ctx.facts.current_user()))
}

fn current_role<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(call.ctx.facts.current_role()))
}

fn last_insert_id<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if let Some(value) = values.first() {
        let id = convert::bits(value, call.ctx)?;
        call.ctx.facts.set_last_insert_id(id.unwrap_or(0));
        return Ok(id.map_or(Value::Null, Value::UInt));
    }
    Ok(Value::UInt(call.ctx.facts.last_insert_id()))
}

fn query_attribute<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let name = values.first().filter(|name| !name.is_null());
    let found = name.and_then(|name| call.ctx.facts.query_attribute(&name.to_text()));
    let Some(found) = found.filter(|found| !found.is_null()) else {
        return Ok(Value::Null);
    };
    let text = found.to_text();
    let Some(_room) = call.fits(Some(text.len()))? else {
        return Ok(Value::Null);
    };
    Ok(of_text(text))
}

fn row_count<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::Int(call.ctx.facts.row_count()))
}

fn found_rows<'a>(_: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::UInt(call.ctx.facts.found_rows()))
}

fn is_text_arg(call: &Call<'_>) -> bool {
    call.args
        .first()
        .is_some_and(|arg| is_text(&arg.ty) || arg.ty == ColumnType::Json)
}

fn charset<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::text(if is_text_arg(call) {
        "utf8mb4"
    } else {
        "binary"
    }))
}

fn collation<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::text(if is_text_arg(call) {
        "utf8mb4_bin"
    } else {
        "binary"
    }))
}

fn coercibility<'a>(call: &Call<'a>) -> Result<Value<'a>> {
    let level = (call.args.first()).map_or(6, super::super::eval::collation::coercibility);
    Ok(Value::Int(level.into()))
}
