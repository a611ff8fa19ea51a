//! Which of several ordered lanes has the next row: a binary heap of their heads.
//!
//! A head holds the beginning of its key as a number, so that most comparisons look at no page. This file is
//! hot: one replacement per row of a merge. The way down chooses between children only, and the last head
//! rises from there, since the next row of a lane seldom comes before those of half of the others
//! (Wegener, "Bottom-up heapsort", 1993).

use std::cmp::Ordering;

/// Bytes of a key in the word of its head.
const WORD_BYTES: usize = size_of::<u128>();

/// The beginning of a key as a number that is ordered as the key, or against it. Where two are equal, the
/// keys themselves must be compared.
#[expect(
    clippy::big_endian_bytes,
    reason = "numbers are to be ordered as the bytes they are made of"
)]
pub(super) fn word(key: &[u8], reverse: bool) -> u128 {
    let mut bytes = [0; WORD_BYTES];
    for (byte, of_key) in bytes.iter_mut().zip(key) {
        *byte = *of_key;
    }
    let word = u128::from_be_bytes(bytes);
    if reverse { !word } else { word }
}

/// The next row of a lane.
#[derive(Clone, Copy)]
struct Head {
    word: u128,
    lane: usize,
}

/// The heads of lanes. `tie` orders two lanes whose words are equal.
pub(super) struct Heads {
    /// Each before its children, at 2 i + 1 and 2 i + 2.
    heap: Vec<Head>,
}

impl Heads {
    pub(super) fn with_capacity(lanes: usize) -> Heads {
        Heads {
            heap: Vec::with_capacity(lanes),
        }
    }

    /// The lane whose row comes first.
    pub(super) fn first(&self) -> Option<usize> {
        self.heap.first().map(|head| head.lane)
    }

    /// Adds the head of a lane that has none.
    pub(super) fn push(&mut self, word: u128, lane: usize, tie: impl Fn(usize, usize) -> Ordering) {
        let head = Head { word, lane };
        let place = self.heap.len();
        self.heap.push(head);
        self.rise(place, head, tie);
    }

    /// The first lane goes on with a row that has this word.
    pub(super) fn replace_first(&mut self, word: u128, tie: impl Fn(usize, usize) -> Ordering) {
        if let Some(lane) = self.first() {
            self.settle(Head { word, lane }, tie);
        }
    }

    /// The first lane has no further row.
    pub(super) fn pop_first(&mut self, tie: impl Fn(usize, usize) -> Ordering) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.settle(last, tie);
        }
    }

    /// Puts a head where it belongs, in place of the first.
    fn settle(&mut self, head: Head, tie: impl Fn(usize, usize) -> Ordering) {
        let mut place = 0;
        loop {
            let left = 2 * place + 1;
            let (child, head) = match (self.heap.get(left), self.heap.get(left + 1)) {
                (Some(one), Some(two)) if is_before(two, one, &tie) => (left + 1, *two),
                (Some(one), _) => (left, *one),
                (None, _) => break,
            };
            self.put(place, head);
            place = child;
        }
        self.rise(place, head, tie);
    }

    /// Puts a head at a place, or above it.
    fn rise(&mut self, mut place: usize, head: Head, tie: impl Fn(usize, usize) -> Ordering) {
        while 0 < place {
            let above = (place - 1) / 2;
            match self.heap.get(above) {
                Some(parent) if is_before(&head, parent, &tie) => self.put(place, *parent),
                Some(_) | None => break,
            }
            place = above;
        }
        self.put(place, head);
    }

    fn put(&mut self, place: usize, head: Head) {
        if let Some(slot) = self.heap.get_mut(place) {
            *slot = head;
        }
    }
}

fn is_before(a: &Head, b: &Head, tie: impl Fn(usize, usize) -> Ordering) -> bool {
    let order = a.word.cmp(&b.word).then_with(|| tie(a.lane, b.lane));
    order == Ordering::Less
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Merges sorted lanes.
    fn merged(lanes: &[Vec<Vec<u8>>], reverse: bool) -> Vec<Vec<u8>> {
        let mut at = vec![0; lanes.len()];
        let mut heads = Heads::with_capacity(lanes.len());
        let mut rows = Vec::new();
        let tie = |at: &[usize], a: usize, b: usize| {
            let order = lanes[a][at[a]].cmp(&lanes[b][at[b]]);
            if reverse { order.reverse() } else { order }
        };
        for (lane, keys) in lanes.iter().enumerate() {
            if let Some(key) = keys.first() {
                heads.push(word(key, reverse), lane, |a, b| tie(&at, a, b));
            }
        }
        while let Some(lane) = heads.first() {
            rows.push(lanes[lane][at[lane]].clone());
            if at[lane] + 1 < lanes[lane].len() {
                at[lane] += 1;
                let word = word(&lanes[lane][at[lane]], reverse);
                heads.replace_first(word, |a, b| tie(&at, a, b));
            } else {
                heads.pop_first(|a, b| tie(&at, a, b));
            }
        }
        rows
    }

    proptest! {
        #[test]
        fn lanes_come_out_in_order(
            // Short ones of few bytes that begin alike, and some longer than a word.
            mut lanes in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(0_u8..3, 0..20), 0..20), 0..20),
            reverse: bool,
        ) {
            for lane in &mut lanes {
                lane.sort();
                if reverse {
                    lane.reverse();
                }
            }
            let mut expected: Vec<Vec<u8>> = lanes.concat();
            expected.sort();
            if reverse {
                expected.reverse();
            }
            prop_assert_eq!(merged(&lanes, reverse), expected);
        }
    }
}
