//! The protocol in every order of its steps, and the limits.

use std::collections::BTreeMap;

use super::*;

const BIG: u64 = 64 << 20;

fn value(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn offer(cache: &RowCache, place: &Place<'_>, (value, read): (Option<&Bytes>, Ts)) {
    cache.offer(place, &Row::new(place, value.map(Bytes::as_ref), read));
}

/// What happens between two locks, so what other threads can come between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The committer: raise the fence of a key and remove it.
    Forget(usize),
    /// The committer: show a base with a new value of both keys.
    Show,
    /// A reader takes the newest base.
    Take(usize),
    /// It asks the cache, and the tree when it must.
    Read(usize),
    /// It offers what it read from the tree.
    Offer(usize),
}

/// Two commits that both write keys 0 and 1.
const COMMITS: [Step; 6] = [
    Step::Forget(0),
    Step::Forget(1),
    Step::Show,
    Step::Forget(1),
    Step::Forget(0),
    Step::Show,
];

/// What a reader does: one that is slow, and one that reads again at its old base.
const READERS: [&[Step]; 2] = [
    &[Step::Take(0), Step::Read(0), Step::Offer(0)],
    &[Step::Take(1), Step::Read(1), Step::Offer(1), Step::Read(1)],
];

/// The key of each reader: the same one for both in one run, a different one in another.
type Keys = [usize; 2];

/// A value or none.
type Found = Option<Bytes>;

struct Reader {
    base: Ts,
    /// What it read, if it had to ask the tree.
    read: Option<Found>,
}

struct World<'a> {
    cache: &'a RowCache,
    names: [String; 2],
    keys: Keys,
    /// Values of both keys by the base that first shows them.
    shown: BTreeMap<Ts, Option<Bytes>>,
    readers: [Reader; 2],
    hits: u64,
}

impl World<'_> {
    fn newest(&self) -> Ts {
        *self.shown.last_key_value().unwrap().0
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Forget(key) => {
                let place = self.cache.place(self.names[key].as_bytes());
                self.cache.forget(&place, Ts(self.newest().0 + 1));
            }
            Step::Show => {
                // The storage library's times may jump.
                let ts = Ts(self.newest().0 + 3);
                let text = format!("at {ts:?}");
                self.shown.insert(ts, Some(value(&text)));
            }
            Step::Take(reader) => self.readers[reader].base = self.newest(),
            Step::Read(reader) => {
                let base = self.readers[reader].base;
                let place = self.cache.place(self.names[self.keys[reader]].as_bytes());
                let row = self.cache.get(&place, base);
                self.hits += u64::from(row.is_some());
                let right = self.shown[&base].clone();
                self.readers[reader].read = row.is_none().then(|| right.clone());
                if let Some(row) = row {
                    assert_eq!(row.into_value(), right);
                }
            }
            Step::Offer(reader) => {
                let Reader { base, read } = &self.readers[reader];
                let place = self.cache.place(self.names[self.keys[reader]].as_bytes());
                if let Some(read) = read {
                    offer(self.cache, &place, (read.as_ref(), *base));
                }
            }
        }
        self.check();
    }

    /// Whoever reads now, at whatever base, gets the value of that base or none.
    fn check(&self) {
        for name in &self.names {
            let place = self.cache.place(name.as_bytes());
            for (base, right) in &self.shown {
                let mut check = |row: Option<Row>| {
                    if let Some(row) = row {
                        assert_eq!(&row.into_value(), right, "{name} at {base:?}");
                    }
                };
                check(self.cache.get(&place, *base));
                self.cache.get_all(&[place], *base, &mut check);
            }
        }
    }
}

/// Every way to put the three sequences into one.
fn orders(rests: [&[Step]; 3], so_far: &mut Vec<Step>, visit: &mut impl FnMut(&[Step])) {
    if rests.iter().all(|rest| rest.is_empty()) {
        return visit(so_far);
    }
    for of in 0..rests.len() {
        if let Some((first, rest)) = rests[of].split_first() {
            let mut rests = rests;
            rests[of] = rest;
            so_far.push(*first);
            orders(rests, so_far, visit);
            so_far.pop();
        }
    }
}

#[test]
fn in_every_order_each_base_gets_its_own_value() {
    for keys in [[0, 0], [0, 1]] {
        let cache = RowCache::new(BIG);
        let (mut runs, mut hits, mut start) = (0, 0, Ts(10));
        orders(
            [&COMMITS, READERS[0], READERS[1]],
            &mut Vec::new(),
            &mut |order| {
                let mut world = World {
                    cache: &cache,
                    names: [format!("{runs} a"), format!("{runs} b")],
                    keys,
                    shown: BTreeMap::from([(start, None)]),
                    readers: [(); 2].map(|()| Reader {
                        base: start,
                        read: None,
                    }),
                    hits: 0,
                };
                for step in order {
                    world.step(*step);
                }
                runs += 1;
                hits += world.hits;
                start = Ts(world.newest().0 + 1);
            },
        );
        assert_eq!(runs, 60_060);
        assert!(1000 < hits, "{hits} hits: the orders show nothing");
    }
}

#[test]
fn an_old_reader_may_fill_and_use_what_has_not_changed() {
    let cache = RowCache::new(BIG);
    let (same, changed) = (cache.place(b"same"), cache.place(b"changed"));
    cache.forget(&changed, Ts(20));
    offer(&cache, &same, (Some(&value("s")), Ts(5)));
    assert_eq!(
        cache.get(&same, Ts(4)).unwrap().into_value(),
        Some(value("s"))
    );
    offer(&cache, &changed, (Some(&value("old")), Ts(19)));
    assert!(cache.get(&changed, Ts(25)).is_none());
    offer(&cache, &changed, (Some(&value("new")), Ts(23)));
    assert!(cache.get(&changed, Ts(19)).is_none());
    assert_eq!(
        cache.get(&changed, Ts(20)).unwrap().into_value(),
        Some(value("new"))
    );
}

/// What has ended goes without a commit.
#[test]
fn what_is_not_there_may_have_been_there_before() {
    let cache = RowCache::new(BIG);
    let key = cache.place(b"k");
    offer(&cache, &key, (None, Ts(23)));
    assert!(cache.get(&key, Ts(22)).is_none());
    assert_eq!(cache.get(&key, Ts(23)).unwrap().into_value(), None);
}

#[test]
fn a_stopped_cache_is_empty_and_stays_so() {
    let cache = RowCache::new(BIG);
    let key = cache.place(b"k");
    offer(&cache, &key, (Some(&value("v")), Ts(5)));
    cache.stop();
    assert!(cache.get(&key, Ts(5)).is_none());
    cache.forget(&key, Ts(6));
    offer(&cache, &key, (Some(&value("v")), Ts(9)));
    assert!(cache.get(&key, Ts(9)).is_none());
}

#[test]
fn memory_is_bounded_and_large_values_stay_outside() {
    let cache = RowCache::new(1 << 20);
    let kept = Bytes::from(vec![b'v'; VALUE_BYTES_MAX]);
    let large = Bytes::from(vec![b'v'; VALUE_BYTES_MAX + 1]);
    for (text, bytes, is_kept) in [(b"l", large, false), (b"k", kept, true)] {
        let place = cache.place(text);
        offer(&cache, &place, (Some(&bytes), Ts(1)));
        assert_eq!(cache.get(&place, Ts(1)).is_some(), is_kept);
    }
    for number in 0..20_000u32 {
        let key = format!("{number:08}");
        offer(
            &cache,
            &cache.place(key.as_bytes()),
            (Some(&value(&key)), Ts(1)),
        );
    }
    assert!(cache.bytes().0 <= 1 << 20);
    assert!(1000 < cache.rows.len());
    let off = RowCache::new(0);
    offer(&off, &off.place(b"k"), (None, Ts(1)));
    assert!(off.get(&off.place(b"k"), Ts(1)).is_none());
}

#[test]
fn many_at_once_are_what_each_of_them_is() {
    let cache = RowCache::new(BIG);
    let keys: Vec<String> = (0..500).map(|number| format!("key {number}")).collect();
    for (number, key) in keys
        .iter()
        .enumerate()
        .filter(|(number, _)| number % 3 != 0)
    {
        let found = (number % 5 != 0).then(|| value(key));
        offer(
            &cache,
            &cache.place(key.as_bytes()),
            (found.as_ref(), Ts(5)),
        );
    }
    let places: Vec<Place<'_>> = keys.iter().map(|key| cache.place(key.as_bytes())).collect();
    for many in [1, 2, 7, TOGETHER_MAX, 500] {
        for (together, ts) in places
            .chunks(many)
            .flat_map(|some| [(some, Ts(5)), (some, Ts(4))])
        {
            let one_by_one = together.iter().map(|place| cache.get(place, ts));
            let one_by_one: Vec<_> = one_by_one.map(|row| row.map(Row::into_value)).collect();
            let before = cache.hits_and_misses();
            let mut found = Vec::new();
            cache.get_all(together, ts, |row| found.push(row.map(Row::into_value)));
            assert_eq!(found, one_by_one);
            let hits = found.iter().flatten().count() as u64;
            let misses = found.len() as u64 - hits;
            assert_eq!(
                cache.hits_and_misses(),
                (before.0 + hits, before.1 + misses)
            );
        }
    }
}

/// Threads that look for many rows hold many locks; nobody waits for anybody for ever.
#[test]
fn threads_that_look_for_many_do_not_wait_for_each_other_for_ever() {
    let cache = RowCache::new(BIG);
    let keys: Vec<String> = (0..4000).map(|number| format!("key {number}")).collect();
    std::thread::scope(|threads| {
        for thread in 0..6 {
            let (cache, keys) = (&cache, &keys);
            threads.spawn(move || {
                for round in 0..4000 {
                    let start = (round * 37 + thread * 611) % 3900;
                    let places = keys[start..start + 32].iter();
                    let mut places: Vec<_> =
                        places.map(|key| cache.place(key.as_bytes())).collect();
                    if thread % 2 == 0 {
                        places.reverse();
                    }
                    let mut found = 0;
                    cache.get_all(&places, Ts(u64::MAX - 1), |row| {
                        found += 1;
                        let Some(row) = row else { return };
                        assert!(
                            row.into_value()
                                .is_some_and(|value| value.starts_with(b"key "))
                        );
                    });
                    assert_eq!(found, 32);
                    let (one, other) = (places[0], places[31]);
                    let ts = Ts(round as u64);
                    cache.forget(&one, ts);
                    offer(cache, &other, (Some(&value(&keys[start])), Ts(5000)));
                }
            });
        }
    });
}

#[test]
fn what_is_asked_for_stays_however_it_is_asked_for() {
    let cache = RowCache::new(1 << 20);
    let keys: Vec<String> = (0..40_000).map(|number| format!("{number:08}")).collect();
    let places: Vec<Place<'_>> = keys.iter().map(|key| cache.place(key.as_bytes())).collect();
    let (wanted, others) = places.split_at(40);
    for place in wanted {
        offer(&cache, place, (Some(&value("wanted")), Ts(1)));
    }
    for other in others {
        offer(&cache, other, (Some(&value("other")), Ts(1)));
        let (alone, together) = wanted.split_at(20);
        assert!(alone.iter().all(|place| cache.get(place, Ts(1)).is_some()));
        cache.get_all(together, Ts(1), |row| assert!(row.is_some()));
    }
    assert!(cache.get(&others[0], Ts(1)).is_none());
}
