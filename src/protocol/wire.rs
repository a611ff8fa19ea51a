//! The integers and strings that packets are made of.
//!
//! Not framing (that is [`super::packet`]). Every integer on the wire is little-endian; this file
//! and no other of the room turns them into bytes and back.
#![expect(
    clippy::little_endian_bytes,
    reason = "this file owns the byte order of the MySQL protocol"
)]

use crate::error::{Code, Error, Result};

/// The marker of `NULL` where a length would be.
pub const NULL_LENGTH: u8 = 0xFB;

/// The largest length that takes one byte.
pub const SHORT_LENGTH_MAX: u8 = 250;

/// The answer to a packet that ends early or says something impossible.
pub fn malformed() -> Error {
    Error::new(Code::MalformedPacket, "Malformed communication packet")
}

/// Takes a packet's payload apart from front to back; never reads past its end.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Begins at the first byte of `payload`.
    pub fn new(payload: &'a [u8]) -> Reader<'a> {
        Reader { rest: payload }
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many bytes are left.
    pub fn bytes_left(&self) -> usize {
        self.rest.len()
    }

    /// The next byte, which stays where it is.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// 1835 when fewer are left; so for every other method here.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    /// All that is left.
    pub fn remaining(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or_else(malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// One byte.
    ///
    /// # Errors
    /// 1835 when none is left.
    pub fn u8(&mut self) -> Result<u8> {
        let [byte] = self.chunk::<1>()?;
        Ok(byte)
    }

    /// Two bytes.
    ///
    /// # Errors
    /// 1835 when fewer are left.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.chunk()?))
    }

    /// Four bytes.
    ///
    /// # Errors
    /// 1835 when fewer are left.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.chunk()?))
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// 1835 when fewer are left.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.chunk()?))
    }

    /// A 32-bit floating point number.
    ///
    /// # Errors
    /// 1835 when fewer than four bytes are left.
    pub fn f32(&mut self) -> Result<f32> {
        Ok(f32::from_le_bytes(self.chunk()?))
    }

    /// A 64-bit floating point number.
    ///
    /// # Errors
    /// 1835 when fewer than eight bytes are left.
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.chunk()?))
    }

    /// A length-encoded integer.
    ///
    /// # Errors
    /// 1835 when it is cut short, or is the `NULL` or the reserved marker.
    pub fn lenenc(&mut self) -> Result<u64> {
        match self.u8()? {
            small @ 0..=SHORT_LENGTH_MAX => Ok(u64::from(small)),
            0xFC => Ok(u64::from(self.u16()?)),
            0xFD => {
                let [a, b, c] = self.chunk::<3>()?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xFE => self.u64(),
            NULL_LENGTH | 0xFF => Err(malformed()),
        }
    }

    /// A string behind its length-encoded length.
    ///
    /// # Errors
    /// 1835 when the length is malformed or more than is left.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8]> {
        let count = usize::try_from(self.lenenc()?).map_err(|_| malformed())?;
        self.bytes(count)
    }

    /// A string that ends at a zero byte, which is taken too; without one, all that is left.
    /// Several clients leave the last zero byte of a packet out.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        match self.rest.iter().position(|&byte| byte == 0) {
            Some(at) => {
                let (taken, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, &[]));
                self.rest = rest.get(1..).unwrap_or(&[]);
                taken
            }
            None => self.remaining(),
        }
    }
}

/// The three bytes of a packet's length, which must be below 2^24.
pub fn u24_bytes(number: u32) -> [u8; 3] {
    let [a, b, c, _] = number.to_le_bytes();
    [a, b, c]
}

/// The number that three bytes hold.
pub fn u24(bytes: [u8; 3]) -> u32 {
    let [a, b, c] = bytes;
    u32::from_le_bytes([a, b, c, 0])
}

/// Appends two bytes.
pub fn put_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends four bytes.
pub fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends eight bytes.
pub fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a signed integer of the width of its type.
pub fn put_i8(out: &mut Vec<u8>, number: i8) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a signed integer of the width of its type.
pub fn put_i16(out: &mut Vec<u8>, number: i16) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a signed integer of the width of its type.
pub fn put_i32(out: &mut Vec<u8>, number: i32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a signed integer of the width of its type.
pub fn put_i64(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a 32-bit floating point number.
pub fn put_f32(out: &mut Vec<u8>, number: f32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a 64-bit floating point number.
pub fn put_f64(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a length-encoded integer in its shortest form.
pub fn put_lenenc(out: &mut Vec<u8>, number: u64) {
    let [a, b, c, ..] = number.to_le_bytes();
    match number {
        0..=250 => out.push(a),
        251..=0xFFFF => out.extend_from_slice(&[0xFC, a, b]),
        0x1_0000..=0xFF_FFFF => out.extend_from_slice(&[0xFD, a, b, c]),
        _ => {
            out.push(0xFE);
            put_u64(out, number);
        }
    }
}

/// Appends a string behind its length-encoded length. Hot: runs per cell of a row, most of which are short.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match u8::try_from(bytes.len()) {
        Ok(short) if short <= SHORT_LENGTH_MAX => {
            // Room for both at once.
            out.reserve(1 + bytes.len());
            out.push(short);
        }
        Ok(_) | Err(_) => put_lenenc(out, u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
    }
    out.extend_from_slice(bytes);
}

/// Appends a string and a zero byte.
pub fn put_nul(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}
