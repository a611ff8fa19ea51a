//! What was given for each option, and the value that it comes to: checked, alone and beside others.

use std::collections::HashMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use super::{ALL, Config, Kind, LogFormat, Raw, Spec, Tls, options};
use crate::ceiling;
use crate::protocol::Password;
use crate::session::{self, Storage};

/// What `--log` takes; also in `module=level` pairs with commas between them.
const LOG_LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// What was given for the options.
pub(super) struct Values(pub(super) HashMap<&'static str, Raw>);

impl Values {
    /// The options, each checked.
    pub(super) fn check(&self) -> Result<Config, String> {
        Ok(Config {
            listen: self.address(options::LISTEN)?,
            http_listen: self.http_listen()?,
            storage: self.storage()?,
            durable: self.choice(options::DURABILITY)? == "sync",
            allow_full_scan: self.switch(options::ALLOW_FULL_SCAN)?,
            memory_limit_bytes: self.memory_limit()?,
            cache_bytes: self.bytes(options::CACHE_BYTES)?,
            query_memory_total_bytes: self.bytes(options::QUERY_MEMORY_TOTAL)?,
            spill_quota_bytes: self.bytes(options::SPILL_QUOTA)?,
            secure_file_priv: self.path(options::SECURE_FILE_PRIV)?,
            backup_dir: self.path(options::BACKUP_DIR)?,
            log: self.log()?,
            log_format: match self.choice(options::LOG_FORMAT)?.as_str() {
                "json" => LogFormat::Json,
                _ => LogFormat::Text,
            },
            connections_max: self.number(options::MAX_CONNECTIONS)?,
            packet_bytes_max: self.packet_bytes()?,
            wait_timeout_s: self.number(options::WAIT_TIMEOUT)?,
            net_write_timeout_s: self.number(options::NET_WRITE_TIMEOUT)?,
            connect_timeout_s: self.number(options::CONNECT_TIMEOUT)?,
            shutdown_grace_s: self.number(options::SHUTDOWN_GRACE)?,
            root_password: self.root_password()?,
            is_password_shown: self.is_password_shown()?,
            tls: self.tls()?,
        })
    }

    fn raw(&self, name: &str) -> Result<(Raw, &'static Spec), String> {
        let spec = ALL.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| format!("no option is called {name}"))?;
        let raw = self.0.get(name).cloned().unwrap_or_else(|| Raw {
            text: spec.default.to_owned(),
            origin: format!("--{name}"),
        });
        Ok((raw, spec))
    }

    fn address(&self, name: &str) -> Result<SocketAddr, String> {
        let (raw, _) = self.raw(name)?;
        let is_formed =
            |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
        if !raw.text.rsplit_once(':').is_some_and(is_formed) {
            return Err(raw.wrong("an address and a port, such as 127.0.0.1:3306"));
        }
        let unresolved = |why: &str| {
            let Raw { text, origin } = &raw;
            format!("{origin}: the name in '{text}' cannot be resolved: {why}")
        };
        let found = raw.text.to_socket_addrs();
        let mut found = found.map_err(|error| unresolved(&error.to_string()))?;
        found.next().ok_or_else(|| unresolved("it has no address"))
    }

    fn http_listen(&self) -> Result<Option<SocketAddr>, String> {
        let (raw, _) = self.raw(options::HTTP_LISTEN)?;
        let is_given = !raw.text.is_empty();
        is_given
            .then(|| self.address(options::HTTP_LISTEN))
            .transpose()
    }

    fn storage(&self) -> Result<Storage, String> {
        let (dir, _) = self.raw(options::DATA_DIR)?;
        Ok(match self.choice(options::ENGINE)?.as_str() {
            "memory" => Storage::Memory,
            _ if dir.text.is_empty() => return Err(dir.wrong("the name of a directory")),
            _ => Storage::Lsm(PathBuf::from(dir.text)),
        })
    }

    /// A path; `None` when none is given.
    fn path(&self, name: &str) -> Result<Option<PathBuf>, String> {
        let (raw, _) = self.raw(name)?;
        Ok((!raw.text.is_empty()).then(|| PathBuf::from(raw.text)))
    }

    fn choice(&self, name: &str) -> Result<String, String> {
        let (raw, spec) = self.raw(name)?;
        match spec.kind {
            Kind::Choice(choices) if choices.contains(&raw.text.as_str()) => Ok(raw.text),
            Kind::Choice(choices) => Err(raw.wrong(&choices.join(" or "))),
            Kind::Address
            | Kind::Path
            | Kind::Switch
            | Kind::Number { .. }
            | Kind::Bytes
            | Kind::Secret
            | Kind::Text => Err(format!("{name} is not a choice")),
        }
    }

    fn switch(&self, name: &str) -> Result<bool, String> {
        let (raw, _) = self.raw(name)?;
        match raw.text.to_ascii_lowercase().as_str() {
            "true" | "1" | "on" | "yes" => Ok(true),
            "false" | "0" | "off" | "no" => Ok(false),
            _ => Err(raw.wrong("true or false")),
        }
    }

    fn number(&self, name: &str) -> Result<u32, String> {
        let (raw, spec) = self.raw(name)?;
        let (min, max) = match spec.kind {
            Kind::Number { min, max } => (min, max),
            Kind::Address
            | Kind::Path
            | Kind::Switch
            | Kind::Choice(_)
            | Kind::Bytes
            | Kind::Secret
            | Kind::Text => (0, u32::MAX),
        };
        let number = raw
            .text
            .parse()
            .ok()
            .filter(|number| (min..=max).contains(number));
        number.ok_or_else(|| raw.wrong(&format!("a number from {min} to {max}")))
    }

    fn bytes(&self, name: &str) -> Result<Option<u64>, String> {
        let (raw, _) = self.raw(name)?;
        if raw.text == "auto" {
            return Ok(None);
        }
        let bytes = parse_bytes(&raw.text);
        bytes
            .map(Some)
            .ok_or_else(|| raw.wrong("a number of bytes, such as 512MiB, or auto"))
    }

    /// `None` when none is wanted; or none is given and the machine's memory cannot be learned, or is too
    /// little to limit.
    fn memory_limit(&self) -> Result<Option<u64>, String> {
        let least = options::MEMORY_LIMIT_BYTES_MIN;
        let (raw, _) = self.raw(options::MEMORY_LIMIT)?;
        if matches!(raw.text.as_str(), "none" | "0") {
            return Ok(None);
        }
        let of_machine =
            || ceiling::memory_bytes().map(|bytes| bytes - bytes / MEMORY_KEPT_DIVISOR);
        let given = match raw.text.as_str() {
            "auto" => None,
            text => {
                let wrong =
                    || raw.wrong("a number of bytes from 512MiB on, such as 4GiB, or auto or none");
                Some(parse_bytes(text).ok_or_else(wrong)?)
            }
        };
        let bytes = match given {
            Some(bytes) if bytes < least => return Err(raw.wrong("at least 512MiB, auto or none")),
            Some(bytes) => bytes,
            None => match of_machine().filter(|bytes| least <= *bytes) {
                Some(bytes) => bytes,
                None => return Ok(None),
            },
        };
        let cache = self.bytes(options::CACHE_BYTES)?;
        let query = self.bytes(options::QUERY_MEMORY_TOTAL)?;
        session::check_memory(bytes, cache, query)
            .map_err(|why| format!("{}: {why}", raw.origin))?;
        Ok(Some(bytes))
    }

    fn packet_bytes(&self) -> Result<u32, String> {
        let (raw, _) = self.raw(options::MAX_ALLOWED_PACKET)?;
        let bytes = parse_bytes(&raw.text).and_then(|bytes| u32::try_from(bytes).ok());
        let bytes = bytes.filter(|bytes| options::PACKET_BYTES.contains(bytes));
        bytes.ok_or_else(|| raw.wrong("a number of bytes from 1KiB to 1GiB"))
    }

    fn log(&self) -> Result<String, String> {
        let (raw, _) = self.raw(options::LOG)?;
        let is_filter = raw.text.parse::<tracing_subscriber::EnvFilter>().is_ok();
        // A bare word that is no level would be a module that nothing is logged of.
        let is_level = |part: &str| {
            LOG_LEVELS
                .iter()
                .any(|level| part.eq_ignore_ascii_case(level))
        };
        let mut parts = raw.text.split(',').map(str::trim);
        if is_filter && parts.all(|part| part.contains('=') || is_level(part)) {
            Ok(raw.text)
        } else {
            Err(raw.wrong("a level: error, warn, info, debug or trace"))
        }
    }

    fn tls(&self) -> Result<Tls, String> {
        let (cert, _) = self.raw(options::TLS_CERT)?;
        let (key, _) = self.raw(options::TLS_KEY)?;
        let given = match (cert.text.is_empty(), key.text.is_empty()) {
            (true, true) => None,
            (false, false) => Some((PathBuf::from(cert.text), PathBuf::from(key.text))),
            (true, false) => return Err(format!("{} needs --tls-cert", key.origin)),
            (false, true) => return Err(format!("{} needs --tls-key", cert.origin)),
        };
        Ok(Tls {
            given,
            is_required: self.switch(options::REQUIRE_SECURE_TRANSPORT)?,
        })
    }

    fn is_password_shown(&self) -> Result<bool, String> {
        let (raw, spec) = self.raw(options::ROOT_PASSWORD)?;
        let is_argument = raw.origin == format!("--{}", spec.name);
        Ok(is_argument && !raw.text.is_empty())
    }

    /// `None` when nobody gives one: root has the one that is stored.
    fn root_password(&self) -> Result<Option<Password>, String> {
        let (clear, _) = self.raw(options::ROOT_PASSWORD)?;
        let (path, _) = self.raw(options::ROOT_PASSWORD_FILE)?;
        if path.text.is_empty() {
            let given = Some(Password::fast(&clear.text));
            return Ok(given.filter(|password| !password.is_empty()));
        }
        if !clear.text.is_empty() {
            return Err(format!(
                "{} and {}: one of them is enough",
                clear.origin, path.origin
            ));
        }
        let text = std::fs::read_to_string(&path.text)
            .map_err(|error| format!("{} {}: {error}", path.origin, path.text))?;
        let line = text.lines().next().unwrap_or("");
        if line.is_empty() {
            return Err(format!(
                "{} {}: the first line is empty",
                path.origin, path.text
            ));
        }
        Ok(Some(Password::fast(line)))
    }
}

impl Raw {
    fn wrong(&self, expected: &str) -> String {
        format!("{}: '{}' is not {expected}", self.origin, self.text)
    }
}

/// A number with or without a unit: `4096`, `64M`, `64MB`, `64MiB`; all units are powers of 1024.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    let digits_count = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at_checked(digits_count)?;
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// Part of the machine's memory that is left to the system when nobody gives a limit.
const MEMORY_KEPT_DIVISOR: u64 = 10;
