//! The text of floating numbers, as MySQL shows them: the shortest digits that read back as the
//! same number; an exponent outside 1e-15 to 1e15. Source: `my_gcvt` as the manual's examples and
//! the server show it.

/// Digits before the point, or zeros after it, up to which no exponent is used.
const PLAIN_DIGITS_MAX: i32 = 15;

/// The text of a `DOUBLE`.
pub(crate) fn double(number: f64) -> String {
    shown(&format!("{number:e}"))
}

/// The text of a `FLOAT`.
pub(crate) fn float(number: f32) -> String {
    shown(&format!("{number:e}"))
}

/// From `d.dddde±x` to MySQL's form.
fn shown(scientific: &str) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific.to_owned();
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if digits == "0" {
        return format!("{sign}0");
    }
    let point = exponent + 1;
    if PLAIN_DIGITS_MAX < point || point <= -PLAIN_DIGITS_MAX {
        return format!("{sign}{mantissa}e{exponent}");
    }
    let Ok(before) = usize::try_from(point) else {
        let zeros = usize::try_from(-point).unwrap_or(0);
        return format!("{sign}0.{}{digits}", "0".repeat(zeros));
    };
    if before == 0 {
        return format!("{sign}0.{digits}");
    }
    match digits.split_at_checked(before) {
        Some((whole, "")) => format!("{sign}{whole}"),
        Some((whole, fraction)) => format!("{sign}{whole}.{fraction}"),
        None => format!("{sign}{digits}{}", "0".repeat(before - digits.len())),
    }
}
