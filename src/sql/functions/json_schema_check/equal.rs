//! When two `JSON` values are equal for a schema: numbers by their value, however they are written.

use serde_json::{Number, Value as Json};

use crate::sql::functions::json::text_of_json;

/// A text that two values have in common exactly if they are equal, numbers by their value.
pub(super) fn canonical(json: &Json) -> String {
    fn evened(json: &Json) -> Json {
        match json {
            Json::Number(number) => Json::Number(even(number)),
            Json::Array(cells) => Json::Array(cells.iter().map(evened).collect()),
            Json::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, member)| (name.clone(), evened(member)));
                Json::Object(members.collect())
            }
            Json::Null | Json::Bool(_) | Json::String(_) => json.clone(),
        }
    }
    text_of_json(&evened(json))
}

/// A whole number without point, if that is exact.
fn even(number: &Number) -> Number {
    let double = number.as_f64().filter(|_| number.is_f64());
    let whole = double.filter(|double| double.fract() == 0.0);
    let whole = whole.and_then(|double| format!("{double:.0}").parse::<Number>().ok());
    match whole.filter(|whole| !whole.is_f64()) {
        Some(exact) => exact,
        None if double == Some(0.0) => Number::from(0),
        None => number.clone(),
    }
}
