//! What a model codes as one, a byte or two digits, and where it stands.
//!
//! A symbol is a number: that of the byte, or 256 and that of the digits.

use std::ops::Range;

use super::frame::put_len;
use super::rans::SYMBOLS;

/// The symbols from this one on are two digits, 00 to 99.
const PAIRS: u16 = 256;
const _: () = assert!(PAIRS + 100 == SYMBOLS);

/// The class of digits.
const DIGITS: u8 = 1;

/// So many bytes have a context for their place.
const PLACES: usize = 16;

/// Longer runs of a class are like this one.
const LONGEST_RUN: u8 = 15;
const RUNS: usize = 1 + LONGEST_RUN as usize;
const CLASSES: usize = 6;

/// How many contexts there are.
pub(super) const CONTEXTS: usize = PLACES + CLASSES * RUNS;

/// The symbols of the length of a value, which are bytes, and of the value.
pub(super) fn put_symbols(value: &[u8], symbols: &mut Vec<u16>) {
    let mut len = Vec::new();
    put_len(value.len(), &mut len);
    symbols.clear();
    symbols.extend(len.into_iter().map(u16::from));
    let mut rest = value;
    loop {
        rest = match rest {
            [tens @ b'0'..=b'9', ones @ b'0'..=b'9', behind @ ..] => {
                let (tens, ones) = (u16::from(tens - b'0'), u16::from(ones - b'0'));
                symbols.push(PAIRS + tens * 10 + ones);
                behind
            }
            [byte, behind @ ..] => {
                symbols.push(u16::from(*byte));
                behind
            }
            [] => return,
        };
    }
}

/// Appends the bytes of a symbol.
#[inline]
pub(super) fn put_bytes(symbol: u16, bytes: &mut Vec<u8>) {
    if let Ok(byte) = u8::try_from(symbol) {
        bytes.push(byte);
    } else {
        let pair = symbol - PAIRS;
        // One by one takes a third less than both together.
        bytes.push(b'0' + (pair / 10 % 10) as u8);
        bytes.push(b'0' + (pair % 10) as u8);
    }
}

/// Where a symbol stands: at one of the first bytes, or behind so many bytes of a class.
#[derive(Clone, Copy, Default)]
pub(super) struct Context {
    at: usize,
    class: u8,
    run: u8,
}

impl Context {
    /// Its number, below [`CONTEXTS`].
    #[inline]
    pub(super) fn number(&self) -> usize {
        if self.is_at_place() {
            return self.at;
        }
        self.runs().start + self.run()
    }

    /// The numbers of the contexts behind runs of its class …
    #[inline]
    pub(super) fn runs(&self) -> Range<usize> {
        let first = PLACES + usize::from(self.class) * RUNS;
        first..first + RUNS
    }

    /// … and which of them it is, if it is none of the first places.
    #[inline]
    pub(super) fn run(&self) -> usize {
        usize::from(self.run)
    }

    /// Whether it is one of the first.
    #[inline]
    pub(super) fn is_at_place(&self) -> bool {
        self.at < PLACES
    }

    /// Goes on behind a symbol, and tells whether another class begins with it.
    #[inline]
    pub(super) fn pass(&mut self, symbol: u16) -> bool {
        let Ok(byte) = u8::try_from(symbol) else {
            return self.pass_bytes(DIGITS, 2);
        };
        self.pass_bytes(class_of(byte), 1)
    }

    #[inline]
    fn pass_bytes(&mut self, class: u8, bytes: u8) -> bool {
        self.at += usize::from(bytes);
        if class == self.class {
            self.run = (self.run + bytes).min(LONGEST_RUN);
            return false;
        }
        self.class = class;
        self.run = bytes - 1;
        true
    }
}

#[inline]
fn class_of(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => DIGITS,
        b'a'..=b'z' => 2,
        b'A'..=b'Z' => 3,
        b' '..=b'~' => 4,
        0x80.. => 5,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_go_by_two_and_all_else_by_one() {
        let mut symbols = vec![7];
        let value = b"a120-0x7\xff99";
        put_symbols(value, &mut symbols);
        let expected = [
            11,
            u16::from(b'a'),
            PAIRS + 12,
            u16::from(b'0'),
            u16::from(b'-'),
            u16::from(b'0'),
            u16::from(b'x'),
            u16::from(b'7'),
            0xff,
            PAIRS + 99,
        ];
        assert_eq!(symbols, expected);
        let mut bytes = Vec::new();
        for symbol in symbols {
            put_bytes(symbol, &mut bytes);
        }
        assert_eq!(bytes, [&[11], &value[..]].concat());
    }

    #[test]
    fn a_context_is_a_place_and_then_a_class_and_its_run() {
        let mut symbols = Vec::new();
        put_symbols(b"0123456789abcdefgh12345 \x00\x80Z", &mut symbols);
        let mut context = Context::default();
        let mut numbers = Vec::new();
        for symbol in symbols {
            numbers.push(context.number());
            context.pass(symbol);
        }
        let run = |class: usize, run: usize| PLACES + class * RUNS + run;
        let places = [0, 1, 3, 5, 7, 9, 11, 12, 13, 14, 15];
        let behind = [
            run(2, 4),
            run(2, 5),
            run(2, 6),
            run(2, 7),
            run(1, 1),
            run(1, 3),
            run(1, 4),
            run(4, 0),
            run(0, 0),
            run(5, 0),
        ];
        assert_eq!(numbers, [&places[..], &behind].concat());
        assert_eq!(context.number(), run(3, 0));
        for _ in 0..100 {
            context.pass(u16::from(b'Z'));
        }
        assert_eq!(context.number(), run(3, 15));
        assert!(run(5, 15) < CONTEXTS);
    }
}
