//! Rows of several batches in an order of their own, as a merge finds them: none is copied.

use std::sync::Arc;

use super::view::Batch;

/// A list of places in batches. Whoever puts it together says which batches those are.
#[derive(Debug, Default)]
pub struct Woven {
    batches: Vec<Arc<Batch>>,
    places: Vec<Place>,
    bytes: usize,
}

/// Where a row is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// In `batches`.
    batch_idx: u32,
    /// In the batch.
    row_idx: u32,
}

impl Woven {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Bytes of the keys and values, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Key and value of the n-th row.
    pub fn get(&self, row_idx: usize) -> Option<(&[u8], &[u8])> {
        let place = self.places.get(row_idx)?;
        let batch = self.batches.get(place.batch_idx as usize)?;
        batch.unwoven(place.row_idx as usize)
    }

    /// Adds a batch, and says how [`Woven::push`] calls it; `None` when there are too many for that.
    pub(super) fn add(&mut self, batch: Arc<Batch>) -> Option<u32> {
        let batch_idx = u32::try_from(self.batches.len()).ok()?;
        self.batches.push(batch);
        Some(batch_idx)
    }

    /// Adds a row of a batch, of about so many bytes. False, and nothing added, when its place is beyond what
    /// can be said.
    pub(super) fn push(&mut self, batch_idx: u32, (row_idx, bytes): (usize, usize)) -> bool {
        let Ok(row_idx) = u32::try_from(row_idx) else {
            return false;
        };
        self.bytes += bytes;
        self.places.push(Place { batch_idx, row_idx });
        true
    }

    /// Takes all rows out, keeps the memory of their places, and gives the batches that nobody else has.
    pub(super) fn unravel(&mut self) -> impl Iterator<Item = Batch> {
        self.places.clear();
        self.bytes = 0;
        self.batches.drain(..).filter_map(Arc::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::kv::Page;

    fn row(woven: &Woven, row_idx: usize) -> Option<(&str, &str)> {
        let (key, value) = woven.get(row_idx)?;
        Some((str::from_utf8(key).ok()?, str::from_utf8(value).ok()?))
    }

    #[test]
    fn rows_come_in_their_own_order_and_batches_come_back() {
        let mut page = Page::default();
        assert!(page.push(b"a", b"1") && page.push(b"c", b"333"));
        let page = Arc::new(Batch::Page(page));
        let rows = vec![(b"b".to_vec(), Bytes::from_static(b"22"))];
        let mut woven = Woven::default();
        let of_page = woven.add(Arc::clone(&page)).unwrap();
        let of_rows = woven.add(Arc::new(Batch::Rows(rows))).unwrap();
        for place in [(of_page, (0, 2)), (of_rows, (0, 3)), (of_page, (1, 4))] {
            assert!(woven.push(place.0, place.1));
        }
        let found = [0, 1, 2, 3].map(|row_idx| row(&woven, row_idx));
        let rows = [("a", "1"), ("b", "22"), ("c", "333")].map(Some);
        assert_eq!(found, [rows[0], rows[1], rows[2], None]);
        assert_eq!((woven.len(), woven.bytes()), (3, 9));
        // The page is held here too.
        assert_eq!(
            woven.unravel().map(|batch| batch.len()).collect::<Vec<_>>(),
            [1]
        );
        assert!(woven.is_empty() && woven.bytes() == 0 && row(&woven, 0).is_none());
    }
}
