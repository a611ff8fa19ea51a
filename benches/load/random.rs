//! Random numbers of the load: fast, repeatable by their seed, and skewed as YCSB skews them.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a draw may be off by one in a billion"
)]

/// What YCSB calls the Zipfian constant: the hottest of a million items gets 7 % of all requests.
const THETA: f64 = 0.99;
/// Items that a scrambled draw is made from, and the sum of their weights, as YCSB has them: whatever the
/// table's size, the skew is the same.
const SCRAMBLED_ITEMS: u64 = 10_000_000_000;
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;
/// 64 characters, so that six random bits make one.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

/// xorshift64*: fast, and good enough to spread keys.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.max(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, count: u64) -> u64 {
        (self.bits() >> 16) % count.max(1)
    }

    /// At least 0 and less than 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn letters(&mut self, text: &mut [u8]) {
        for chunk in text.chunks_mut(10) {
            let mut bits = self.bits();
            for byte in chunk {
                *byte = LETTERS[(bits & 63) as usize];
                bits >>= 6;
            }
        }
    }

    /// Groups of eleven digits with dashes between, as in the texts of sysbench.
    pub(crate) fn digits(&mut self, text: &mut [u8]) {
        for group in text.chunks_mut(12) {
            let mut number = self.below(100_000_000_000);
            for byte in group.iter_mut().take(11) {
                *byte = b'0' + (number % 10) as u8;
                number /= 10;
            }
            if let Some(dash) = group.get_mut(11) {
                *dash = b'-';
            }
        }
    }
}

/// FNV-1a over the eight bytes, without its sign: how YCSB scatters keys.
pub(crate) fn scattered(number: u64) -> u64 {
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        });
    hash & (u64::MAX >> 1)
}

/// Draws from a number of items, the first by far the most often.
///
/// Source: Gray and others, "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994, which
/// the YCSB paper (Cooper and others, 2010) uses.
#[derive(Debug)]
pub(crate) struct Zipf {
    items: u64,
    zeta: f64,
}

impl Zipf {
    pub(crate) fn new(items: u64) -> Zipf {
        let mut zipf = Zipf {
            items: 0,
            zeta: 0.0,
        };
        zipf.grow(items.max(2));
        zipf
    }

    /// For [`Zipf::scrambled`].
    pub(crate) fn wide() -> Zipf {
        Zipf {
            items: SCRAMBLED_ITEMS,
            zeta: SCRAMBLED_ZETA,
        }
    }

    /// There are more items now.
    pub(crate) fn grow(&mut self, items: u64) {
        while self.items < items {
            self.items += 1;
            self.zeta += (self.items as f64).powf(-THETA);
        }
    }

    /// Less than the number of items.
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let at = unit * self.zeta;
        let two = 1.0 + 0.5_f64.powf(THETA);
        if at < 1.0 {
            return 0;
        }
        if at < two {
            return 1;
        }
        let items = self.items as f64;
        let eta = (1.0 - (2.0 / items).powf(1.0 - THETA)) / (1.0 - two / self.zeta);
        let drawn = items * (eta * unit - eta + 1.0).powf(1.0 / (1.0 - THETA));
        (drawn as u64).min(self.items - 1)
    }

    /// Less than `count`, and those often drawn lie anywhere.
    pub(crate) fn scrambled(&self, random: &mut Random, count: u64) -> u64 {
        scattered(self.draw(random)) % count.max(1)
    }
}
