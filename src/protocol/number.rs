//! Integers as decimal digits, for text rows.
//!
//! Hot: runs per integer cell. No allocation, no formatting machinery; two digits per division.

/// All pairs of digits, `00` to `99`.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// The most characters: the sign and the digits of `i64::MIN`, or the digits of `u64::MAX`.
const DIGITS_MAX: usize = 20;

/// Appends the digits of `number` behind their length byte.
pub(super) fn put_text_u64(out: &mut Vec<u8>, number: u64) {
    put_digits(out, number, false);
}

/// Appends the sign and digits of `number` behind their length byte.
pub(super) fn put_text_i64(out: &mut Vec<u8>, number: i64) {
    put_digits(out, number.unsigned_abs(), number < 0);
}

/// The two digits of a number below 100.
#[expect(
    clippy::indexing_slicing,
    reason = "a remainder by 100, doubled, is below 199"
)]
pub(super) fn digit_pair(number: u8) -> [u8; 2] {
    let at = usize::from(number % 100) * 2;
    [PAIRS[at], PAIRS[at + 1]]
}

#[expect(
    clippy::indexing_slicing,
    reason = "`at` starts at DIGITS_MAX and a u64 with a sign has at most that many characters; \
              a pair index is below 100; checked by a test over all lengths"
)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "remainders by 100 and a length of at most 20"
)]
fn put_digits(out: &mut Vec<u8>, number: u64, negative: bool) {
    if number < 10 && !negative {
        out.extend_from_slice(&[1, b'0' + number as u8]);
        return;
    }
    let mut scratch = [0_u8; DIGITS_MAX + 1];
    let mut at = scratch.len();
    let mut left = number;
    while 10 <= left {
        let pair = (left % 100) as usize * 2;
        left /= 100;
        at -= 2;
        scratch[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    // The last pair of an even count leaves nothing; a leading zero must not be written.
    if 0 < left || number < 10 {
        at -= 1;
        scratch[at] = b'0' + left as u8;
    } else if scratch[at] == b'0' {
        at += 1;
    }
    if negative {
        at -= 1;
        scratch[at] = b'-';
    }
    out.push((scratch.len() - at) as u8);
    out.extend_from_slice(&scratch[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_standard_library() {
        let mut numbers = vec![
            0_u64,
            1,
            9,
            10,
            11,
            99,
            100,
            101,
            109,
            110,
            999,
            1000,
            u64::MAX,
        ];
        let mut power = 1_u64;
        while let Some(next) = power.checked_mul(10) {
            power = next;
            numbers.extend([power - 1, power, power + 1, power + 10, power / 2 * 3]);
        }
        for number in numbers {
            let mut out = Vec::new();
            put_text_u64(&mut out, number);
            assert_eq!(&out[1..], number.to_string().as_bytes());
            assert_eq!(usize::from(out[0]), out.len() - 1);
            for signed in [number.cast_signed(), number.cast_signed().wrapping_neg()] {
                let mut out = Vec::new();
                put_text_i64(&mut out, signed);
                assert_eq!(&out[1..], signed.to_string().as_bytes());
            }
        }
    }
}
