//! The wide side of stored definitions: members that most of them do not have.

use serde_json::{Value as Json, json};

use super::{Damage, Fields, Result, put, type_names};
use crate::catalog::versions::Versions;
use crate::catalog::wide::{ColumnPlace, Pattern, Ttl, TtlColumn, Wide};
use crate::codec::row::ColumnId;

/// Adds the members of a table.
pub(super) fn encode(wide: &Wide, definition: &mut Json) {
    if !wide.patterns.is_empty() {
        let patterns = wide.patterns.iter();
        let patterns = patterns.map(|one| json!([one.text, type_names::to_json(&one.ty)]));
        put(definition, "patterns", patterns.collect());
    }
    if let Some(ttl) = &wide.ttl {
        put(definition, "ttl", encode_ttl(ttl));
    }
    if let Some(versions) = &wide.versions {
        let (bounds, epochs_made) = versions.stored();
        let deletions = versions.deletions;
        let stored = json!({ "bounds": bounds, "epochs": epochs_made, "deletions": deletions });
        put(definition, "versions", stored);
    }
}

/// Takes them out again.
pub(super) fn decode(fields: &mut Fields) -> Result<Wide> {
    let patterns = if fields.has("patterns") {
        fields.list("patterns")?
    } else {
        Vec::new()
    };
    let patterns = patterns.into_iter().map(decode_pattern);
    Ok(Wide {
        patterns: patterns.collect::<Result<_>>()?,
        ttl: fields.take_if_any("ttl").map(decode_ttl).transpose()?,
        versions: fields
            .take_if_any("versions")
            .map(decode_versions)
            .transpose()?,
        reading: None,
        origin: None,
    })
}

/// Adds the member for where a column is stored, if that is not under its id.
pub(super) fn encode_place(place: ColumnPlace, definition: &mut Json) {
    match place {
        ColumnPlace::Row | ColumnPlace::Others | ColumnPlace::Stamp => {}
        ColumnPlace::Named => put(definition, "named", json!(true)),
        ColumnPlace::Expiry => put(definition, "expiry", json!(true)),
        ColumnPlace::Versions => put(definition, "cells", json!(true)),
    }
}

/// Takes it out again.
pub(super) fn decode_place(fields: &mut Fields) -> Result<ColumnPlace> {
    for (name, place) in [
        ("named", ColumnPlace::Named),
        ("expiry", ColumnPlace::Expiry),
        ("cells", ColumnPlace::Versions),
    ] {
        if fields.has(name) && fields.truth(name)? {
            return Ok(place);
        }
    }
    Ok(ColumnPlace::Row)
}

fn encode_ttl(ttl: &Ttl) -> Json {
    let column = ttl
        .column
        .as_ref()
        .map(|column| json!({ "id": column.id.0, "amount": column.amount, "unit": column.unit }));
    json!({ "seconds": ttl.seconds, "column": column })
}

fn decode_ttl(json: Json) -> Result<Ttl> {
    let mut fields = Fields::of(json)?;
    let seconds = match fields.take("seconds")? {
        Json::Null => None,
        other => Some(
            other
                .as_u64()
                .ok_or_else(|| Damage::new("seconds of a TTL"))?,
        ),
    };
    let column = match fields.take("column")? {
        Json::Null => None,
        other => {
            let mut column = Fields::of(other)?;
            let amount = column.take("amount")?.as_i64();
            let read = TtlColumn {
                id: ColumnId(column.number("id")?),
                amount: amount.ok_or_else(|| Damage::new("the amount of a TTL"))?,
                unit: column.text("unit")?,
            };
            column.finish()?;
            Some(read)
        }
    };
    fields.finish()?;
    Ok(Ttl { seconds, column })
}

fn decode_versions(json: Json) -> Result<Versions> {
    let mut fields = Fields::of(json)?;
    let mut bounds = Vec::new();
    for bound in fields.list("bounds")? {
        let number = |at: usize| u32::try_from(bound.get(at)?.as_u64()?).ok();
        let pair = number(0).zip(number(1));
        bounds.push(pair.ok_or_else(|| Damage::new("a bound of versions"))?);
    }
    let made = (fields.number("epochs")?, fields.number("deletions")?);
    fields.finish()?;
    Versions::restored(bounds, made).ok_or_else(|| Damage::new("bounds of versions"))
}

fn decode_pattern(json: Json) -> Result<Pattern> {
    let Json::Array(pair) = json else {
        return Err(Damage::new(format!("a pattern {json}")));
    };
    match <[Json; 2]>::try_from(pair) {
        Ok([Json::String(text), ty]) => Ok(Pattern {
            text,
            ty: type_names::from_json(ty)?,
        }),
        Ok(other) => Err(Damage::new(format!("a pattern {other:?}"))),
        Err(other) => Err(Damage::new(format!("a pattern {other:?}"))),
    }
}
