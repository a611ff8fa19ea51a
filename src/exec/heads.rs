//! Which of several ordered lanes has the next row: a tree of losers.
//!
//! Each inner node keeps the loser of the match that was played there, and the winner of all is known. When
//! that lane goes on, its next row plays against the losers on its way to the root, and no other match is
//! another one (Knuth, "The Art of Computer Programming" 3, section 5.4.1). A head holds the beginning of its
//! key as a number, so that most matches look at no page. This file is hot: one way up per row of a merge,
//! and who wins is as good as chance, so that the processor is given nothing to guess.

use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// Bytes of a key in the word of its head.
const WORD_BYTES: usize = size_of::<u128>();
/// The word of a lane that has no further row, and of a row that may be the last.
const LAST: u128 = u128::MAX;

/// The beginning of a key as a number that is ordered as the key, or against it. Where two are equal, the
/// keys themselves must be compared.
#[expect(
    clippy::big_endian_bytes,
    reason = "numbers are to be ordered as the bytes they are made of"
)]
pub(super) fn word(key: &[u8], reverse: bool) -> u128 {
    let mut bytes = [0; WORD_BYTES];
    let len = key.len().min(WORD_BYTES);
    if let (Some(word), Some(begin)) = (bytes.get_mut(..len), key.get(..len)) {
        word.copy_from_slice(begin);
    }
    let word = u128::from_be_bytes(bytes);
    if reverse { !word } else { word }
}

/// The next row of a lane.
#[derive(Debug, Clone, Copy)]
struct Head {
    word: u128,
    lane: usize,
}

/// The heads of lanes. `tie` orders two lanes whose words are equal, those that are at their end last.
#[derive(Debug)]
pub(super) struct Heads {
    /// The head that each begins with.
    lanes: Vec<Head>,
    /// The loser of each match, from 1 on: the children of `i` are `2 i` and `2 i + 1`, and behind the matches
    /// stand the lanes. Empty as long as none was played.
    losers: Vec<Head>,
    winner: Head,
    /// Lanes that are at their end.
    ended: usize,
}

impl Heads {
    /// Of so many lanes. Each says what it begins with, or that it is at its end, before the first match.
    pub(super) fn new(lanes: usize) -> Heads {
        let head = |lane| Head { word: LAST, lane };
        Heads {
            lanes: (0..lanes).map(head).collect(),
            losers: Vec::new(),
            winner: head(0),
            ended: 0,
        }
    }

    /// The lane whose row comes first; `None` when all are at their end.
    pub(super) fn first(&self) -> Option<usize> {
        (self.ended < self.lanes.len()).then_some(self.winner.lane)
    }

    /// A lane goes on with a row that has this word: the one that was first, or any before the first match.
    pub(super) fn set(&mut self, lane: usize, word: u128, tie: impl Fn(usize, usize) -> Ordering) {
        let head = Head { word, lane };
        if self.losers.is_empty() {
            put(&mut self.lanes, lane, head);
        } else {
            self.rise(head, tie);
        }
    }

    /// A lane has no further row: as [`Heads::set`].
    pub(super) fn end(&mut self, lane: usize, tie: impl Fn(usize, usize) -> Ordering) {
        self.ended += 1;
        self.set(lane, LAST, tie);
    }

    /// Plays all matches, unless they were played.
    pub(super) fn play(&mut self, tie: impl Fn(usize, usize) -> Ordering) {
        if !self.losers.is_empty() {
            return;
        }
        // Both children of a match stand behind it.
        let mut winners = self.lanes.clone();
        winners.extend_from_slice(&self.lanes);
        self.losers.clone_from(&self.lanes);
        for at in (1..self.lanes.len()).rev() {
            let (Some(one), Some(two)) = (winners.get(2 * at), winners.get(2 * at + 1)) else {
                continue;
            };
            let (winner, loser) = if is_before(two, one, &tie) {
                (*two, *one)
            } else {
                (*one, *two)
            };
            put(&mut winners, at, winner);
            put(&mut self.losers, at, loser);
        }
        if let Some(winner) = winners.get(1) {
            self.winner = *winner;
        }
    }

    /// Plays the matches between a lane and the root.
    fn rise(&mut self, head: Head, tie: impl Fn(usize, usize) -> Ordering) {
        let mut best = head;
        let mut at = usize::midpoint(self.lanes.len(), head.lane);
        while 0 < at
            && let Some(loser) = self.losers.get_mut(at)
        {
            let loses = is_before(loser, &best, &tie);
            let other = *loser;
            loser.word = select_unpredictable(loses, best.word, other.word);
            loser.lane = select_unpredictable(loses, best.lane, other.lane);
            best.word = select_unpredictable(loses, other.word, best.word);
            best.lane = select_unpredictable(loses, other.lane, best.lane);
            at /= 2;
        }
        self.winner = best;
    }
}

fn put(heads: &mut [Head], at: usize, head: Head) {
    if let Some(place) = heads.get_mut(at) {
        *place = head;
    }
}

#[inline]
fn is_before(a: &Head, b: &Head, tie: impl Fn(usize, usize) -> Ordering) -> bool {
    if a.word == b.word {
        return tie(a.lane, b.lane) == Ordering::Less;
    }
    a.word < b.word
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Merges sorted lanes.
    fn merged(lanes: &[Vec<Vec<u8>>], reverse: bool) -> Vec<Vec<u8>> {
        let mut at = vec![0; lanes.len()];
        let mut heads = Heads::new(lanes.len());
        let mut rows = Vec::new();
        let tie = |at: &[usize], a: usize, b: usize| {
            let (a, b) = (lanes[a].get(at[a]), lanes[b].get(at[b]));
            match (a, b) {
                (Some(a), Some(b)) if reverse => b.cmp(a),
                (Some(a), Some(b)) => a.cmp(b),
                (a, b) => a.is_none().cmp(&b.is_none()),
            }
        };
        let go_on = |heads: &mut Heads, at: &[usize], lane: usize| {
            let tie = |a: usize, b: usize| tie(at, a, b);
            match lanes[lane].get(at[lane]) {
                Some(key) => heads.set(lane, word(key, reverse), tie),
                None => heads.end(lane, tie),
            }
        };
        for lane in 0..lanes.len() {
            go_on(&mut heads, &at, lane);
        }
        heads.play(|a, b| tie(&at, a, b));
        while let Some(lane) = heads.first() {
            rows.push(lanes[lane][at[lane]].clone());
            at[lane] += 1;
            go_on(&mut heads, &at, lane);
        }
        rows
    }

    proptest! {
        #[test]
        fn lanes_come_out_in_order(
            // Short ones of few bytes that begin alike, and some longer than a word; the last word there is.
            mut lanes in prop::collection::vec(
                prop::collection::vec(prop_oneof![
                    9 => prop::collection::vec(0_u8..3, 0..20),
                    1 => prop::collection::vec(255_u8.., 14..20),
                ], 0..20), 0..20),
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

        #[test]
        fn words_are_ordered_as_keys(a: Vec<u8>, b: Vec<u8>) {
            let order = word(&a, false).cmp(&word(&b, false));
            prop_assert!(order.is_eq() || order == a.cmp(&b));
            prop_assert_eq!(order.reverse(), word(&a, true).cmp(&word(&b, true)));
        }
    }
}
