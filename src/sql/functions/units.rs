//! Numbers, sizes and durations for people, and the formats of dates that countries use.
//!
//! Source: MySQL manual, "Performance Schema Functions", `GET_FORMAT`.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use super::super::eval::convert;
use super::{Call, locale, of_text, result};
use crate::error::{Code, Result};
use crate::types::Value;
use crate::types::value::text::write_fixed_f64;

functions! {
    /// For people.
    TABLE of Miscellaneous:
    "FORMAT_BYTES" 1..1 "n" result::text, AnyArgument, Constant, Strict(format_bytes), "A number of bytes in the unit that suits it.";
    "FORMAT_PICO_TIME" 1..1 "n" result::text, AnyArgument, Constant, Strict(format_pico_time), "A number of picoseconds in the unit that suits it.";
    "GET_FORMAT" 2..2 "{DATE | TIME | DATETIME}, name" result::text, Always, Constant, Strict(get_format), "The format for DATE_FORMAT that a country uses.";
}

functions! {
    /// Numbers for people.
    NUMBERS of Text:
    "FORMAT" 2..3 "x, digits [, locale]" result::text, AnyArgument, Constant, Eager(format), "The number as a country writes it, with so many digits after the point.";
}

/// Units from the largest, each with its size in the smallest.
type Units = &'static [(f64, &'static str)];

const BYTES: Units = &[
    (1_152_921_504_606_846_976.0, "EiB"),
    (1_125_899_906_842_624.0, "PiB"),
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
];

const PICOSECONDS: Units = &[
    (86_400e12, "d"),
    (3600e12, "h"),
    (60e12, "min"),
    (1e12, "s"),
    (1e9, "ms"),
    (1e6, "us"),
    (1e3, "ns"),
];

/// Numbers from here on are shown with an exponent.
const PLAIN_MAX: f64 = 100_000.0;

fn format_bytes<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = call.double(values, 0)?;
    Ok(of_text(
        in_unit(bytes, BYTES).unwrap_or_else(|| format!("{:>4} bytes", bytes.trunc())),
    ))
}

fn format_pico_time<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let time = call.double(values, 0)?;
    Ok(of_text(
        in_unit(time, PICOSECONDS).unwrap_or_else(|| format!("{:>3} ps", time.trunc())),
    ))
}

/// The number in the largest unit it reaches; `None` when it reaches none.
fn in_unit(number: f64, units: Units) -> Option<String> {
    let (size, name) = units.iter().find(|(size, _)| *size <= number.abs())?;
    let shown = number / size;
    Some(if shown.abs() < PLAIN_MAX {
        format!("{shown:4.2} {name}")
    } else {
        format!("{} {name}", with_exponent(shown))
    })
}

/// `1.23e+05`, as C prints it.
fn with_exponent(number: f64) -> String {
    let text = format!("{number:.2e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{digits}e+{power:0>2}"),
        None => text,
    }
}

/// Formats by country: of a date, a time, and both.
const FORMATS: &[(&str, [&str; 3])] = &[
    ("USA", ["%m.%d.%Y", "%h:%i:%s %p", "%Y-%m-%d %H.%i.%s"]),
    ("JIS", ["%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"]),
    ("ISO", ["%Y-%m-%d", "%H:%i:%s", "%Y-%m-%d %H:%i:%s"]),
    ("EUR", ["%d.%m.%Y", "%H.%i.%s", "%Y-%m-%d %H.%i.%s"]),
    ("INTERNAL", ["%Y%m%d", "%H%i%s", "%Y%m%d%H%i%s"]),
];

fn get_format<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let kind = match &*call.text(values, 0) {
        "DATE" => 0,
        "TIME" => 1,
        _ => 2,
    };
    let country = call.text(values, 1);
    let found = FORMATS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(&country))
        .and_then(|(_, formats)| formats.get(kind));
    Ok(found.map_or(Value::Null, |format| Value::text(format)))
}

/// Digits after the point that `FORMAT` shows at most.
const FORMAT_DIGITS_MAX: i64 = 30;

fn format<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    if values.iter().take(2).any(Value::is_null) {
        return Ok(Value::Null);
    }
    let digits = call.count(values, 1)?.clamp(0, FORMAT_DIGITS_MAX);
    let number =
        convert::number(Call::arg(values, 0), call.ctx)?.unwrap_or(convert::Number::Int(0));
    let scale = u8::try_from(digits).unwrap_or(0);
    let exact = match number {
        convert::Number::Double(_) => None,
        convert::Number::Int(_) | convert::Number::UInt(_) | convert::Number::Decimal(_) => {
            let exact = number.to_decimal();
            exact.and_then(|number| number.rescale(38, scale))
        }
    };
    let text = if let Some(number) = exact {
        number.to_string()
    } else {
        let mut text = Vec::new();
        write_fixed_f64(rounded(number.to_f64(), digits), scale, &mut text);
        String::from_utf8(text).unwrap_or_default()
    };
    let marks = match values.get(2) {
        None => locale::DEFAULT,
        Some(_) => marks(&call.text(values, 2), call),
    };
    Ok(of_text(marks.write(&text)))
}

/// A double with so many digits after the point; a half goes to the even neighbour, as in ROUND.
fn rounded(number: f64, digits: i64) -> f64 {
    let factor = 10_f64.powi(i32::try_from(digits).unwrap_or(0));
    let scaled = number * factor;
    if scaled.is_finite() {
        // Zero has no sign.
        scaled.round_ties_even() / factor + 0.0
    } else {
        number
    }
}

/// The marks of a locale; warning 1649 for an unknown one.
fn marks(name: &str, call: &Call<'_>) -> locale::Marks {
    locale::find(name).unwrap_or_else(|| {
        convert::warn(call.ctx, Code::UnknownLocale, || {
            format!("Unknown locale: '{}'", convert::shown(name))
        });
        locale::DEFAULT
    })
}
