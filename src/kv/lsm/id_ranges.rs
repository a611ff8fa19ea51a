//! A set of ids of spaces, kept as ranges: spaces that come and go one after the other, as those of temporary tables
//! do, take no memory each.

use std::collections::BTreeMap;

use crate::kv::Space;

/// Ids by ranges: the first of each with its last, both in, and gaps between.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct IdRanges(BTreeMap<u32, u32>);

impl IdRanges {
    pub(super) fn contains(&self, space: Space) -> bool {
        self.has_between(space, space)
    }

    /// Whether one of the ids from this to that is in, both with.
    pub(super) fn has_between(&self, first: Space, last: Space) -> bool {
        // Of those that begin no later than the last, the latest ends last.
        let latest = self.0.range(..=last.0).next_back();
        latest.is_some_and(|(_, to)| first.0 <= *to)
    }

    pub(super) fn insert(&mut self, space: Space) {
        self.insert_range((space.0, space.0));
    }

    /// Adds the ids from this to that, both with.
    pub(super) fn insert_range(&mut self, (mut from, mut to): (u32, u32)) {
        // Each range that it meets, or touches, becomes a part of it.
        while let Some((first, last)) = self.touching(from, to) {
            self.0.remove(&first);
            from = from.min(first);
            to = to.max(last);
        }
        self.0.insert(from, to);
    }

    fn touching(&self, from: u32, to: u32) -> Option<(u32, u32)> {
        let latest = self.0.range(..=to.saturating_add(1)).next_back();
        let (first, last) = latest?;
        (from <= last.saturating_add(1)).then_some((*first, *last))
    }

    /// The ranges, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|(from, to)| (*from, *to))
    }

    /// How many ranges there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn ranges_that_touch_grow_together() {
        let mut ids = IdRanges::default();
        for id in [3, 4, 9, u32::MAX, 1, 5, 8, 0] {
            ids.insert(Space(id));
        }
        let ranges: Vec<(u32, u32)> = ids.iter().collect();
        assert_eq!(ranges, [(0, 1), (3, 5), (8, 9), (u32::MAX, u32::MAX)]);
        ids.insert_range((2, u32::MAX - 1));
        assert_eq!(ids.iter().collect::<Vec<_>>(), [(0, u32::MAX)]);
    }

    #[test]
    fn spaces_that_come_and_go_take_one_range() {
        let mut ids = IdRanges::default();
        for id in 1..100_000 {
            ids.insert(Space(id));
        }
        assert_eq!(ids.len(), 1);
    }

    #[test]
    fn it_is_the_set_of_what_was_added() {
        let seed = rand::random();
        println!("seed {seed}");
        let mut random = StdRng::seed_from_u64(seed);
        let mut ids = IdRanges::default();
        let mut all = BTreeSet::new();
        for _ in 0..300 {
            let from = random.random_range(0..400_u32);
            let to = from + random.random_range(0..3);
            ids.insert_range((from, to));
            all.extend(from..=to);
            let (first, last) = (random.random_range(0..400), random.random_range(0..400));
            let has = first <= last && all.range(first..=last).next().is_some();
            assert_eq!(
                first <= last && ids.has_between(Space(first), Space(last)),
                has
            );
        }
        let found: Vec<u32> = ids.iter().flat_map(|(from, to)| from..=to).collect();
        assert_eq!(found, all.into_iter().collect::<Vec<_>>());
        let gaps = ids.iter().zip(ids.iter().skip(1));
        assert!(gaps.into_iter().all(|((_, to), (from, _))| to + 1 < from));
    }
}
