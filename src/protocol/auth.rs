//! Passwords: what is kept of one, and whether a client's answer to the salt proves it.
//!
//! A password set here in clear has the verifiers of both plug-ins, so that clients without
//! `caching_sha2_password` and clients without `mysql_native_password` can both log in, and sha2's
//! fast path always suffices. One that was set for one plug-in, or moved from MySQL as a hash, has
//! only that one's; of sha2 that is [`Crypt`], and the first login sends the password itself, over
//! TLS or encrypted with the server's key.
//!
//! Source: MySQL Internals, "Authentication Methods".

use std::fmt;
use std::hint::black_box;

use rand::Rng;
use sha1::Sha1;
use sha2::{Digest, Sha256};

pub use super::crypt::{Crypt, PASSWORD_BYTES_MAX};

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Password {
    /// There is none: the right answer is an empty one.
    Empty,
    /// There is one.
    Set(Verifiers),
}

/// What a password is verified with; at least one of them.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Verifiers {
    /// `SHA256(SHA256(password))`: sha2's fast path.
    pub sha2: Option<[u8; 32]>,
    /// `SHA1(SHA1(password))`.
    pub native: Option<[u8; 20]>,
    /// Salted and slow: sha2's full path, which needs the password itself.
    pub crypt: Option<Crypt>,
}

/// Nothing of them is shown.
impl fmt::Debug for Verifiers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifiers")
    }
}

impl Verifiers {
    /// A password with these verifiers; without any there is none.
    pub fn into_password(self) -> Password {
        if self == Verifiers::default() {
            Password::Empty
        } else {
            Password::Set(self)
        }
    }
}

/// Whether an answer proves a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// It does.
    Proven,
    /// It does not.
    Refuted,
    /// It may: the password itself is needed to tell.
    NeedsPassword,
}

impl Password {
    /// All verifiers of a password in clear, so that every client can log in. Takes milliseconds.
    pub fn of(clear: &str) -> Password {
        match Password::fast(clear) {
            Password::Empty => Password::Empty,
            Password::Set(fast) => Password::Set(Verifiers {
                crypt: Some(Crypt::of(clear.as_bytes())),
                ..fast
            }),
        }
    }

    /// The fast verifiers of a password in clear: nothing is kept of one that is only in memory.
    pub fn fast(clear: &str) -> Password {
        if clear.is_empty() {
            return Password::Empty;
        }
        Password::Set(Verifiers {
            sha2: Some(fast_digest(clear.as_bytes())),
            native: Some(Sha1::digest(Sha1::digest(clear)).into()),
            crypt: None,
        })
    }

    /// The verifiers of a password in clear that one plug-in alone has.
    pub fn only(plugin: Plugin, clear: &str) -> Password {
        match Password::of(clear) {
            Password::Empty => Password::Empty,
            Password::Set(all) => Password::Set(match plugin {
                Plugin::CachingSha2 => Verifiers {
                    crypt: all.crypt,
                    ..Verifiers::default()
                },
                Plugin::Native => Verifiers {
                    native: all.native,
                    ..Verifiers::default()
                },
            }),
        }
    }

    /// A password that nobody knows, for users that do not exist: the refusal takes as long.
    pub fn unknowable() -> Password {
        let mut rng = rand::rng();
        Password::Set(Verifiers {
            sha2: Some(rng.random()),
            native: Some(rng.random()),
            crypt: None,
        })
    }

    /// A password that nobody knows, with verifiers where `like` has some: a user that does not
    /// exist is asked the questions that one who does is asked.
    pub fn unknowable_like(like: &Password) -> Password {
        let (Password::Set(like), Password::Set(nobody)) = (like, Password::unknowable()) else {
            return Password::unknowable();
        };
        Password::Set(Verifiers {
            sha2: nobody.sha2.filter(|_| like.sha2.is_some()),
            native: nobody.native.filter(|_| like.native.is_some()),
            crypt: like.crypt.as_ref().map(|_| Crypt::unknowable()),
        })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Password::Empty)
    }

    /// Whether clients can prove it with this plug-in.
    pub fn takes(&self, plugin: Plugin) -> bool {
        match self {
            Password::Empty => true,
            Password::Set(verifiers) => match plugin {
                Plugin::CachingSha2 => verifiers.sha2.is_some() || verifiers.crypt.is_some(),
                Plugin::Native => verifiers.native.is_some(),
            },
        }
    }

    /// Whether `response` is what a client that knows the password answers to `salt`. `fast` is what
    /// sha2's fast path compares with, when it is known otherwise.
    pub fn check(&self, answer: Answer<'_>, fast: Option<[u8; 32]>) -> Proof {
        let Password::Set(verifiers) = self else {
            return proof(!is_given(answer.response));
        };
        match answer.plugin {
            Plugin::Native => proof(
                verifiers
                    .native
                    .is_some_and(|stored| proves_native(&stored, answer.salt, answer.response)),
            ),
            Plugin::CachingSha2 if !is_given(answer.response) => Proof::Refuted,
            Plugin::CachingSha2 => {
                let proves = |stored| proves_sha2(&stored, answer.salt, answer.response);
                match (verifiers.sha2, &verifiers.crypt) {
                    (Some(stored), _) => proof(proves(stored)),
                    (None, Some(_)) if fast.is_some_and(proves) => Proof::Proven,
                    // Also when what is known otherwise refutes it: what is asked does not tell
                    // whether somebody has logged in, nor whether there is such a user.
                    (None, Some(_)) => Proof::NeedsPassword,
                    (None, None) => Proof::Refuted,
                }
            }
        }
    }

    /// Whether `response` proves it without more ado.
    pub fn is_proven(&self, plugin: Plugin, salt: &Salt, response: &[u8]) -> bool {
        let answer = Answer {
            plugin,
            salt,
            response,
        };
        self.check(answer, None) == Proof::Proven
    }
}

fn proof(holds: bool) -> Proof {
    if holds { Proof::Proven } else { Proof::Refuted }
}

/// What a client answered to a salt.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Made with this plug-in.
    pub plugin: Plugin,
    /// To this salt.
    pub salt: &'a Salt,
    /// The answer.
    pub response: &'a [u8],
}

/// What sha2's fast path compares with.
pub fn fast_digest(clear: &[u8]) -> [u8; 32] {
    Sha256::digest(Sha256::digest(clear)).into()
}

/// The password that a client sent whole: without the zero byte that ends it.
pub fn whole_password(sent: &[u8]) -> Option<&[u8]> {
    let clear = sent.strip_suffix(&[0])?;
    (clear.len() <= PASSWORD_BYTES_MAX).then_some(clear)
}

/// Takes the salt off a password that was sent encrypted with the server's key.
pub fn unsalted(mut sent: Vec<u8>, salt: &Salt) -> Vec<u8> {
    for (byte, mask) in sent.iter_mut().zip(salt.0.iter().cycle()) {
        *byte ^= mask;
    }
    sent
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

impl FirstAnswer {
    /// As far as an account takes it: an answer made with a plug-in that its password has no verifier
    /// of cannot prove it.
    #[must_use]
    pub fn for_password(self, password: &Password) -> FirstAnswer {
        let (FirstAnswer::Verify(plugin) | FirstAnswer::Switch(plugin)) = self;
        if password.takes(plugin) {
            return self;
        }
        FirstAnswer::Switch(match plugin {
            Plugin::CachingSha2 => Plugin::Native,
            Plugin::Native => Plugin::CachingSha2,
        })
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
    if clear.is_empty() {
        return Vec::new();
    }
    match plugin {
        Plugin::CachingSha2 => {
            let mask = Sha256::new()
                .chain_update(fast_digest(clear.as_bytes()))
                .chain_update(salt.0)
                .finalize();
            xored::<32>(&Sha256::digest(clear).into(), &mask.into()).to_vec()
        }
        Plugin::Native => {
            let mask = Sha1::new()
                .chain_update(salt.0)
                .chain_update(Sha1::digest(Sha1::digest(clear)))
                .finalize();
            xored::<20>(&Sha1::digest(clear).into(), &mask.into()).to_vec()
        }
    }
}
