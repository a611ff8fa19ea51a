//! `COMPRESS` and its reverse: four bytes that say how long the text is, and then a zlib stream.
//!
//! Source: MySQL manual, "Encryption and Compression Functions". A compressed text that would end in a
//! blank gets a point behind it, so that no `CHAR` column takes the blank away.
#![expect(
    clippy::little_endian_bytes,
    reason = "this file owns the format of a compressed text"
)]
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use std::borrow::Cow;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::super::eval::convert;
use super::{Call, RESULT_BYTES_MAX, result};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Compressed texts.
    TABLE of Digest:
    "COMPRESS" 1..1 "str" result::bytes, AnyArgument, Constant, Strict(compress), "The text compressed by zlib, behind its length.";
    "UNCOMPRESS" 1..1 "str" result::long_blob, Always, Constant, Strict(uncompress), "The text that COMPRESS was given; NULL when it was not.";
    "UNCOMPRESSED_LENGTH" 1..1 "str" result::int, AnyArgument, Constant, Strict(uncompressed_length), "The bytes of the text that COMPRESS was given.";
}

/// The bytes in front of the stream.
const LENGTH_BYTES: usize = 4;
/// The bits of the length that count; the others are for marks that MySQL has never made.
const LENGTH_BITS: u32 = 0x3FFF_FFFF;

fn compress<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    if text.is_empty() {
        return Ok(Value::Bytes(Cow::Borrowed(b"")));
    }
    let length = u32::try_from(text.len()).ok();
    let room = call.fits(Some(text.len()))?;
    let (Some(length), Some(_room)) = (length, room) else {
        return Ok(Value::Null);
    };
    let mut stream = ZlibEncoder::new(length.to_le_bytes().to_vec(), Compression::default());
    let written = stream.write_all(&text).and_then(|()| stream.finish());
    let mut out = written.map_err(Error::internal)?;
    if out.ends_with(b" ") {
        out.push(b'.');
    }
    Ok(Value::Bytes(Cow::Owned(out)))
}

/// The length that a compressed text says, and its stream; `None` with warning 1259 for what is too short
/// to be one.
fn parts<'v>(text: &'v [u8], call: &Call<'_>) -> Option<(u32, &'v [u8])> {
    match text.split_first_chunk::<LENGTH_BYTES>() {
        Some((length, stream)) if !stream.is_empty() => {
            Some((u32::from_le_bytes(*length) & LENGTH_BITS, stream))
        }
        Some(_) | None => {
            corrupted(call);
            None
        }
    }
}

/// Warning 1259.
fn corrupted(call: &Call<'_>) {
    convert::warn(call.ctx, Code::ZlibData, || {
        "ZLIB: Input data corrupted".to_owned()
    });
}

fn uncompress<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    if text.is_empty() {
        return Ok(Value::Bytes(Cow::Borrowed(b"")));
    }
    let Some((length, stream)) = parts(&text, call) else {
        return Ok(Value::Null);
    };
    if usize::try_from(length).map_or(true, |length| RESULT_BYTES_MAX < length) {
        convert::warn(call.ctx, Code::ZlibTooBig, || {
            format!(
                "Uncompressed data size too large; the maximum size is {RESULT_BYTES_MAX} \
                 (probably, length of uncompressed data was corrupted)"
            )
        });
        return Ok(Value::Null);
    }
    let Some(_room) = call.fits(usize::try_from(length).ok())? else {
        return Ok(Value::Null);
    };
    // Memory is taken for what comes out, and not for what was promised.
    let mut out = Vec::new();
    let read = ZlibDecoder::new(stream)
        .take(u64::from(length) + 1)
        .read_to_end(&mut out);
    match read {
        Ok(count) if u32::try_from(count).is_ok_and(|count| count <= length) => {
            Ok(Value::Bytes(Cow::Owned(out)))
        }
        Ok(_) => {
            convert::warn(call.ctx, Code::ZlibBuffer, || {
                "ZLIB: Not enough room in the output buffer (probably, length of uncompressed data \
                 was corrupted)"
                    .to_owned()
            });
            Ok(Value::Null)
        }
        Err(_) => {
            corrupted(call);
            Ok(Value::Null)
        }
    }
}

fn uncompressed_length<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = convert::bytes(Call::arg(values, 0), call.ctx);
    if text.is_empty() {
        return Ok(Value::Int(0));
    }
    let length = parts(&text, call).map_or(0, |(length, _)| length);
    Ok(Value::Int(i64::from(length)))
}
