//! The slow verifier of `caching_sha2_password`: SHA-256 crypt with a salt of 20 bytes, in the text
//! form that MySQL stores, so that accounts can be moved from there and back.
//!
//! ```text
//!  $A$005$  20 bytes of salt  43 characters of digest
//!     ^ thousands of rounds, hexadecimal
//! ```
//!
//! Sources: U. Drepper, "Unix crypt using SHA-256 and SHA-512"; MySQL 8.0 manual, "Caching SHA-2
//! Pluggable Authentication".

use std::fmt;
use std::hint::black_box;

use rand::Rng;
use sha2::{Digest, Sha256};

/// Bytes of salt.
const SALT_BYTES: usize = 20;

/// Characters of the digest.
const DIGEST_CHARS: usize = 43;

/// Rounds that are made for new passwords, in thousands; what MySQL makes by default.
const ROUNDS_THOUSANDS: u16 = 5;

/// The most rounds that are believed, in thousands, as in MySQL: more would keep a processor busy.
const ROUNDS_THOUSANDS_MAX: u16 = 0xFFF;

/// The most bytes of a password, as in MySQL.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// The digits of crypt's base 64.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A salted, slow verifier.
#[derive(Clone, PartialEq, Eq)]
pub struct Crypt {
    thousands: u16,
    salt: [u8; SALT_BYTES],
    digest: [u8; DIGEST_CHARS],
}

/// Nothing of it is shown.
impl fmt::Debug for Crypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crypt")
    }
}

impl Crypt {
    /// Of a password in clear, with new salt. The salt is of letters and digits, so that the text
    /// form survives every client.
    pub fn of(clear: &[u8]) -> Crypt {
        let mut rng = rand::rng();
        let salt = std::array::from_fn(|_| {
            let digit = DIGITS.get(rng.random_range(2..DIGITS.len()));
            digit.copied().unwrap_or(b'x')
        });
        Crypt {
            thousands: ROUNDS_THOUSANDS,
            salt,
            digest: digest(clear, &salt, ROUNDS_THOUSANDS),
        }
    }

    /// One that no password is right for: checking it takes as long.
    pub fn unknowable() -> Crypt {
        Crypt {
            thousands: ROUNDS_THOUSANDS,
            salt: [b'x'; SALT_BYTES],
            digest: [0; DIGEST_CHARS],
        }
    }

    /// The verifier of a text as MySQL stores it.
    pub fn parse(text: &[u8]) -> Option<Crypt> {
        let rest = text.strip_prefix(b"$A$")?;
        let (thousands, rest) = rest.split_at_checked(3)?;
        let thousands = std::str::from_utf8(thousands).ok()?;
        let thousands = u16::from_str_radix(thousands, 16).ok()?;
        let (salt, digest) = rest.strip_prefix(b"$")?.split_at_checked(SALT_BYTES)?;
        let is_known = |digit: &u8| DIGITS.contains(digit);
        let fits = (1..=ROUNDS_THOUSANDS_MAX).contains(&thousands) && digest.iter().all(is_known);
        Some(Crypt {
            thousands,
            salt: salt.try_into().ok()?,
            digest: digest.try_into().ok().filter(|_| fits)?,
        })
    }

    /// The text form.
    pub fn text(&self) -> Vec<u8> {
        let mut text = format!("$A${:03X}$", self.thousands).into_bytes();
        text.extend_from_slice(&self.salt);
        text.extend_from_slice(&self.digest);
        text
    }

    /// Whether it is of this password. Takes milliseconds, by design: not for a thread that serves
    /// others.
    pub fn is_of(&self, clear: &[u8]) -> bool {
        let made = digest(clear, &self.salt, self.thousands);
        let pairs = made.iter().zip(&self.digest);
        pairs.fold(0_u8, |sum, (a, b)| black_box(sum | (a ^ b))) == 0
    }
}

/// Steps 1 to 22 of the specification.
fn digest(clear: &[u8], salt: &[u8], thousands: u16) -> [u8; DIGEST_CHARS] {
    let other = Sha256::new()
        .chain_update(clear)
        .chain_update(salt)
        .chain_update(clear)
        .finalize();
    let mut first = Sha256::new().chain_update(clear).chain_update(salt);
    first.update(repeated(&other, clear.len()));
    let mut bits = clear.len();
    while 0 < bits {
        if bits & 1 == 1 {
            first.update(other);
        } else {
            first.update(clear);
        }
        bits >>= 1;
    }
    let mut sum: [u8; 32] = first.finalize().into();
    let mut of_clear = Sha256::new();
    for _ in 0..clear.len() {
        of_clear.update(clear);
    }
    let password = repeated(&of_clear.finalize(), clear.len());
    let mut of_salt = Sha256::new();
    let [first_byte, ..] = sum;
    for _ in 0..16 + usize::from(first_byte) {
        of_salt.update(salt);
    }
    let salt = repeated(&of_salt.finalize(), salt.len());
    for round in 0..u32::from(thousands) * 1000 {
        let mut next = Sha256::new();
        let is_odd = round % 2 == 1;
        next.update(if is_odd { &password[..] } else { &sum[..] });
        if round % 3 != 0 {
            next.update(&salt);
        }
        if round % 7 != 0 {
            next.update(&password);
        }
        next.update(if is_odd { &sum[..] } else { &password[..] });
        sum = next.finalize().into();
    }
    encoded(&sum)
}

/// So many bytes of `pattern`, over and over.
fn repeated(pattern: &[u8], count: usize) -> Vec<u8> {
    pattern.iter().copied().cycle().take(count).collect()
}

/// Crypt's base 64: bytes in an order of its own, three at a time, the lowest digit first.
fn encoded(sum: &[u8; 32]) -> [u8; DIGEST_CHARS] {
    let byte = |idx: usize| u32::from(sum.get(idx).copied().unwrap_or(0));
    let mut digits = Vec::with_capacity(DIGEST_CHARS + 1);
    let mut put = |group: u32, count: u32| {
        for place in 0..count {
            let digit = usize::try_from(group >> (6 * place) & 0x3F).unwrap_or(0);
            digits.push(DIGITS.get(digit).copied().unwrap_or(b'.'));
        }
    };
    // Each group's bytes are ten apart, and the groups turn round.
    let (mut a, mut b, mut c) = (0, 10, 20);
    for _ in 0..10 {
        put(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
        (a, b, c) = (c + 1, a + 1, b + 1);
    }
    put(byte(31) << 8 | byte(30), 3);
    let mut out = [b'.'; DIGEST_CHARS];
    for (slot, digit) in out.iter_mut().zip(digits) {
        *slot = digit;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published example of a widely used password recovery tool for this form (mode 7401).
    #[test]
    fn the_form_is_mysqls() {
        let salt = [
            0xF9, 0xCC, 0x98, 0xCE, 0x08, 0x89, 0x29, 0x24, 0xF5, 0x0A, 0x21, 0x3B, 0x6B, 0xC5,
            0x71, 0xA2, 0xC1, 0x17, 0x78, 0xC5,
        ];
        let mut text = b"$A$005$".to_vec();
        text.extend_from_slice(&salt);
        text.extend_from_slice(b"bTy95Y99eAME1dwEkHOA1ndHGBWz.1bxSSRkuTXFGV/");
        let crypt = Crypt::parse(&text).unwrap();
        assert!(crypt.is_of(b"hashcat"));
        assert!(!crypt.is_of(b"hashca"));
        assert_eq!(crypt.text(), text);
    }

    #[test]
    fn a_new_one_comes_back_and_others_are_refused() {
        let crypt = Crypt::of("gehäim".as_bytes());
        assert_eq!(Crypt::parse(&crypt.text()), Some(crypt.clone()));
        assert!(crypt.is_of("gehäim".as_bytes()));
        assert!(!crypt.is_of(b""));
        assert!(!Crypt::unknowable().is_of(b"x"));
        for wrong in ["", "$A$", "$A$005$", "$B$005$", "$A$000$", "$A$zzz$"] {
            assert_eq!(Crypt::parse(wrong.as_bytes()), None);
        }
        let mut long = crypt.text();
        long.push(b'x');
        assert_eq!(Crypt::parse(&long), None);
    }
}
