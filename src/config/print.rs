//! The table of options as `--help`, as a section of the README and as a sample file.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use super::options::{self, ALL, Kind, Spec};

/// The parser of the command line.
pub(super) fn command() -> Command {
    let mut command = Command::new("meseta")
        .version(env!("CARGO_PKG_VERSION"))
        .about(
            "A SQL wide-table server: the MySQL protocol over rows ordered by primary key.\n\
             Each option can also be given as MESETA_<NAME> in the environment or as <name> in \
             the --config file.",
        )
        .after_help(super::command::HELP)
        .max_term_width(100);
    for spec in ALL {
        command = command.arg(argument(spec));
    }
    for (name, help) in [
        (
            options::PRINT_CONFIG_SAMPLE,
            "Print a sample --config file and end",
        ),
        (
            options::PRINT_OPTIONS_MARKDOWN,
            "Print the options as a Markdown table and end",
        ),
    ] {
        let flag = Arg::new(name)
            .long(name)
            .help(help)
            .action(ArgAction::SetTrue);
        command = command.arg(flag);
    }
    command
}

fn argument(spec: &Spec) -> Arg {
    let default = match spec.default {
        "" => String::new(),
        default => format!(" [default: {default}]"),
    };
    let argument = Arg::new(spec.name)
        .long(spec.name)
        .help(format!("{}{default}", spec.help))
        .help_heading(spec.section)
        .value_name(spec.kind.placeholder());
    match spec.kind {
        Kind::Switch => argument
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true"),
        Kind::Address
        | Kind::Path
        | Kind::Choice(_)
        | Kind::Number { .. }
        | Kind::Bytes
        | Kind::Secret
        | Kind::Text => argument,
    }
}

/// What follows the name on the command line. A switch may stand alone, so its value needs the sign.
fn written(kind: Kind) -> String {
    let placeholder = kind.placeholder();
    if matches!(kind, Kind::Switch) {
        return format!("[={placeholder}]");
    }
    format!(" {placeholder}")
}

/// The options as Markdown, for the README.
pub fn markdown() -> String {
    let mut text =
        String::from("| option | environment | default | meaning |\n|---|---|---|---|\n");
    for spec in ALL {
        let default = match spec.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        let value = written(spec.kind).replace('|', "\\|");
        let (name, variable, help) = (spec.name, spec.variable(), spec.help);
        let row = format!("| `--{name}{value}` | `{variable}` | {default} | {help} |");
        text.push_str(&row);
        text.push('\n');
    }
    text
}

/// A file for `--config` in which everything is a comment.
pub fn sample() -> String {
    let mut text = String::from("# Options of meseta. Uncomment what is to differ.\n");
    let mut section = "";
    for spec in ALL.iter().filter(|spec| spec.name != options::CONFIG) {
        if spec.section != section {
            section = spec.section;
            let _ = write!(text, "\n# {section}\n");
        }
        let quote = if spec.kind.is_bare() { "" } else { "\"" };
        let (name, default, help) = (spec.name, spec.default, spec.help);
        let _ = write!(text, "\n# {help}.\n# {name} = {quote}{default}{quote}\n");
    }
    text
}
