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
    assert_eq!(catalogue::nearest("concatt"), "CONCAT");
    assert_eq!(catalogue::nearest("lenght"), "LENGTH");
    assert_eq!(catalogue::nearest("stdev"), "STDDEV");
    assert_eq!(catalogue::nearest("elephant"), "");
}

#[test]
fn no_name_is_there_twice() {
    for pair in all().windows(2) {
        assert_ne!(pair[0].name, pair[1].name);
    }
}

/// Names between commas; what stands in brackets may be left out, `...` repeats without end. Forms
/// with a grammar of their own say what may be written, not what is passed.
#[test]
fn arguments_shown_are_those_accepted() {
    const GRAMMAR: &[&str] = &[
        "EXTRACT",
        "POSITION",
        "TRIM",
        "LTRIM",
        "RTRIM",
        "WEIGHT_STRING",
        "JSON_VALUE",
        "GET_FORMAT",
    ];
    for function in all().iter().filter(|known| !GRAMMAR.contains(&known.name)) {
        let shown = function.arguments;
        let repeats = shown.contains("...");
        assert_eq!(function.args_max.is_none(), repeats, "{}", function.name);
        let (required, optional) = shown.split_at(shown.find('[').unwrap_or(shown.len()));
        let names = |text: &str| {
            let names = text.split([',', '[', ']']).map(str::trim);
            names
                .filter(|name| !name.is_empty() && *name != "...")
                .count()
        };
        let least = names(required) + usize::from(function.name == "LOG");
        assert_eq!(function.args_min, least, "{}({shown})", function.name);
        if let Some(most) = function.args_max {
            assert_eq!(
                most,
                names(required) + names(optional),
                "{}({shown})",
                function.name
            );
        }
    }
}

#[test]
fn the_page_lists_every_function() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/functions.md");
    let page = catalogue::page();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page,
        "docs/functions.md is old: UPDATE_GOLDENS=1 writes it anew"
    );
}

#[test]
fn who_wants_room_is_named_only_when_it_is_refused() {
    for bytes in [0, DRIPPED_BYTES_MIN, ASKED_BYTES_MIN - 1] {
        let found = room(bytes, || panic!("{bytes} bytes were refused"));
        assert!(found.is_ok());
    }
}
