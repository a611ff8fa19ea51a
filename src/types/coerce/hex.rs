//! Bytes given in hexadecimal digits, where the session reads texts so (`LINDORM` in `sql_mode`).

use super::{Problem, SHOWN_CHARS_MAX};

/// The bytes that a text of hexadecimal digits gives, two for each.
///
/// # Errors
/// [`Problem::IncorrectValue`] when it is no such text.
pub fn bytes_of_digits(text: &str) -> Result<Vec<u8>, Problem> {
    let bytes = leading_bytes(text);
    if 2 * bytes.len() != text.len() {
        return Err(Problem::IncorrectValue {
            wanted: "hexadecimal",
            shown: text.chars().take(SHOWN_CHARS_MAX).collect(),
        });
    }
    Ok(bytes)
}

/// The bytes that the digits give which a text begins with: what is stored of one that is no such text
/// where that is not an error.
pub fn leading_bytes(text: &str) -> Vec<u8> {
    let digit = |digit: char| u8::try_from(digit.to_digit(16)?).ok();
    let digits: Vec<u8> = text.chars().map_while(digit).collect();
    let (pairs, _) = digits.as_chunks::<2>();
    pairs.iter().map(|[high, low]| high << 4 | low).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_give_a_byte() {
        assert_eq!(bytes_of_digits("").unwrap(), [] as [u8; 0]);
        assert_eq!(bytes_of_digits("00aBff").unwrap(), [0, 0xab, 0xff]);
        for wrong in ["a", "abc", "zz", "0x41", " 41", "٤١", "é"] {
            assert!(bytes_of_digits(wrong).is_err(), "{wrong}");
        }
        assert_eq!(leading_bytes("41ff0zz"), [0x41, 0xff]);
        assert_eq!(leading_bytes("zz41"), [] as [u8; 0]);
    }
}
