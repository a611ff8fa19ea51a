//! The certificate of the server: a given one, or one that it makes for itself and keeps in the data
//! directory, which clients can pin but nobody has signed.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The files of the data directory that hold what the server made for itself.
const CERT_FILE: &str = "tls-cert.pem";
const KEY_FILE: &str = "tls-key.pem";

/// What `@@tls_version` shows.
pub(super) const VERSIONS: &str = "TLSv1.2,TLSv1.3";

/// What TLS is spoken with: a certificate and its key, or one of its own. `dir` is where an own certificate is kept; without it, it lives as long
/// as the server.
///
/// # Errors
/// One line for the operator.
pub(super) fn config(
    given: Option<&(PathBuf, PathBuf)>,
    dir: Option<&Path>,
) -> Result<Arc<ServerConfig>, String> {
    match (given, dir) {
        (Some((cert, key)), _) => from_files(cert, key),
        (None, Some(dir)) => from_dir(dir),
        (None, None) => from_memory(&Own::make()?),
    }
}

/// What is kept in a directory; where there is nothing, it is made. A disk that is full does not keep the server
/// from its start, since rows are deleted through it.
fn from_dir(dir: &Path) -> Result<Arc<ServerConfig>, String> {
    let (cert, key) = (dir.join(CERT_FILE), dir.join(KEY_FILE));
    if cert.exists() && key.exists() {
        return from_files(&cert, &key);
    }
    let own = Own::make()?;
    if let Err(cause) = own.keep((&cert, &key)) {
        tracing::warn!(%cause, "the own certificate cannot be kept: the next start makes another");
    }
    from_memory(&own)
}

fn from_memory(own: &Own) -> Result<Arc<ServerConfig>, String> {
    let wrong = |error| format!("a certificate of its own: {error}");
    let cert = CertificateDer::from_pem_slice(own.cert_pem.as_bytes()).map_err(wrong)?;
    let key = PrivateKeyDer::from_pem_slice(own.key_pem.as_bytes()).map_err(wrong)?;
    built(vec![cert], key)
}

fn from_files(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, String> {
    let wrong = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain = CertificateDer::pem_file_iter(cert).map_err(|error| wrong(cert, &error))?;
    let chain = chain.collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| wrong(cert, &error))?;
    if chain.is_empty() {
        return Err(wrong(cert, &"there is no certificate in it"));
    }
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        if matches!(error, pem::Error::NoItemsFound) {
            return wrong(key, &"there is no private key in it that is not encrypted");
        }
        wrong(key, &error)
    })?;
    let files = format!("{}, {}", cert.display(), key.display());
    built(chain, key_der).map_err(|error| format!("{files}: {error}"))
}

fn built(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("the certificate and its key: {error}"))?;
    Ok(Arc::new(config))
}

/// A certificate that the server made for itself, and its key.
struct Own {
    cert_pem: String,
    key_pem: String,
}

impl Own {
    fn make() -> Result<Own, String> {
        let names = ["localhost", "meseta", "127.0.0.1", "::1"].map(str::to_owned);
        let made = rcgen::generate_simple_self_signed(names.to_vec());
        let made = made.map_err(|error| format!("a certificate cannot be made: {error}"))?;
        Ok(Own {
            cert_pem: made.cert.pem(),
            key_pem: made.signing_key.serialize_pem(),
        })
    }

    /// Writes both for the next start.
    fn keep(&self, (cert, key): (&Path, &Path)) -> Result<(), String> {
        // One that has lost its key would be wrong beside another, if it cannot be replaced.
        let _ = fs::remove_file(cert);
        write_private(key, &self.key_pem)?;
        write_private(cert, &self.cert_pem)
    }
}

/// Writes a file that only the server's user may read. Whole or not at all: it is named when it is
/// written.
///
/// # Errors
/// One line for the operator.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new).map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    file.sync_all().map_err(wrong)?;
    fs::rename(&new, path).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_certificate_is_kept_and_used_again() {
        let dir = tempfile::tempdir().unwrap();
        let kept = || [CERT_FILE, KEY_FILE].map(|name| fs::read(dir.path().join(name)).unwrap());
        config(None, Some(dir.path())).unwrap();
        let first = kept();
        config(None, Some(dir.path())).unwrap();
        assert_eq!(kept(), first);
        // Without its key it is of no use.
        fs::remove_file(dir.path().join(KEY_FILE)).unwrap();
        config(None, Some(dir.path())).unwrap();
        assert_ne!(kept(), first);
        let key = dir.path().join(KEY_FILE);
        let encrypted = fs::read_to_string(&key).unwrap();
        let encrypted = encrypted.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
        fs::write(&key, encrypted).unwrap();
        let refused = config(None, Some(dir.path())).unwrap_err();
        assert!(
            refused.contains("tls-key.pem: there is no private key"),
            "{refused}"
        );
        fs::write(dir.path().join(CERT_FILE), "no certificate").unwrap();
        assert!(config(None, Some(dir.path())).is_err());
    }

    /// Mechanism: the server did not start on a full disk unless it had a certificate already, and only a server that
    /// runs makes room.
    #[test]
    fn where_nothing_can_be_written_the_certificate_is_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for unwritable in [dir.path().join("nosuch"), file] {
            config(None, Some(&unwritable)).unwrap();
        }
    }
}
