//! Values by the frequencies of their bytes: for short ones that have their form in common and not their words,
//! such as numbers in digits, where zstd has nothing to refer to and its codes are whole bits.
//!
//! A symbol is a byte or two digits. How frequent it is depends on where it stands. In front of a value goes its
//! length, as seven bits a byte; at each of the first bytes of both there is a table for the place, as rows
//! have their narrow columns there. Behind them the table is that of the class of the byte before and of how
//! many of that class there were in a row, which is to say that it knows how long the words of a form are.
//!
//! A model as bytes, little-endian:
//!
//! ```text
//! tables:u8 table*                                    the first is that of contexts that were not met
//! table:u8 * 112                                      the number of each context's
//!
//! a table:  symbols:u16 { symbol:u16 frequency:u16 }* of those that are not here it is 1
//! ```

#![expect(
    clippy::little_endian_bytes,
    reason = "this file owns the format of a model"
)]

use super::frame::LEN_BYTES_MAX;
use super::rans::{self, Decoder, Each, Part, SYMBOLS, TOTAL, Table};
use super::symbols::{CONTEXTS, Context, put_bytes, put_symbols};

/// Longer values are left to zstd.
pub(super) const VALUE_BYTES_MAX: usize = 4 << 10;

/// What is known of all symbols counts as so many of a context's own.
const PRIOR: u64 = 32;

/// How often each symbol was met.
type Counts = Each<u32>;

/// Where nothing is known, all are alike.
const NONE: Counts = [0; SYMBOLS as usize];
const ALIKE: Each<u16> = [1; SYMBOLS as usize];

/// A model.
pub(super) struct Model {
    /// The first is that of contexts that were not met.
    tables: Vec<Table>,
    /// The number of the table of each context.
    of_contexts: [u8; CONTEXTS],
}

/// What packing needs again and again.
#[derive(Default)]
pub(super) struct Scratch {
    symbols: Vec<u16>,
    parts: Vec<Part>,
    words: Vec<u16>,
}

/// How far a packed form is read.
struct Reader<'a> {
    decoder: Decoder<'a>,
    context: Context,
}

impl Model {
    /// Makes one from samples.
    pub(super) fn train<'a>(samples: impl Iterator<Item = &'a [u8]>) -> Option<Model> {
        let mut counts = vec![NONE; CONTEXTS];
        let (mut symbols, mut all) = (Vec::new(), NONE);
        for sample in samples {
            put_symbols(sample, &mut symbols);
            let mut context = Context::default();
            for &symbol in &symbols {
                let of_context = counts.get_mut(context.number())?;
                *of_context.get_mut(usize::from(symbol))? += 1;
                *all.get_mut(usize::from(symbol))? += 1;
                context.pass(symbol);
            }
        }
        Model::of(&all, &counts)
    }

    fn of(all: &Counts, counts: &[Counts]) -> Option<Model> {
        let common = frequencies(all, &ALIKE)?;
        let mut tables = vec![Table::new(&common)?];
        let mut of_contexts = [0; CONTEXTS];
        for (counts, number) in counts.iter().zip(&mut of_contexts) {
            if counts.iter().any(|count| 0 < *count) {
                *number = u8::try_from(tables.len()).ok()?;
                tables.push(Table::new(&frequencies(counts, &common)?)?);
            }
        }
        Some(Model {
            tables,
            of_contexts,
        })
    }

    /// Appends the packed form of a value; `false`, and nothing, where it has none: it is longer than
    /// [`VALUE_BYTES_MAX`].
    pub(super) fn pack(&self, value: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> bool {
        value.len() <= VALUE_BYTES_MAX && self.code(value, scratch, out)
    }

    fn code(&self, value: &[u8], scratch: &mut Scratch, out: &mut Vec<u8>) -> bool {
        put_symbols(value, &mut scratch.symbols);
        scratch.parts.clear();
        let mut context = Context::default();
        for &symbol in &scratch.symbols {
            let table = self.table(&context);
            let Some(part) = table.and_then(|table| table.part(symbol)) else {
                return false;
            };
            scratch.parts.push(part);
            context.pass(symbol);
        }
        rans::encode(&scratch.parts, &mut scratch.words, out);
        true
    }

    /// The value of a packed form; `None` where it is none, or longer than [`VALUE_BYTES_MAX`].
    pub(super) fn unpack(&self, packed: &[u8]) -> Option<Vec<u8>> {
        let mut reader = Reader {
            decoder: Decoder::new(packed)?,
            context: Context::default(),
        };
        let len = self.unpack_len(&mut reader)?;
        if VALUE_BYTES_MAX < len {
            return None;
        }
        let mut value = Vec::with_capacity(len + 1);
        while value.len() < len && reader.context.is_at_place() {
            put_bytes(self.unpack_symbol(&mut reader)?, &mut value);
        }
        while value.len() < len {
            reader = self.unpack_run(reader, len, &mut value)?;
        }
        (value.len() == len && reader.decoder.is_at_end()).then_some(value)
    }

    /// The symbols of a class behind the first places, to the one that another begins with, up to `len` bytes.
    ///
    /// Which tables there are depends on none of them, so the processor need not wait for one to look for the next.
    #[inline]
    fn unpack_run<'a>(
        &self,
        mut reader: Reader<'a>,
        len: usize,
        value: &mut Vec<u8>,
    ) -> Option<Reader<'a>> {
        let of_runs = self.of_contexts.get(reader.context.runs())?;
        while value.len() < len {
            let number = of_runs.get(reader.context.run())?;
            let table = self.tables.get(usize::from(*number))?;
            let symbol = reader.decoder.next(table)?;
            put_bytes(symbol, value);
            if reader.context.pass(symbol) {
                break;
            }
        }
        Some(reader)
    }

    fn unpack_len(&self, reader: &mut Reader<'_>) -> Option<usize> {
        let mut len = 0;
        for at in 0..LEN_BYTES_MAX {
            let byte = u8::try_from(self.unpack_symbol(reader)?).ok()?;
            len |= usize::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                return Some(len);
            }
        }
        None
    }

    fn unpack_symbol(&self, reader: &mut Reader<'_>) -> Option<u16> {
        let symbol = reader.decoder.next(self.table(&reader.context)?)?;
        reader.context.pass(symbol);
        Some(symbol)
    }

    #[inline]
    fn table(&self, context: &Context) -> Option<&Table> {
        let number = self.of_contexts.get(context.number())?;
        self.tables.get(usize::from(*number))
    }

    /// Appends it as bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        // Both numbers fit: there are no more tables than contexts and one, and no more symbols than those.
        out.push(u8::try_from(self.tables.len()).unwrap_or_default());
        for table in &self.tables {
            let parts = (0..SYMBOLS).filter_map(|symbol| Some((symbol, table.part(symbol)?)));
            let told: Vec<_> = parts.filter(|(_, part)| 1 < part.frequency).collect();
            let count = u16::try_from(told.len()).unwrap_or_default();
            out.extend(count.to_le_bytes());
            for (symbol, part) in told {
                out.extend(symbol.to_le_bytes());
                out.extend(part.frequency.to_le_bytes());
            }
        }
        out.extend(self.of_contexts);
    }

    /// The model that was written; `None` where it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Model> {
        let (&count, mut rest) = bytes.split_first()?;
        let mut tables = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let mut frequencies = ALIKE;
            for _ in 0..take_u16(&mut rest)? {
                let symbol = usize::from(take_u16(&mut rest)?);
                *frequencies.get_mut(symbol)? = take_u16(&mut rest)?;
            }
            tables.push(Table::new(&frequencies)?);
        }
        let of_contexts = <[u8; CONTEXTS]>::try_from(rest).ok()?;
        let is_whole = of_contexts.iter().all(|number| *number < count);
        is_whole.then_some(Model {
            tables,
            of_contexts,
        })
    }
}

fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u16::from_le_bytes(*taken))
}

/// Frequencies like these counts, with something of the common ones. All symbols have one.
fn frequencies(counts: &Counts, common: &Each<u16>) -> Option<Each<u16>> {
    let own: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let of_common: u64 = common.iter().map(|frequency| u64::from(*frequency)).sum();
    // In parts of `of_common`, so that nothing is rounded before the end.
    let all = (own + PRIOR) * of_common;
    let mut left = TOTAL - SYMBOLS;
    let shared = u64::from(left);
    let mut frequencies = ALIKE;
    for (frequency, (count, common)) in frequencies.iter_mut().zip(counts.iter().zip(common)) {
        let weight = u64::from(*count) * of_common + PRIOR * u64::from(*common);
        let share = u16::try_from(weight * shared / all).ok()?;
        *frequency += share;
        left -= share;
    }
    let most = frequencies.iter_mut().max()?;
    *most += left;
    Some(frequencies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    /// Ten groups of eleven digits and five, with a number in four bytes in front: a row of sysbench's.
    fn row(random: &mut StdRng) -> Vec<u8> {
        let mut groups = |count| {
            let group = || format!("{:011}", random.random_range(0..100_000_000_000_u64));
            let groups: Vec<String> = std::iter::repeat_with(group).take(count).collect();
            groups.join("-")
        };
        let (long, short) = (groups(10), groups(5));
        let number: [u8; 4] = [
            0,
            random.random_range(0..16),
            random.random(),
            random.random(),
        ];
        [
            &[1, 3],
            &number[..],
            &[119],
            long.as_bytes(),
            &[59],
            short.as_bytes(),
        ]
        .concat()
    }

    fn rows(count: usize) -> Vec<Vec<u8>> {
        let mut random = StdRng::seed_from_u64(7);
        std::iter::repeat_with(|| row(&mut random))
            .take(count)
            .collect()
    }

    fn model(samples: &[Vec<u8>]) -> Model {
        Model::train(samples.iter().map(Vec::as_slice)).unwrap()
    }

    fn packed(model: &Model, value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(model.pack(value, &mut Scratch::default(), &mut out));
        out
    }

    #[test]
    fn digits_take_a_third_of_a_byte_and_dashes_nothing() {
        let rows = rows(4000);
        let model = model(&rows[..2000]);
        let bytes: usize = rows[2000..]
            .iter()
            .map(|row| packed(&model, row).len())
            .sum();
        // 165 digits of 3.322 bits, 20 bits of a number, and half of two states: 75 bytes.
        let each = bytes / 2000;
        assert!((75..=77).contains(&each), "{each}");
    }

    #[test]
    fn any_value_comes_back_from_a_model_that_was_written() {
        let seed = rand::rng().random();
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let uniform: Vec<Vec<u8>> = vec![(0..=255).collect(); 9];
        for samples in [rows(300), rows(1), Vec::new(), uniform] {
            let made = model(&samples);
            let mut bytes = Vec::new();
            made.write(&mut bytes);
            let model = Model::read(&bytes).unwrap();
            let mut again = Vec::new();
            model.write(&mut again);
            assert_eq!(bytes, again);
            for len in [0, 1, 15, 16, 17, 127, 128, 129, 500, VALUE_BYTES_MAX] {
                let value: Vec<u8> = (0..len).map(|_| random.random()).collect();
                assert_eq!(model.unpack(&packed(&made, &value)), Some(value));
            }
            for row in rows(20) {
                assert_eq!(model.unpack(&packed(&made, &row)), Some(row));
            }
            let long = vec![b'x'; VALUE_BYTES_MAX + 1];
            let mut out = Vec::new();
            assert!(!made.pack(&long, &mut Scratch::default(), &mut out));
            assert!(out.is_empty());
            assert!(made.code(&long, &mut Scratch::default(), &mut out));
            assert_eq!(model.unpack(&out), None);
        }
    }

    #[test]
    fn any_bytes_are_a_value_or_none_and_a_model_or_none() {
        let seed = rand::rng().random();
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let rows = rows(50);
        let model = model(&rows);
        let mut file = Vec::new();
        model.write(&mut file);
        for round in 0..2_000 {
            let mut small = packed(&model, &rows[round % rows.len()]);
            let mut bytes = file.clone();
            for bytes in [&mut small, &mut bytes] {
                for _ in 0..random.random_range(1..4) {
                    let at = random.random_range(0..bytes.len());
                    bytes[at] = random.random();
                }
                if random.random_ratio(1, 3) {
                    bytes.truncate(random.random_range(0..=bytes.len()));
                }
            }
            let found = model.unpack(&small);
            assert!(found.is_none_or(|value| value.len() <= VALUE_BYTES_MAX));
            if let Some(other) = Model::read(&bytes) {
                other.unpack(&small);
            }
        }
    }
}
