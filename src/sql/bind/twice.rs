//! Names that are given twice where each may be given once: columns of a query, queries of `WITH`, windows.

use std::collections::HashSet;

/// The first name that one before it is too, whatever its case.
pub(super) fn twice<'n>(mut names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let mut before = HashSet::new();
    names.find(|name| !before.insert(name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::twice;

    #[test]
    fn the_first_that_is_there_again_in_any_case() {
        assert_eq!(twice(["a", "b", "ab"].into_iter()), None);
        assert_eq!(twice(["a", "B", "b", "A"].into_iter()), Some("b"));
    }
}
