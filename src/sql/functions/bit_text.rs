//! Functions that read a number as a row of bits. Source: MySQL manual, "Bit Functions and
//! Operators", `MAKE_SET`, `EXPORT_SET`.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other kind of value, type or operator takes the general rule"
)]

use super::super::eval::convert;
use super::text::of_bytes;
use super::{Call, of_count, of_text, result};
use crate::error::Result;
use crate::types::Value;
use crate::types::value::number::parse_i128;

functions! {
    /// Texts chosen by bits.
    TABLE of Text:
    "MAKE_SET" 2..many "bits, a, ..." result::string_of_rest, Always, Constant, Eager(make_set), "The arguments whose bit is set, with commas between.";
    "EXPORT_SET" 3..5 "bits, on, off [, separator [, count]]" result::text, AnyArgument, Constant, Strict(export_set), "A text for each bit that is set and another for each that is not.";
}

functions! {
    /// Bits.
    BITS of Bit:
    "BIT_COUNT" 1..1 "n" result::int, AnyArgument, Constant, Strict(bit_count), "How many bits of the number are 1.";
}

/// Bits that `EXPORT_SET` shows at most, and without a fifth argument.
const BITS_COUNT: u32 = u64::BITS;

fn make_set<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some((bits, texts)) = values.split_first() else {
        return Ok(Value::Null);
    };
    let Some(bits) = convert::bits(bits, call.ctx)? else {
        return Ok(Value::Null);
    };
    let chosen = texts
        .iter()
        .zip(0..BITS_COUNT)
        .filter(|(text, bit)| bits >> bit & 1 == 1 && !text.is_null())
        .map(|(text, _)| convert::bytes(text, call.ctx));
    let chosen: Vec<_> = chosen.collect();
    let bytes: usize = chosen.iter().map(|text| text.len() + 1).sum();
    let Some(_room) = call.fits(Some(bytes))? else {
        return Ok(Value::Null);
    };
    Ok(of_bytes(chosen.join(&b','), call.ty))
}

fn export_set<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bits = convert::bits(Call::arg(values, 0), call.ctx)?.unwrap_or(0);
    let (on, off) = (call.text(values, 1), call.text(values, 2));
    let separator = match values.get(3) {
        Some(_) => call.text(values, 3),
        None => ",".into(),
    };
    let count = call.count_or(values, 4, i64::from(BITS_COUNT))?;
    let count = u32::try_from(count).unwrap_or(BITS_COUNT).min(BITS_COUNT);
    let longest = on.len().max(off.len()).saturating_add(separator.len());
    let times = usize::try_from(count).unwrap_or(usize::MAX);
    let Some(_room) = call.fits(longest.checked_mul(times))? else {
        return Ok(Value::Null);
    };
    let parts = (0..count).map(|bit| if bits >> bit & 1 == 1 { &*on } else { &*off });
    Ok(of_text(parts.collect::<Vec<_>>().join(&separator)))
}

fn bit_count<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let ones = match Call::arg(values, 0) {
        Value::Bytes(bytes) => bytes.iter().map(|byte| byte.count_ones()).sum(),
        Value::Text(text) => convert::bits_of(parse_i128(text.as_bytes()).value).count_ones(),
        other => convert::bits(other, call.ctx)?.unwrap_or(0).count_ones(),
    };
    Ok(of_count(usize::try_from(ones).unwrap_or(0)))
}
