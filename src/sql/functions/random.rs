//! Random numbers and bytes, and the sequences that `RAND(seed)` makes.
//!
//! A seeded `RAND` gives each row the next number of MySQL's generator. Between rows the state is
//! kept by the session, per statement and place of the call ([`Sequences`]); without a session
//! every row gets the first number. Source: MySQL manual, `RAND`, `RANDOM_BYTES`.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::context::Warnings;
use super::super::eval::{convert, is_statement_constant};
use super::{Call, result};
use crate::error::{Code, Error, Result};
use crate::types::Value;

functions! {
    /// Chance.
    TABLE of Numeric:
    "RAND" 0..1 "[seed]" result::double, Never, Row, Eager(rand), "A random number from 0 to 1; the next of a sequence when a seed is given.";
    "RANDOM_BYTES" 1..1 "n" result::bytes, AnyArgument, Row, Strict(random_bytes), "So many random bytes.";
}

/// Bytes that `RANDOM_BYTES` gives at most, as in MySQL.
const RANDOM_BYTES_MAX: i64 = 1024;
/// The modulus of MySQL's generator.
const MODULUS: u64 = 0x3FFF_FFFF;

/// MySQL's generator: two numbers below [`MODULUS`].
#[derive(Debug, Clone, Copy)]
struct Generator {
    first: u64,
    second: u64,
}

impl Generator {
    /// From the low 32 bits of a seed.
    fn new(seed: u64) -> Generator {
        const LOW: u64 = 0xFFFF_FFFF;
        let seed = seed & LOW;
        Generator {
            first: ((seed * 0x10001 + 55_555_555) & LOW) % MODULUS,
            second: ((seed * 0x1000_0001) & LOW) % MODULUS,
        }
    }

    fn next(&mut self) -> f64 {
        self.first = (self.first * 3 + self.second) % MODULUS;
        self.second = (self.first + self.second + 33) % MODULUS;
        let number = u32::try_from(self.first).unwrap_or(0);
        f64::from(number) / f64::from(0x3FFF_FFFF_u32)
    }
}

/// The sequences of one statement, by the place of the call. Kept by the session.
#[derive(Debug, Default)]
pub struct Sequences {
    /// Whose sequences they are. Held, so that no other statement's can lie at the same address.
    statement: Option<Arc<Warnings>>,
    /// Address of the call's arguments, and its generator.
    by_call: Vec<(usize, Generator)>,
}

impl Sequences {
    /// The next number of the sequence of the call at this address.
    pub fn next(&mut self, statement: &Arc<Warnings>, (call_at, seed): (usize, u64)) -> f64 {
        let is_same = self
            .statement
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, statement));
        if !is_same {
            self.statement = Some(Arc::clone(statement));
            self.by_call.clear();
        }
        if let Some((_, generator)) = self.by_call.iter_mut().find(|(at, _)| *at == call_at) {
            return generator.next();
        }
        let mut generator = Generator::new(seed);
        let first = generator.next();
        self.by_call.push((call_at, generator));
        first
    }
}

/// A seed that differs from row to row begins a sequence with each.
fn rand<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let Some(value) = values.first() else {
        return Ok(Value::Double(rand::random::<f64>()));
    };
    let seed = convert::bits(value, call.ctx)?.unwrap_or(0);
    let sequences = call
        .ctx
        .facts
        .sequences()
        .filter(|_| call.args.iter().all(is_statement_constant));
    Ok(Value::Double(match sequences {
        Some(sequences) => {
            let place = (call.args.as_ptr().addr(), seed);
            sequences.lock().next(&call.ctx.warnings, place)
        }
        None => Generator::new(seed).next(),
    }))
}

/// A number of bytes out of range is error 1690, as in MySQL.
fn random_bytes<'a>(values: &[Value<'a>], call: &Call<'a>) -> Result<Value<'a>> {
    let len = call.count(values, 0)?;
    if !(1..=RANDOM_BYTES_MAX).contains(&len) {
        let text = "length value is out of range in 'random_bytes'";
        return Err(Error::new(Code::NumericOverflow, text));
    }
    let bytes = (0..len).map(|_| rand::random::<u8>()).collect();
    Ok(Value::Bytes(Cow::Owned(bytes)))
}
