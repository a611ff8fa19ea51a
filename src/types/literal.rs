//! Values as they are spelt in statements and definitions that are printed to be read again.

/// A string literal, as MySQL prints one: to be read without `NO_BACKSLASH_ESCAPES`.
pub fn string_literal(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => literal.push_str("''"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\0' => literal.push_str("\\0"),
            other => literal.push(other),
        }
    }
    literal.push('\'');
    literal
}
