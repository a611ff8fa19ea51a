//! Checksums. Source: MySQL manual, "Encryption and Compression Functions".
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use sha1::Digest as _;

use super::super::eval::convert;
use super::{Call, code, of_text, result};
use crate::error::{Code, Error, Result};
use crate::sql::parse;
use crate::types::Value;

functions! {
    /// Checksums.
    TABLE of Digest:
    "MD5" 1..1 "str" result::text, AnyArgument, Constant, Strict(md5), "The MD5 checksum in hexadecimal digits.";
    "SHA1" 1..1 "str" result::text, AnyArgument, Constant, Strict(sha1), "The SHA-1 checksum in hexadecimal digits.";
    "SHA" 1..1 "str" result::text, AnyArgument, Constant, Strict(sha1), "The SHA-1 checksum in hexadecimal digits.";
    "SHA2" 2..2 "str, bits" result::text, Always, Constant, Strict(sha2), "The SHA-2 checksum of 224, 256, 384 or 512 bits in hexadecimal digits.";
    "STATEMENT_DIGEST" 1..1 "statement" result::text, Always, Statement, Strict(statement_digest), "The checksum of what a statement has in common with those that differ in literals alone.";
    "STATEMENT_DIGEST_TEXT" 1..1 "statement" result::text, Always, Statement, Strict(statement_digest_text), "What a statement has in common with those that differ in literals alone.";
    "CRC32" 1..1 "str" result::unsigned, AnyArgument, Constant, Strict(crc32), "The cyclic redundancy check of 32 bits.";
}

fn md5<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    Ok(of_text(code::hex_of(&md5::Md5::digest(&*bytes))))
}

fn sha1<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    Ok(of_text(code::hex_of(&sha1::Sha1::digest(&*bytes))))
}

fn sha2<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    Ok(of_text(match call.count(values, 1)? {
        0 | 256 => code::hex_of(&sha2::Sha256::digest(&*bytes)),
        224 => code::hex_of(&sha2::Sha224::digest(&*bytes)),
        384 => code::hex_of(&sha2::Sha384::digest(&*bytes)),
        512 => code::hex_of(&sha2::Sha512::digest(&*bytes)),
        _ => return Ok(Value::Null),
    }))
}

fn statement_digest<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(digest_of(values, call)?.hash))
}

fn statement_digest_text<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    Ok(of_text(digest_of(values, call)?.text))
}

/// # Errors
/// 3676 for what is not one statement.
fn digest_of<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<parse::Digest> {
    let (bytes, mode) = (
        convert::bytes(Call::arg(values, 0), call.ctx),
        call.ctx.mode,
    );
    let failed = |error: Error| {
        if error.code() == Code::OutOfResources {
            return error;
        }
        let text = format!(
            "Could not parse argument to digest function: \"{}\".",
            error.message()
        );
        Error::new(Code::DigestFailed, text)
    };
    let parsed = parse::parse_first(&bytes, mode).map_err(failed)?;
    let rest = bytes.get(parsed.rest_offset..).unwrap_or_default();
    if !rest.is_empty() {
        let near = String::from_utf8_lossy(rest);
        return Err(failed(parse::syntax_error(&near, 1)));
    }
    parse::digest(&bytes, mode)
}

/// The polynomial of IEEE 802.3, bits reversed.
const CRC32_POLYNOMIAL: u32 = 0xEDB8_8320;

fn crc32<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let bytes = convert::bytes(Call::arg(values, 0), call.ctx);
    let crc = bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            let polynomial = if crc & 1 == 1 { CRC32_POLYNOMIAL } else { 0 };
            (crc >> 1) ^ polynomial
        })
    });
    Ok(Value::UInt(u64::from(!crc)))
}
