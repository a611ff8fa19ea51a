//! Functions that look for one string in another, or among several.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use super::super::eval::{compare, convert};
use super::{Call, of_count, of_text, result};
use crate::error::Result;
use crate::types::Value;

functions! {
    /// Search in strings.
    TABLE of Text:
    "INSTR" 2..2 "str, part" result::int, AnyArgument, Constant, Strict(instr), "The position of the second text in the first; 0 when it is not there.";
    "LOCATE" 2..3 "part, str [, pos]" result::int, AnyArgument, Constant, Strict(locate), "The position of the first text in the second, from a third on; 0 when it is not there.";
    "POSITION" 2..2 "part IN str" result::int, AnyArgument, Constant, Strict(locate), "The position of the first text in the second; 0 when it is not there.";
    "STRCMP" 2..2 "a, b" result::int, AnyArgument, Constant, Strict(strcmp), "-1, 0 or 1, as the first text is below, equal to or above the second.";
    "REPLACE" 3..3 "str, from, to" result::string, Always, Constant, Strict(replace), "The text with every occurrence of another replaced.";
    "SUBSTRING_INDEX" 3..3 "str, delimiter, n" result::text, AnyArgument, Constant, Strict(substring_index), "What stands before the n-th delimiter, or after it counted from the end.";
    "FIELD" 2..many "a, b, ..." result::int, Never, Constant, Eager(field), "The position of the first argument among the others; 0 when it is not there.";
    "ELT" 2..many "n, a, ..." result::common_tail, Always, Constant, Eager(elt), "The n-th of the arguments after the first.";
    "FIND_IN_SET" 2..2 "str, list" result::int, AnyArgument, Constant, Strict(find_in_set), "The position of a text in a list separated by commas.";
}

fn instr<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, wanted) = (Call::arg(values, 0), Call::arg(values, 1));
    Ok(of_count(position(text, wanted, (1, call))))
}

fn locate<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (wanted, text) = (Call::arg(values, 0), Call::arg(values, 1));
    let from = usize::try_from(call.count_or(values, 2, 1)?).unwrap_or(0);
    Ok(of_count(position(text, wanted, (from, call))))
}

/// The position of `wanted`, counted from 1 and not before `from`; 0 when it is not there.
fn position(text: &Value<'_>, wanted: &Value<'_>, (from, call): (usize, &Call<'_>)) -> usize {
    let Some(skipped) = from.checked_sub(1) else {
        return 0;
    };
    if let (Value::Bytes(bytes), wanted) = (text, convert::bytes(wanted, call.ctx)) {
        let rest = bytes.get(skipped..).unwrap_or_default();
        if wanted.is_empty() {
            return if skipped <= bytes.len() { from } else { 0 };
        }
        let found = rest
            .windows(wanted.len())
            .position(|window| window == &*wanted);
        return found.map_or(0, |offset| skipped + offset + 1);
    }
    let (text, wanted) = (
        convert::text(text, call.ctx),
        convert::text(wanted, call.ctx),
    );
    let start = match text.char_indices().nth(skipped) {
        Some((start, _)) => start,
        None if text.chars().count() == skipped => text.len(),
        None => return 0,
    };
    let rest = text.get(start..).unwrap_or("");
    rest.find(&*wanted).map_or(0, |offset| {
        skipped
            + rest
                .get(..offset)
                .map_or(0, |before| before.chars().count())
            + 1
    })
}

fn strcmp<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (a, b) = (Call::arg(values, 0), Call::arg(values, 1));
    let order = convert::bytes(a, call.ctx).cmp(&convert::bytes(b, call.ctx));
    Ok(Value::Int(match order {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    }))
}

fn replace<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, from, to) = (
        call.text(values, 0),
        call.text(values, 1),
        call.text(values, 2),
    );
    if from.is_empty() {
        return Ok(of_text(text));
    }
    let grows_by = to.len().saturating_sub(from.len());
    let grown = text.matches(&*from).count().checked_mul(grows_by);
    if !call.fits(grown.and_then(|grown| grown.checked_add(text.len()))) {
        return Ok(Value::Null);
    }
    Ok(of_text(text.replace(&*from, &to)))
}

fn substring_index<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (text, delimiter) = (call.text(values, 0), call.text(values, 1));
    let count = call.count(values, 2)?;
    let Some(nth) = usize::try_from(count.unsigned_abs())
        .ok()
        .and_then(|n| n.checked_sub(1))
    else {
        return Ok(of_text(""));
    };
    if delimiter.is_empty() {
        return Ok(of_text(""));
    }
    let part = if 0 < count {
        let end = text.match_indices(&*delimiter).nth(nth);
        end.map_or(&*text, |(end, _)| text.get(..end).unwrap_or(""))
    } else {
        let start = text.rmatch_indices(&*delimiter).nth(nth);
        start.map_or(&*text, |(start, _)| {
            text.get(start + delimiter.len()..).unwrap_or("")
        })
    };
    Ok(of_text(part))
}

fn field<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some((wanted, list)) = values.split_first() else {
        return Ok(Value::Int(0));
    };
    let is_text = |value: &Value<'_>| matches!(value, Value::Text(_) | Value::Bytes(_));
    let are_texts = values.iter().all(|value| is_text(value) || value.is_null());
    for (idx, value) in list.iter().enumerate() {
        let equal = if are_texts {
            compare::is_equal(wanted, value, call.ctx)?
        } else {
            let pair = (
                convert::number(wanted, call.ctx)?,
                convert::number(value, call.ctx)?,
            );
            let pair = pair.0.zip(pair.1);
            pair.map(|(a, b)| compare::order_numbers(a, b).is_eq())
        };
        if equal == Some(true) {
            return Ok(of_count(idx + 1));
        }
    }
    Ok(Value::Int(0))
}

fn elt<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if Call::arg(values, 0).is_null() {
        return Ok(Value::Null);
    }
    let nth = usize::try_from(call.count(values, 0)?).unwrap_or(0);
    let chosen = values.get(nth).filter(|_| nth != 0);
    Ok(chosen.cloned().unwrap_or(Value::Null))
}

fn find_in_set<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let (wanted, list) = (call.text(values, 0), call.text(values, 1));
    if list.is_empty() {
        return Ok(Value::Int(0));
    }
    let found = list.split(',').position(|member| member == wanted);
    Ok(of_count(found.map_or(0, |idx| idx + 1)))
}
