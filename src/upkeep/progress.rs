//! How far it is: a bar on standard error when that is a terminal, nothing otherwise. It is taken away when
//! what it tells of has ended, well or not: an error's message has a line of its own.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// How often the bar is drawn.
const DRAW_INTERVAL: Duration = Duration::from_millis(100);

/// Its width, in characters.
const WIDTH: u64 = 30;

/// A bar, for as long as it lives.
pub(super) struct Bar {
    what: &'static str,
    is_shown: bool,
    drawn: Mutex<Option<Instant>>,
}

impl Bar {
    /// One that says what is being done.
    pub(super) fn new(what: &'static str) -> Bar {
        Bar {
            what,
            is_shown: io::stderr().is_terminal(),
            drawn: Mutex::new(None),
        }
    }

    /// Draws it, when it was not drawn just now.
    pub(super) fn show(&self, done: u64, all: u64) {
        if !self.is_shown {
            return;
        }
        let mut drawn = self.drawn.lock();
        if drawn.is_none_or(|drawn| DRAW_INTERVAL <= drawn.elapsed()) {
            *drawn = Some(Instant::now());
            let _ = write!(io::stderr(), "\r{}", line(self.what, done, all));
        }
    }
}

impl Drop for Bar {
    /// Takes it away. An escape sequence for a person's eyes: if it cannot be written nothing is lost.
    fn drop(&mut self) {
        if self.drawn.lock().is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(what: &str, done: u64, all: u64) -> String {
    let all = all.max(1);
    let done = done.min(all);
    let part = |of: u64| u128::from(done) * u128::from(of) / u128::from(all);
    let bar: String = (0..u128::from(WIDTH))
        .map(|at| if at < part(WIDTH) { '#' } else { '.' })
        .collect();
    let percent = part(100);
    format!("{what} [{bar}] {percent:3} %")
}

/// A number of bytes, for people.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut tenths = bytes.saturating_mul(10);
    let mut unit = "";
    for next in UNITS {
        if tenths < 10 * 1024 {
            break;
        }
        tenths /= 1024;
        unit = next;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_and_sizes_have_units() {
        assert_eq!(line("x", 0, 0), "x [..............................]   0 %");
        assert_eq!(line("x", 1, 2), "x [###############...............]  50 %");
        assert_eq!(line("x", 9, 2), "x [##############################] 100 %");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(1024), "1.0 KiB");
        assert_eq!(size(1536 << 20), "1.5 GiB");
        assert_eq!(size(5 << 50), "5120.0 TiB");
    }
}
