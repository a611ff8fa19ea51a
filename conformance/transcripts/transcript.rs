//! The form of a transcript: one command per line, a statement of several lines going on until the next
//! word that begins one.

/// What a client sent.
#[derive(Debug)]
pub(crate) enum Sent {
    /// A new connection begins.
    Hello,
    /// A statement as text.
    Query(String),
    /// A statement to be prepared; it is also run.
    Prepare(String),
    /// Another database is made current.
    InitDb(String),
    /// The columns of a table are asked for.
    FieldList(String),
    /// A command without arguments.
    Bare(u8),
}

/// What begins a line that is no part of a statement.
const HEADS: &[&str] = &[
    "HELLO",
    "sent-but-not-offered:",
    "caps:",
    "AUTH",
    "COM_",
    "-> ",
    "END",
    "PARSEFAIL",
    "UNKNOWN COMMAND",
    "gone before",
];

impl Sent {
    /// The statement, if it is one.
    pub(crate) fn statement(&self) -> Option<&str> {
        match self {
            Sent::Query(text) | Sent::Prepare(text) => Some(text),
            Sent::Hello | Sent::InitDb(_) | Sent::FieldList(_) | Sent::Bare(_) => None,
        }
    }

    /// For people.
    pub(crate) fn shown(&self) -> String {
        match self.statement() {
            Some(text) => text.to_owned(),
            None => format!("{self:?}"),
        }
    }
}

/// Takes a transcript apart.
pub(crate) fn parse(text: &str) -> Vec<Sent> {
    let mut commands: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_head = HEADS.iter().any(|head| line.starts_with(head));
        match commands.last_mut() {
            Some(last) if !is_head => {
                last.push('\n');
                last.push_str(line);
            }
            _ => commands.push(line.to_owned()),
        }
    }
    commands
        .iter()
        .filter_map(|command| sent(command))
        .collect()
}

fn sent(command: &str) -> Option<Sent> {
    let (word, rest) = command.split_once([' ', '\n']).unwrap_or((command, ""));
    Some(match word {
        "HELLO" | "caps:" => Sent::Hello,
        "COM_QUERY" => Sent::Query(rest.to_owned()),
        "COM_STMT_PREPARE" => Sent::Prepare(rest.to_owned()),
        "COM_INIT_DB" => Sent::InitDb(rest.to_owned()),
        "COM_FIELD_LIST" => Sent::FieldList(rest.trim_matches('"').replace("\\0", "")),
        "COM_STATISTICS" => Sent::Bare(0x09),
        "COM_PING" => Sent::Bare(0x0E),
        "COM_RESET_CONNECTION" => Sent::Bare(0x1F),
        _ => return None,
    })
}
