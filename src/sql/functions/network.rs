//! Addresses of the Internet Protocol as numbers, bytes and texts.
//!
//! Source: MySQL manual, "Miscellaneous Functions". What is no address gives `NULL` and warning
//! 1411 (in a strict write: the error).
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::super::eval::convert;
use super::{Call, of_text, result};
use crate::error::{Code, Result};
use crate::types::Value;

functions! {
    /// Addresses.
    TABLE of Miscellaneous:
    "INET_ATON" 1..1 "str" result::unsigned, Always, Constant, Strict(inet_aton), "The number of an IPv4 address.";
    "INET_NTOA" 1..1 "n" result::text, Always, Constant, Strict(inet_ntoa), "The IPv4 address of a number.";
    "INET6_ATON" 1..1 "str" result::bytes, Always, Constant, Strict(inet6_aton), "The 4 or 16 bytes of an IPv4 or IPv6 address.";
    "INET6_NTOA" 1..1 "bytes" result::text, Always, Constant, Strict(inet6_ntoa), "The IPv4 or IPv6 address of 4 or 16 bytes.";
    "IS_IPV4" 1..1 "str" result::int, Never, Constant, Eager(is_ipv4), "1 when the text is an IPv4 address, else 0.";
    "IS_IPV6" 1..1 "str" result::int, Never, Constant, Eager(is_ipv6), "1 when the text is an IPv6 address, else 0.";
    "IS_IPV4_COMPAT" 1..1 "bytes" result::int, Never, Constant, Eager(is_ipv4_compat), "1 when the bytes are an IPv6 address that stands for an IPv4 one the old way, else 0.";
    "IS_IPV4_MAPPED" 1..1 "bytes" result::int, Never, Constant, Eager(is_ipv4_mapped), "1 when the bytes are an IPv6 address that an IPv4 one is mapped to, else 0.";
}

/// `NULL`, with warning 1411 about the argument.
pub(super) fn incorrect<'a>(shown: &str, call: &Call<'a>) -> Result<Value<'a>> {
    let name = call.function.name.to_ascii_lowercase();
    convert::lost(call.ctx, Code::WrongValueForFunction, || {
        let shown = convert::shown(shown);
        format!("Incorrect string value: '{shown}' for function {name}")
    })?;
    Ok(Value::Null)
}

/// `a.b.c.d`; with fewer parts the last one before the end stands for the missing ones. More parts
/// make a larger number, as in MySQL.
fn inet_aton<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    match address_number(&text) {
        Some(number) => Ok(Value::UInt(number)),
        None => incorrect(&text, call),
    }
}

fn address_number(text: &str) -> Option<u64> {
    let (mut number, mut part, mut dots_count) = (0u64, 0u64, 0);
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            part = part * 10 + u64::from(digit);
        } else if c == '.' {
            dots_count += 1;
            number = number.wrapping_shl(8).wrapping_add(part);
            part = 0;
        }
        if u64::from(u8::MAX) < part || !(c.is_ascii_digit() || c == '.') {
            return None;
        }
    }
    let missing = match dots_count {
        1 => 16,
        2 => 8,
        _ => 0,
    };
    let ends_well = text.ends_with(|c: char| c.is_ascii_digit());
    ends_well.then(|| (number << missing).wrapping_shl(8).wrapping_add(part))
}

fn inet_ntoa<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let number = convert::integer(Call::arg(values, 0), call.ctx)?.unwrap_or(-1);
    match u32::try_from(number) {
        Ok(bits) => Ok(of_text(Ipv4Addr::from_bits(bits).to_string())),
        Err(_) => incorrect(&number.to_string(), call),
    }
}

/// An IPv4 address, leading zeros allowed as MySQL allows them.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        let is_number = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        *octet = part.parse().ok().filter(|_| is_number)?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

fn inet6_aton<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let bytes = match (ipv4(&text), text.parse::<Ipv6Addr>()) {
        (Some(address), _) => address.octets().to_vec(),
        (None, Ok(address)) => address.octets().to_vec(),
        (None, Err(_)) => return incorrect(&text, call),
    };
    Ok(Value::Bytes(Cow::Owned(bytes)))
}

fn inet6_ntoa<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let value = Call::arg(values, 0);
    let bytes = convert::bytes(value, call.ctx);
    let is_binary = matches!(value, Value::Bytes(_));
    let text = if let Some(octets) = ipv6_octets(&bytes) {
        shown_ipv6(Ipv6Addr::from(octets))
    } else if let Ok(octets) = <[u8; 4]>::try_from(&*bytes) {
        Ipv4Addr::from(octets).to_string()
    } else {
        return incorrect(&String::from_utf8_lossy(&bytes), call);
    };
    if !is_binary {
        return incorrect(&String::from_utf8_lossy(&bytes), call);
    }
    Ok(of_text(text))
}

fn ipv6_octets(bytes: &[u8]) -> Option<[u8; 16]> {
    <[u8; 16]>::try_from(bytes).ok()
}

/// Compatible and mapped addresses end as IPv4 ones do.
fn shown_ipv6(address: Ipv6Addr) -> String {
    match address.to_ipv4() {
        Some(inner) if address.to_ipv4_mapped().is_none() && 0xFFFF < inner.to_bits() => {
            format!("::{inner}")
        }
        Some(_) | None => address.to_string(),
    }
}

fn is_ipv4<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let is_there = !Call::arg(values, 0).is_null();
    Ok(Value::boolean(
        is_there && ipv4(&call.text(values, 0)).is_some(),
    ))
}

fn is_ipv6<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(Value::boolean(
        call.text(values, 0).parse::<Ipv6Addr>().is_ok(),
    ))
}

/// The octets of an IPv6 address given as bytes.
fn octets_of(values: &[Value<'_>]) -> Option<[u8; 16]> {
    match values.first() {
        Some(Value::Bytes(bytes)) => ipv6_octets(bytes),
        Some(_) | None => None,
    }
}

/// Twelve zero bytes and an address; `::` and `::1` stand for themselves.
fn is_ipv4_compat<'a>(values: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    let bits = octets_of(values).map(|octets| Ipv6Addr::from(octets).to_bits());
    Ok(Value::boolean(bits.is_some_and(|bits| {
        (2..=u128::from(u32::MAX)).contains(&bits)
    })))
}

fn is_ipv4_mapped<'a>(values: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    let address = octets_of(values).map(Ipv6Addr::from);
    Ok(Value::boolean(
        address.is_some_and(|address| address.to_ipv4_mapped().is_some()),
    ))
}
