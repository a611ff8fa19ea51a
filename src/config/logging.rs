//! Where the log goes and how it looks: lines for people, or one JSON object a line for programs.
//!
//! JSON is written here, since all that is needed is an object of a moment, a level, a module and the
//! fields of an event: `tracing-subscriber` would bring two crates for it.

use std::fmt;
use std::io::{self, IsTerminal};
use std::panic::{set_hook, take_hook};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{DefaultFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// How a line of the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// An object of JSON.
    Json,
}

/// Logs to standard error what the filter lets pass.
pub(super) fn start(filter: &str, format: LogFormat) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(io::stderr)
        // Where a line cannot be written (the terminal is closed, the disk is full) no line of that can be either,
        // and `eprintln!`, by which it would be, panics.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => builder.fmt_fields(OneLine).init(),
        LogFormat::Json => {
            builder.event_format(Json).init();
            log_panics();
        }
    }
}

/// From now on a panic is an event, which says where and of what, without a backtrace: the program's own lines about it
/// are no objects. Where no error is logged they are there as before.
fn log_panics() {
    let plain = take_hook();
    set_hook(Box::new(move |info| {
        if tracing::enabled!(tracing::Level::ERROR) {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or_default();
            tracing::error!(panic = %info, thread = name, "a thread panicked");
        } else {
            plain(info);
        }
    }));
}

/// Writes the fields of events as they come, and control characters as `\n` or `\u{1b}`: what is told of may be a
/// name or a text of a client, who must not begin a line of the log or speak to a terminal.
struct OneLine;

impl<'w> FormatFields<'w> for OneLine {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = String::new();
        DefaultFields::new().format_fields(Writer::new(&mut line), fields)?;
        for part in line.split_inclusive(char::is_control) {
            let ends = part.chars().next_back();
            match ends.filter(|last| last.is_control()) {
                Some(last) => {
                    let before = part.strip_suffix(last).unwrap_or(part);
                    write!(writer, "{before}{}", last.escape_default())?;
                }
                None => writer.write_str(part)?,
            }
        }
        Ok(())
    }
}

/// Writes events as objects of JSON.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let about = event.metadata();
        let mut line = Map::new();
        let mut put = |name: &str, value: String| line.insert(name.to_owned(), value.into());
        put("timestamp", format!("{:.6}", Timestamp::now()));
        put("level", about.level().to_string());
        put("target", about.target().to_owned());
        for (name, value) in fields.0 {
            // A field of one of the names above would be the second of that name.
            let is_taken = line.contains_key(&name);
            let name = if is_taken { format!("{name}_") } else { name };
            line.insert(name, value);
        }
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// Takes down the fields of an event.
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tracing_subscriber::fmt::MakeWriter;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Lines;

        fn make_writer(&self) -> Lines {
            self.clone()
        }
    }

    /// Whatever an index is named.
    #[test]
    fn an_event_is_one_line_of_text() {
        let lines = Lines::default();
        let logs = tracing_subscriber::fmt()
            .with_writer(lines.clone())
            .with_ansi(false)
            .fmt_fields(OneLine)
            .finish();
        tracing::subscriber::with_default(logs, || {
            let name = "i\n2026-01-01T00:00:00Z ERROR forged\u{1b}[2J";
            tracing::warn!(index = %name, id = 7, "it failed");
        });
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        assert_eq!(text.matches(char::is_control).collect::<Vec<_>>(), ["\n"]);
        assert!(text.ends_with('\n'));
        let told = "it failed index=i\\n2026-01-01T00:00:00Z ERROR forged\\u{1b}[2J id=7";
        assert!(text.contains(told), "{text}");
    }

    /// The lines that something logs, as objects.
    fn objects_of(run: impl FnOnce()) -> Vec<Value> {
        let lines = Lines::default();
        let logs = tracing_subscriber::fmt()
            .with_writer(lines.clone())
            .event_format(Json)
            .finish();
        tracing::subscriber::with_default(logs, run);
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        let objects = text.lines().map(serde_json::from_str);
        objects.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn each_line_is_an_object() {
        let objects = objects_of(|| {
            tracing::warn!(id = 7, level = "x", "a \"quoted\"\nline");
            tracing::info!(is_so = true, error = %"why");
        });
        assert_eq!(objects.len(), 2);
        assert_eq!(objects[0]["message"], "a \"quoted\"\nline");
        assert_eq!(
            (&objects[0]["id"], &objects[0]["level"]),
            (&7.into(), &"WARN".into())
        );
        assert_eq!(objects[0]["level_"], "x");
        assert_eq!(
            (&objects[1]["is_so"], &objects[1]["error"]),
            (&true.into(), &"why".into())
        );
        assert!(objects[1]["timestamp"].as_str().unwrap().ends_with('Z'));
    }

    fn fail() {
        panic!("of two\nlines");
    }

    /// The hook is of all threads, and so of other tests: without a log they panic as ever.
    #[test]
    fn a_panic_is_an_object_too() {
        log_panics();
        let objects = objects_of(|| assert!(catch_unwind(fail).is_err()));
        let [object] = objects.as_slice() else {
            panic!("{objects:?}");
        };
        assert_eq!(object["message"], "a thread panicked");
        assert_eq!(object["level"], "ERROR");
        // By these words a log is searched, whatever its format.
        let told = object["panic"].as_str().unwrap();
        assert!(told.starts_with("panicked at "), "{told}");
        assert!(told.ends_with("of two\nlines"), "{told}");
    }
}
