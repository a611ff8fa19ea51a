//! Of the registry.

use super::*;

#[test]
fn names_are_found_in_any_case() {
    for function in all() {
        assert_eq!(find(function.name).unwrap().name, function.name);
        assert_eq!(
            find(&function.name.to_ascii_lowercase()).unwrap().name,
            function.name
        );
        assert!(function.doc.ends_with('.'), "{}", function.name);
        assert!(function.accepts(function.args_min));
    }
    assert!(find("NO_SUCH").is_none());
    assert_eq!(nearest("concatt"), "CONCAT");
    assert_eq!(nearest("lenght"), "LENGTH");
}

#[test]
fn no_name_is_there_twice() {
    for pair in all().windows(2) {
        assert_ne!(pair[0].name, pair[1].name);
    }
}
