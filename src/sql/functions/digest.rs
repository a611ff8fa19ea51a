//! Checksums, identifiers and addresses.
#![expect(
    clippy::unnecessary_wraps,
    reason = "the bodies of the registry share one signature"
)]

use sha1::Digest as _;

use super::super::eval::convert;
use super::{Call, code, of_text, result};
use crate::error::Result;
use crate::types::Value;

functions! {
    /// Checksums, identifiers, addresses.
    TABLE:
    "MD5" 1..1 result::text, AnyArgument, Constant, Strict(md5), "The MD5 checksum in hexadecimal digits.";
    "SHA1" 1..1 result::text, AnyArgument, Constant, Strict(sha1), "The SHA-1 checksum in hexadecimal digits.";
    "SHA" 1..1 result::text, AnyArgument, Constant, Strict(sha1), "The SHA-1 checksum in hexadecimal digits.";
    "SHA2" 2..2 result::text, Always, Constant, Strict(sha2), "The SHA-2 checksum of 224, 256, 384 or 512 bits in hexadecimal digits.";
    "CRC32" 1..1 result::unsigned, AnyArgument, Constant, Strict(crc32), "The cyclic redundancy check of 32 bits.";
    "UUID" 0..0 result::text, Never, Row, Eager(uuid), "A new universally unique identifier.";
    "INET_ATON" 1..1 result::unsigned, Always, Constant, Strict(inet_aton), "The number of an IPv4 address.";
    "INET_NTOA" 1..1 result::text, Always, Constant, Strict(inet_ntoa), "The IPv4 address of a number.";
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

/// Version 4 of RFC 9562: random, and so without host or clock in it.
fn uuid<'a>(_: &[Value<'a>], _: &Call<'a>) -> Result<Value<'a>> {
    let bits = rand::random::<u128>();
    let bits = (bits & !(0xF << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let digits = format!("{bits:032x}");
    let groups = [0..8, 8..12, 12..16, 16..20, 20..32];
    let groups = groups.map(|range| digits.get(range).unwrap_or(""));
    Ok(of_text(groups.join("-")))
}

/// `a.b.c.d`; with fewer parts the last one before the end stands for the missing ones.
fn inet_aton<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let text = call.text(values, 0);
    let parts: Option<Vec<u8>> = text.split('.').map(|part| part.parse().ok()).collect();
    let Some(parts) = parts.filter(|parts| (1..=4).contains(&parts.len())) else {
        return Ok(Value::Null);
    };
    let (last, first) = parts
        .split_last()
        .map_or((0, [].as_slice()), |(last, first)| (*last, first));
    let mut number = 0u64;
    for idx in 0..3 {
        number = number << 8 | u64::from(first.get(idx).copied().unwrap_or(0));
    }
    Ok(Value::UInt(number << 8 | u64::from(last)))
}

fn inet_ntoa<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let number = convert::integer(Call::arg(values, 0), call.ctx)?.unwrap_or(-1);
    let address = u32::try_from(number)
        .ok()
        .map(std::net::Ipv4Addr::from_bits);
    Ok(address.map_or(Value::Null, |address| of_text(address.to_string())))
}
