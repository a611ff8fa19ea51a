//! The server's RSA key, with which clients encrypt a password where there is no TLS.
//!
//! Only logins that sha2's fast path cannot serve need it. It is made in the background when the
//! server first starts, and kept in the data directory; a server in memory makes it when somebody
//! asks.
//!
//! Source: MySQL 8.0 Reference Manual, "Caching SHA-2 Pluggable Authentication".

use std::path::PathBuf;
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
        if let Ok(pem) = std::fs::read_to_string(path) {
            let key = RsaPrivateKey::from_pkcs8_pem(&pem);
            let key = key.map_err(|error| format!("{}: {error}", path.display()))?;
            return pair_of(key);
        }
        let key = make()?;
        let pem = key.to_pkcs8_pem(LineEnding::LF);
        let pem = pem.map_err(|error| error.to_string())?;
        write_private(path, &pem)?;
        pair_of(key)
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
