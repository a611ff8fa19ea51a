//! Symbols to bits by how frequent they are, and back: range asymmetric numeral systems.
//!
//! J. Duda, "Asymmetric numeral systems: entropy coding combining speed of Huffman coding with compression rate
//! of arithmetic coding", arXiv:1311.2540; F. Giesen, "Interleaved entropy coders", arXiv:1402.3392, §2.
//!
//! ```text
//! state:u32 state:u32 word:u16 ...      little-endian, in the order in which they are read
//! ```
//!
//! Two states take turns, so that the processor reads a symbol while it has still to do with the one before.
//! Where what was packed ends they are what they began with, and no word is left.

#![expect(
    clippy::little_endian_bytes,
    reason = "this file owns the format of coded bytes"
)]

/// The frequencies of the symbols of a table add up to two to the power of this.
const TOTAL_BITS: u32 = 15;
pub(super) const TOTAL: u16 = 1 << TOTAL_BITS;

/// Between words the state is at least this. It begins and ends with it.
const LOW: u32 = 1 << WORD_BITS;
const WORD_BITS: u32 = 16;

/// A symbol is a number below this: a byte, or one of a hundred more.
pub(super) const SYMBOLS: u16 = 256 + 100;
const COUNT: usize = SYMBOLS as usize;

/// A number for each symbol.
pub(super) type Each<T> = [T; COUNT];

/// A table has so many hints where to look for a symbol.
const HINTS: usize = 512;
const HINT_SHIFT: u32 = TOTAL_BITS - HINTS.ilog2();

/// The part of all numbers below [`TOTAL`] that stands for a symbol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Part {
    start: u16,
    pub(super) frequency: u16,
}

/// How frequent each symbol is.
pub(super) struct Table {
    parts: Each<Part>,
    /// The first symbol that can stand for the numbers of a hint.
    hints: [u16; HINTS],
}

impl Table {
    /// `None` unless each symbol has a frequency and they add up to [`TOTAL`].
    pub(super) fn new(frequencies: &Each<u16>) -> Option<Table> {
        let (mut parts, mut hints) = ([Part::default(); COUNT], [0; HINTS]);
        let mut start = 0_u16;
        for (symbol, (part, &frequency)) in (0..SYMBOLS).zip(parts.iter_mut().zip(frequencies)) {
            let end = start.checked_add(frequency).filter(|end| start < *end)?;
            *part = Part { start, frequency };
            let first = usize::from(start).div_ceil(1 << HINT_SHIFT);
            let behind = usize::from(end).div_ceil(1 << HINT_SHIFT);
            hints.get_mut(first..behind)?.fill(symbol);
            start = end;
        }
        (start == TOTAL).then_some(Table { parts, hints })
    }

    /// `None` where the number is that of no symbol.
    pub(super) fn part(&self, symbol: u16) -> Option<Part> {
        self.parts.get(usize::from(symbol)).copied()
    }

    /// The symbol that a number below [`TOTAL`] stands for.
    #[inline]
    fn symbol(&self, number: u32) -> Option<(u16, Part)> {
        let hint = usize::try_from(number >> HINT_SHIFT).ok()?;
        let mut symbol = *self.hints.get(hint)?;
        loop {
            let part = *self.parts.get(usize::from(symbol))?;
            if number < u32::from(part.start) + u32::from(part.frequency) {
                return Some((symbol, part));
            }
            symbol = symbol.checked_add(1)?;
        }
    }
}

/// Appends symbols, whose parts these are, so that they are read in this order.
pub(super) fn encode(parts: &[Part], words: &mut Vec<u16>, out: &mut Vec<u8>) {
    // What is read first is written last.
    let (mut state, mut other) = (LOW, LOW);
    words.clear();
    for part in parts.iter().rev() {
        (state, other) = (other, state);
        let frequency = u32::from(part.frequency).max(1);
        // The state is kept below what one more symbol makes longer than 32 bits.
        if frequency << (2 * WORD_BITS - TOTAL_BITS) <= state {
            words.push(low_word(state));
            state >>= WORD_BITS;
        }
        let rest = state % frequency + u32::from(part.start);
        state = ((state / frequency) << TOTAL_BITS) + rest;
    }
    out.extend(state.to_le_bytes());
    out.extend(other.to_le_bytes());
    out.extend(words.iter().rev().flat_map(|word| word.to_le_bytes()));
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
fn low_word(state: u32) -> u16 {
    state as u16
}

/// Reads symbols that were encoded.
pub(super) struct Decoder<'a> {
    /// Of the next symbol.
    state: u32,
    /// Of the one behind it.
    other: u32,
    words: &'a [u8],
    /// Where the next word is.
    at: usize,
}

impl<'a> Decoder<'a> {
    /// `None` where there are no states.
    pub(super) fn new(bytes: &'a [u8]) -> Option<Decoder<'a>> {
        let (state, rest) = bytes.split_first_chunk()?;
        let (other, words) = rest.split_first_chunk()?;
        Some(Decoder {
            state: u32::from_le_bytes(*state),
            other: u32::from_le_bytes(*other),
            words,
            at: 0,
        })
    }

    /// The next symbol, which was encoded by this table; `None` where there is none.
    ///
    /// Words that are not there are zero: what is read then is of no use, and is not at its end.
    #[inline]
    pub(super) fn next(&mut self, table: &Table) -> Option<u16> {
        let number = self.state & (u32::from(TOTAL) - 1);
        let (symbol, part) = table.symbol(number)?;
        let above = u32::from(part.frequency) * (self.state >> TOTAL_BITS);
        let state = above + (number - u32::from(part.start));
        let word = self.words.get(self.at..self.at + 2);
        let word = word.and_then(|word| word.first_chunk()).copied();
        let word = u32::from(u16::from_le_bytes(word.unwrap_or_default()));
        // Whether a word is needed cannot be foreseen: no branch goes by it.
        let is_low = u32::from(state < LOW);
        self.at += if state < LOW { 2 } else { 0 };
        let word = word & 0_u32.wrapping_sub(is_low);
        let state = state << (WORD_BITS * is_low) | word;
        (self.state, self.other) = (self.other, state);
        Some(symbol)
    }

    /// Whether everything was read that was encoded.
    pub(super) fn is_at_end(&self) -> bool {
        self.state == LOW && self.other == LOW && self.at == self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Some bytes are frequent.
    fn table(random: &mut StdRng) -> Table {
        let mut frequencies = [1; COUNT];
        let mut left = TOTAL - SYMBOLS;
        while 0 < left {
            let more = random.random_range(1..=left.min(9000));
            frequencies[random.random_range(0..COUNT)] += more;
            left -= more;
        }
        Table::new(&frequencies).unwrap()
    }

    #[test]
    fn symbols_come_back_in_their_order_and_to_the_end() {
        let seed = rand::rng().random();
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        for len in [0, 1, 2, 3, 100, 5000] {
            let tables = [table(&mut random), table(&mut random)];
            let symbols: Vec<u16> = (0..len).map(|_| random.random_range(0..SYMBOLS)).collect();
            let by = |at: usize| &tables[at % 2];
            let parts: Vec<Part> = symbols
                .iter()
                .enumerate()
                .map(|(at, symbol)| by(at).part(*symbol).unwrap())
                .collect();
            let mut bytes = Vec::new();
            encode(&parts, &mut vec![7], &mut bytes);
            let mut decoder = Decoder::new(&bytes).unwrap();
            for (at, symbol) in symbols.iter().enumerate() {
                assert_eq!(decoder.next(by(at)), Some(*symbol), "{at} of {len}");
            }
            assert!(decoder.is_at_end());
        }
    }

    #[test]
    fn symbols_take_the_bits_of_their_frequency() {
        let mut frequencies = [1; COUNT];
        for digit in b'0'..=b'9' {
            frequencies[usize::from(digit)] += 3241;
        }
        frequencies[usize::from(b'-')] += TOTAL - SYMBOLS - 32_410;
        let table = Table::new(&frequencies).unwrap();
        let digits =
            (0..3000_u32).map(|n| u16::from(b'0') + u16::try_from(n * n % 97 % 10).unwrap());
        let parts: Vec<Part> = digits.map(|digit| table.part(digit).unwrap()).collect();
        let mut bytes = Vec::new();
        encode(&parts, &mut Vec::new(), &mut bytes);
        // The logarithm of ten is 3.32 bits.
        assert!((1245..1260).contains(&bytes.len()), "{}", bytes.len());
    }

    #[test]
    fn a_table_has_all_symbols_and_the_right_sum() {
        let mut frequencies = [92; COUNT];
        assert!(Table::new(&frequencies).is_none());
        frequencies[0] += TOTAL - 92 * SYMBOLS;
        assert!(Table::new(&frequencies).is_some());
        frequencies[7] = 91;
        assert!(Table::new(&frequencies).is_none());
        frequencies[8] = 93;
        assert!(Table::new(&frequencies).is_some());
        (frequencies[7], frequencies[8]) = (0, 184);
        assert!(Table::new(&frequencies).is_none());
        assert!(Table::new(&[u16::MAX; COUNT]).is_none());
    }
}
