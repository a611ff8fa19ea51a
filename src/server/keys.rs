//! The server's RSA key, with which clients encrypt a password where there is no TLS.
//!
//! Only logins that sha2's fast path cannot serve need it. It is made in the background when the
//! server first starts, and kept in the data directory; a server in memory makes it when somebody
//! asks.
//!
//! Source: MySQL 8.0 Reference Manual, "Caching SHA-2 Pluggable Authentication".

use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rsa::rand_core::OsRng;
use rsa::{Oaep, RsaPrivateKey, RsaPublicKey};
use sha1::Sha1;
use tokio::task::spawn_blocking;

use super::tls::write_private;

/// The file of the data directory.
const KEY_FILE: &str = "rsa-key.pem";

/// Bits of the key, as MySQL's.
const KEY_BITS: usize = 2048;

/// The key, made once.
#[derive(Debug)]
pub(super) struct Keys {
    path: Option<PathBuf>,
    pair: OnceLock<Option<Pair>>,
}

#[derive(Debug)]
struct Pair {
    private: RsaPrivateKey,
    /// What clients are sent.
    public_pem: String,
}

impl Keys {
    /// Kept in `dir`, where there is one.
    pub(super) fn new(dir: Option<PathBuf>) -> Arc<Keys> {
        let keys = Arc::new(Keys {
            path: dir.map(|dir| dir.join(KEY_FILE)),
            pair: OnceLock::new(),
        });
        if keys.path.is_some() {
            let background = Arc::clone(&keys);
            spawn_blocking(move || {
                background.pair();
            });
        }
        keys
    }

    /// Takes long the first time.
    fn pair(&self) -> Option<&Pair> {
        let made = self.pair.get_or_init(|| match self.load_or_make() {
            Ok(pair) => Some(pair),
            Err(error) => {
                tracing::error!(%error, "no RSA key: some logins need TLS");
                None
            }
        });
        made.as_ref()
    }

    fn load_or_make(&self) -> Result<Pair, String> {
        let Some(path) = &self.path else {
            return pair_of(make()?);
        };
        let wrong = |error: &dyn Display| format!("{}: {error}", path.display());
        match fs::read_to_string(path) {
            Ok(pem) => {
                let key = RsaPrivateKey::from_pkcs8_pem(&pem);
                pair_of(key.map_err(|error| wrong(&error))?)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => make_and_keep(path),
            Err(error) => Err(wrong(&error)),
        }
    }

    /// The public key in PEM.
    pub(super) async fn public_pem(self: &Arc<Keys>) -> Option<String> {
        let keys = Arc::clone(self);
        let asked = spawn_blocking(move || keys.pair().map(|pair| pair.public_pem.clone()));
        asked.await.ok().flatten()
    }

    /// What a client encrypted with the public key; `None` for anything else.
    pub(super) async fn decrypted(self: &Arc<Keys>, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let keys = Arc::clone(self);
        let decrypt = move || {
            let private = &keys.pair()?.private;
            let padding = Oaep::new::<Sha1>();
            // Blinded: how long it takes says nothing about the key.
            private.decrypt_blinded(&mut OsRng, padding, &bytes).ok()
        };
        spawn_blocking(decrypt).await.ok().flatten()
    }
}

/// Where nothing can be written, as on a full disk, the key lives as long as the server.
fn make_and_keep(path: &Path) -> Result<Pair, String> {
    let key = make()?;
    let pem = key.to_pkcs8_pem(LineEnding::LF);
    let pem = pem.map_err(|error| error.to_string())?;
    if let Err(cause) = write_private(path, &pem) {
        tracing::warn!(%cause, "the RSA key cannot be kept: the next start makes another");
    }
    pair_of(key)
}

fn make() -> Result<RsaPrivateKey, String> {
    RsaPrivateKey::new(&mut OsRng, KEY_BITS).map_err(|error| error.to_string())
}

fn pair_of(private: RsaPrivateKey) -> Result<Pair, String> {
    let public = RsaPublicKey::from(&private);
    let public_pem = public.to_public_key_pem(LineEnding::LF);
    Ok(Pair {
        private,
        public_pem: public_pem.map_err(|error| error.to_string())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public_of(dir: &Path) -> Option<String> {
        let keys = Keys {
            path: Some(dir.join(KEY_FILE)),
            pair: OnceLock::new(),
        };
        keys.pair().map(|pair| pair.public_pem.clone())
    }

    #[test]
    fn a_key_is_kept_and_used_again_and_a_wrong_one_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let first = public_of(dir.path()).unwrap();
        assert_eq!(public_of(dir.path()).unwrap(), first);
        fs::write(dir.path().join(KEY_FILE), "no key").unwrap();
        assert_eq!(public_of(dir.path()), None);
        assert_eq!(fs::read(dir.path().join(KEY_FILE)).unwrap(), b"no key");
    }

    /// Mechanism: on a full disk there was no key, and a login by `caching_sha2_password` without TLS was refused: the
    /// one that was to make room.
    #[test]
    fn where_nothing_can_be_written_the_key_is_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let key = public_of(&dir.path().join("nosuch"));
        assert!(key.is_some_and(|pem| pem.contains("PUBLIC KEY")));
    }
}
