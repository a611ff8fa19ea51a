//! Prometheus' text format: families of numbers, each with its HELP and its TYPE. Source: Prometheus
//! documentation, "Exposition formats".

use std::fmt::{Display, Write};

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

impl Type {
    /// By its name: what only grows is called so.
    pub(super) fn of(name: &str) -> Type {
        if name.ends_with("_total") {
            Type::Counter
        } else {
            Type::Gauge
        }
    }

    fn name(self) -> &'static str {
        match self {
            Type::Counter => "counter",
            Type::Gauge => "gauge",
            Type::Histogram => "histogram",
        }
    }
}

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    /// The family that was begun last.
    family: String,
}

impl Page {
    /// Begins a family, unless it was begun last.
    pub(super) fn family(&mut self, name: &str, ty: Type, help: &str) {
        if self.family == name {
            return;
        }
        name.clone_into(&mut self.family);
        let (help, ty) = (escaped(help, false), ty.name());
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {ty}");
    }

    /// A number of the family, with these labels. `part` is put behind the family's name.
    pub(super) fn sample(&mut self, part: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(&self.family);
        self.text.push_str(part);
        for (idx, (name, value)) in labels.iter().enumerate() {
            let open = if idx == 0 { '{' } else { ',' };
            let value = escaped(value, true);
            let _ = write!(self.text, "{open}{name}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }

    /// A family of one number.
    pub(super) fn one(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, Type::of(name), help);
        self.sample("", &[], value);
    }

    /// The page.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

fn escaped(text: &str, is_quoted: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if is_quoted {
        text.replace('"', "\\\"")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_one_head_and_labels_are_escaped() {
        let mut page = Page::default();
        page.one("a_total", "All \\ of\nthem.", 1);
        page.family("b", Type::Gauge, "Some.");
        page.sample("", &[("c", "d\"e\\f\n"), ("g", "")], 1.5);
        page.family("b", Type::Gauge, "Some.");
        page.sample("", &[("c", "h")], 2);
        let expected = "\
# HELP a_total All \\\\ of\\nthem.
# TYPE a_total counter
a_total 1
# HELP b Some.
# TYPE b gauge
b{c=\"d\\\"e\\\\f\\n\",g=\"\"} 1.5
b{c=\"h\"} 2
";
        assert_eq!(page.into_text(), expected);
    }
}
