//! Draws a tree of steps: what feeds a step stands below it, further to the right.

/// Blanks by which a step stands right of the one that it feeds.
const INDENT: usize = 4;

/// A step and what feeds it.
pub(super) struct Node {
    /// What it does; the first line has the mark.
    pub(super) lines: Vec<String>,
    /// What feeds it.
    pub(super) feeds: Vec<Node>,
}

impl Node {
    pub(super) fn new(line: impl Into<String>, feeds: Vec<Node>) -> Node {
        Node {
            lines: vec![line.into()],
            feeds,
        }
    }

    /// The node, fed by one other.
    pub(super) fn over(line: impl Into<String>, feed: Node) -> Node {
        Node::new(line, vec![feed])
    }

    /// A step per list of lines, each fed by the one before it.
    pub(super) fn chain(steps: Vec<Vec<String>>) -> Option<Node> {
        let mut last = None;
        for lines in steps {
            let feeds = last.take().into_iter().collect();
            last = Some(Node { lines, feeds });
        }
        last
    }

    /// Adds to the first line.
    pub(super) fn note(&mut self, text: &str) {
        if let Some(first) = self.lines.first_mut() {
            first.push_str(text);
        }
    }

    /// Writes it at this depth.
    pub(super) fn draw(&self, depth: usize, lines: &mut Vec<String>) {
        let indent = " ".repeat(depth * INDENT);
        for (at, line) in self.lines.iter().enumerate() {
            let mark = if at == 0 { "-> " } else { "   " };
            lines.push(format!("{indent}{mark}{line}"));
        }
        for feed in &self.feeds {
            feed.draw(depth + 1, lines);
        }
    }
}
