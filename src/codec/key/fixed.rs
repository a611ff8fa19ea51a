//! Payloads of fixed length: floating-point numbers and calendar values.

/// Bytes of a `DATE`: the packed form is below 2^23.
pub(super) const DATE_BYTES: usize = 3;
/// Bytes of a `FLOAT`.
pub(super) const FLOAT_BYTES: usize = 4;
/// Bytes of a `TIME`: its microseconds are below 2^42.
pub(super) const TIME_BYTES: usize = 6;
/// Bytes of a `DOUBLE`, `DATETIME` or `TIMESTAMP`.
pub(super) const WORD_BYTES: usize = 8;

/// Added to the microseconds of a `TIME`, so that negative ones lie below.
const TIME_OFFSET: i64 = 1 << 47;

/// Appends tag and payload.
pub(super) fn put<const N: usize>(out: &mut Vec<u8>, tag: u8, payload: [u8; N]) {
    out.push(tag);
    out.extend_from_slice(&payload);
}

/// Bits that order as the numbers do: negative ones inverted, the others above them. Both zeros
/// are one, and every NaN is one, behind infinity.
///
/// Source: IEEE 754-2008, 5.10 (total order), with the deviations just named.
pub(super) fn double_bytes(number: f64) -> [u8; WORD_BYTES] {
    let number = if number.is_nan() {
        f64::NAN.copysign(1.0)
    } else {
        number + 0.0
    };
    let bits = number.to_bits();
    let sign = 1 << 63;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    ordered.to_be_bytes()
}

/// The number of [`double_bytes`]; `None` for bytes that it never writes.
pub(super) fn double_of(bytes: [u8; WORD_BYTES]) -> Option<f64> {
    let ordered = u64::from_be_bytes(bytes);
    let sign = 1 << 63;
    let bits = if ordered & sign == 0 {
        !ordered
    } else {
        ordered ^ sign
    };
    let number = f64::from_bits(bits);
    (double_bytes(number) == bytes).then_some(number)
}

/// As [`double_bytes`].
pub(super) fn float_bytes(number: f32) -> [u8; FLOAT_BYTES] {
    let number = if number.is_nan() {
        f32::NAN.copysign(1.0)
    } else {
        number + 0.0
    };
    let bits = number.to_bits();
    let sign = 1 << 31;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    ordered.to_be_bytes()
}

/// The number of [`float_bytes`]; `None` for bytes that it never writes.
pub(super) fn float_of(bytes: [u8; FLOAT_BYTES]) -> Option<f32> {
    let ordered = u32::from_be_bytes(bytes);
    let sign = 1 << 31;
    let bits = if ordered & sign == 0 {
        !ordered
    } else {
        ordered ^ sign
    };
    let number = f32::from_bits(bits);
    (float_bytes(number) == bytes).then_some(number)
}

/// The low three bytes of the packed form.
pub(super) fn date_bytes(packed: u32) -> [u8; DATE_BYTES] {
    let [_, high, middle, low] = packed.to_be_bytes();
    [high, middle, low]
}

/// The packed form of [`date_bytes`].
pub(super) fn date_of([high, middle, low]: [u8; DATE_BYTES]) -> u32 {
    u32::from_be_bytes([0, high, middle, low])
}

/// Microseconds above an offset.
pub(super) fn time_bytes(micros: i64) -> [u8; TIME_BYTES] {
    let [_, _, bytes @ ..] = micros.wrapping_add(TIME_OFFSET).to_be_bytes();
    bytes
}

/// The microseconds of [`time_bytes`].
pub(super) fn time_of(payload: [u8; TIME_BYTES]) -> i64 {
    let mut bytes = [0; WORD_BYTES];
    if let Some(low) = bytes.last_chunk_mut() {
        *low = payload;
    }
    i64::from_be_bytes(bytes).wrapping_sub(TIME_OFFSET)
}

/// Microseconds with the sign bit inverted.
pub(super) fn timestamp_bytes(micros: i64) -> [u8; WORD_BYTES] {
    (micros ^ i64::MIN).to_be_bytes()
}

/// The microseconds of [`timestamp_bytes`].
pub(super) fn timestamp_of(bytes: [u8; WORD_BYTES]) -> i64 {
    i64::from_be_bytes(bytes) ^ i64::MIN
}
