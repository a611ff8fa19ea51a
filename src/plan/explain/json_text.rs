//! A JSON document with its members in the order given, indented as MySQL does.

/// A JSON value.
pub(super) enum Json {
    /// A string.
    Text(String),
    /// A whole number.
    Number(u64),
    /// `true` or `false`.
    Bool(bool),
    /// A list.
    List(Vec<Json>),
    /// Members in the order shown.
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// A string.
    pub(super) fn text(text: impl Into<String>) -> Json {
        Json::Text(text.into())
    }

    /// The document.
    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    fn write(&self, depth: usize, out: &mut String) {
        match self {
            Json::Text(text) => write_text(text, out),
            Json::Number(number) => out.push_str(&number.to_string()),
            Json::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Json::List(list) => write_block(('[', ']'), list.len(), depth, out, |at, out| {
                if let Some(item) = list.get(at) {
                    item.write(depth + 1, out);
                }
            }),
            Json::Object(members) => {
                write_block(('{', '}'), members.len(), depth, out, |at, out| {
                    if let Some((name, value)) = members.get(at) {
                        write_text(name, out);
                        out.push_str(": ");
                        value.write(depth + 1, out);
                    }
                });
            }
        }
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[expect(
    clippy::too_many_arguments,
    reason = "one shape for lists and objects, with how to write an item last"
)]
fn write_block(
    (open, close): (char, char),
    count: usize,
    depth: usize,
    out: &mut String,
    item: impl Fn(usize, &mut String),
) {
    out.push(open);
    for at in 0..count {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        item(at, out);
    }
    if 0 < count {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}
