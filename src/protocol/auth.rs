//! Passwords: what is kept of one, and whether a client's answer to the salt proves it.
//!
//! Both verifiers are kept, so that clients without `caching_sha2_password` and clients without
//! `mysql_native_password` can both log in. The stored `SHA256(SHA256(password))` always suffices
//! for sha2's fast path, so the full exchange (which needs TLS) is never asked for.
//!
//! Source: MySQL Internals, "Authentication Methods".

use std::fmt;
use std::hint::black_box;

use rand::Rng;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// Random bytes that every greeting carries.
pub const SALT_BYTES: usize = 20;

/// An authentication method that this server verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plugin {
    /// `caching_sha2_password`, the default of MySQL 8 and 9.
    CachingSha2,
    /// `mysql_native_password`, for everything older.
    Native,
}

impl Plugin {
    /// The one that the greeting names.
    pub const DEFAULT: Plugin = Plugin::CachingSha2;

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::CachingSha2 => "caching_sha2_password",
            Plugin::Native => "mysql_native_password",
        }
    }

    /// The plug-in of that name.
    pub fn named(name: &[u8]) -> Option<Plugin> {
        [Plugin::CachingSha2, Plugin::Native]
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// What a connection's passwords are mixed with: no zero byte, because clients treat it as a
/// string, and seven bits, because some treat it as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salt([u8; SALT_BYTES]);

impl Salt {
    /// A new one from the system's random numbers.
    pub fn random() -> Salt {
        let mut rng = rand::rng();
        Salt(std::array::from_fn(|_| rng.random_range(1..=127)))
    }

    /// A chosen one, for tests.
    pub fn fixed(bytes: [u8; SALT_BYTES]) -> Salt {
        Salt(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8; SALT_BYTES] {
        &self.0
    }
}

/// What is known of an account's password.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// There is none: the right answer is an empty one.
    Empty,
    /// Hashes that verify an answer; the password cannot be had from them.
    Set {
        /// `SHA256(SHA256(password))`.
        sha2: [u8; 32],
        /// `SHA1(SHA1(password))`.
        native: [u8; 20],
    },
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Password::Empty => "Password::Empty",
            Password::Set { .. } => "Password::Set",
        })
    }
}

impl Password {
    /// The verifiers of a password in clear.
    pub fn of(clear: &str) -> Password {
        if clear.is_empty() {
            return Password::Empty;
        }
        Password::Set {
            sha2: Sha256::digest(Sha256::digest(clear)).into(),
            native: Sha1::digest(Sha1::digest(clear)).into(),
        }
    }

    /// A password that nobody knows, for users that do not exist: the refusal takes as long.
    pub fn unknowable() -> Password {
        let mut rng = rand::rng();
        Password::Set {
            sha2: rng.random(),
            native: rng.random(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Password::Empty)
    }

    /// Whether `response` is what a client that knows the password answers to `salt`.
    pub fn is_proven(&self, plugin: Plugin, salt: &Salt, response: &[u8]) -> bool {
        let given = is_given(response);
        match self {
            Password::Empty => !given,
            Password::Set { sha2, native } => match plugin {
                Plugin::CachingSha2 => proves_sha2(sha2, salt, response),
                Plugin::Native => proves_native(native, salt, response),
            },
        }
    }
}

/// Whether a response stands for a password at all. sha2 clients send one zero byte for none.
pub fn is_given(response: &[u8]) -> bool {
    !matches!(response, [] | [0])
}

/// The client sends `SHA256(password) xor SHA256(stored, salt)`.
fn proves_sha2(stored: &[u8; 32], salt: &Salt, response: &[u8]) -> bool {
    let Ok(response) = <&[u8; 32]>::try_from(response) else {
        return false;
    };
    let mask = Sha256::new()
        .chain_update(stored)
        .chain_update(salt.0)
        .finalize();
    let digest: [u8; 32] = xored(response, &mask.into());
    is_equal(&Sha256::digest(digest), stored)
}

/// The client sends `SHA1(password) xor SHA1(salt, stored)`.
fn proves_native(stored: &[u8; 20], salt: &Salt, response: &[u8]) -> bool {
    let Ok(response) = <&[u8; 20]>::try_from(response) else {
        return false;
    };
    let mask = Sha1::new()
        .chain_update(salt.0)
        .chain_update(stored)
        .finalize();
    let digest: [u8; 20] = xored(response, &mask.into());
    is_equal(&Sha1::digest(digest), stored)
}

fn xored<const N: usize>(left: &[u8; N], right: &[u8; N]) -> [u8; N] {
    let mut out = *left;
    for (byte, mask) in out.iter_mut().zip(right) {
        *byte ^= mask;
    }
    out
}

/// What to do with the answer that a login begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAnswer {
    /// It is an answer to the salt, made with this plug-in.
    Verify(Plugin),
    /// It cannot be one; ask for another, made with this plug-in.
    Switch(Plugin),
}

impl FirstAnswer {
    /// Of a hello, which answers the greeting's salt and plug-in.
    ///
    /// | plug-in named | answer | then |
    /// |---|---|---|
    /// | none (clients before plug-ins) | any | verify as native |
    /// | the greeting's | any | verify |
    /// | native | 20 bytes | verify |
    /// | native | any other | switch: the client may be waiting for a salt of its plug-in |
    /// | unknown | any | switch to the greeting's |
    pub fn of_hello(plugin: Option<&[u8]>, response: &[u8]) -> FirstAnswer {
        match plugin.map(Plugin::named) {
            None => FirstAnswer::Verify(Plugin::Native),
            Some(Some(Plugin::CachingSha2)) => FirstAnswer::Verify(Plugin::CachingSha2),
            Some(Some(Plugin::Native)) if response.len() == SALT_BYTES => {
                FirstAnswer::Verify(Plugin::Native)
            }
            Some(Some(Plugin::Native)) => FirstAnswer::Switch(Plugin::Native),
            Some(None) => FirstAnswer::Switch(Plugin::DEFAULT),
        }
    }

    /// Of a `COM_CHANGE_USER`: an empty answer may mean no password or a client that waits for a
    /// salt, so it is asked again.
    pub fn of_change_user(plugin: Option<&[u8]>, response: &[u8]) -> FirstAnswer {
        match FirstAnswer::of_hello(plugin, response) {
            FirstAnswer::Verify(known) if plugin.is_some() && !is_given(response) => {
                FirstAnswer::Switch(known)
            }
            first @ (FirstAnswer::Verify(_) | FirstAnswer::Switch(_)) => first,
        }
    }
}

/// Compares in a time that does not tell where the first difference is.
fn is_equal(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let difference = left
        .iter()
        .zip(right)
        .fold(0_u8, |sum, (a, b)| black_box(sum | (a ^ b)));
    difference == 0
}

/// What a client that knows `clear` answers; for tests and for the server's own probes.
pub fn response(plugin: Plugin, salt: &Salt, clear: &str) -> Vec<u8> {
    match (plugin, Password::of(clear)) {
        (_, Password::Empty) => Vec::new(),
        (Plugin::CachingSha2, Password::Set { sha2, .. }) => {
            let mask = Sha256::new()
                .chain_update(sha2)
                .chain_update(salt.0)
                .finalize();
            xored::<32>(&Sha256::digest(clear).into(), &mask.into()).to_vec()
        }
        (Plugin::Native, Password::Set { native, .. }) => {
            let mask = Sha1::new()
                .chain_update(salt.0)
                .chain_update(native)
                .finalize();
            xored::<20>(&Sha1::digest(clear).into(), &mask.into()).to_vec()
        }
    }
}
