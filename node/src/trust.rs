//! TLS: whose certificate is accepted where. TLS 1.3 only, and no authority: certificates are known by their hash.
//!
//! | connection | the one who calls shows | the one who is called shows |
//! |---|---|---|
//! | node to node | a node's certificate, or nothing follows | the certificate of the node that is called |
//! | client to node | its certificate or none; who has none shows a token later | the node's certificate |

use crate::hex::{Hash, sha256};
use rustls::{ClientConfig, Error, ServerConfig};
use slvr_runtime::link::pinned::{self, Expected};
use std::io;
use std::path::Path;

pub use slvr_runtime::link::pinned::Own;

/// What is said of a certificate that is another one.
const UNEXPECTED: &str = "the certificate is not one of those that are expected";

/// Whether a connection came to nothing because the other end has shown another certificate.
pub fn is_unexpected(e: &io::Error) -> bool {
    let tls = e.get_ref().and_then(|e| e.downcast_ref::<Error>());
    matches!(tls, Some(Error::General(why)) if why == UNEXPECTED)
}

/// Why a certificate and a key of these files cannot be used.
pub fn unusable(certificate: &Path, key: &Path, e: &Error) -> String {
    match e {
        Error::InconsistentKeys(_) => format!(
            "{}: this is not the key of the certificate {}: put back the two files that were made together",
            key.display(),
            certificate.display()
        ),
        e => format!("{}: {e}", certificate.display()),
    }
}

/// Certificates of these hashes; without hashes, any whose key the other one has, or none.
fn expected(hashes: Option<Vec<Hash>>) -> Expected {
    let needed = hashes.is_some();
    Expected {
        known: Box::new(move |certificate| {
            hashes.as_ref().is_none_or(|known| known.contains(&sha256(certificate)))
        }),
        refusal: UNEXPECTED,
        needed,
    }
}

/// For whoever is called. With `callers`, only these may call, and have to show their certificate.
///
/// # Errors
///
/// A key that is not the certificate's.
pub fn server(own: Own<'_>, callers: Option<Vec<Hash>>) -> Result<ServerConfig, Error> {
    pinned::server(own, expected(callers))
}

/// For whoever calls somebody with one of these certificates.
///
/// # Errors
///
/// A key that is not the certificate's.
pub fn client(own: Option<Own<'_>>, callee: Vec<Hash>) -> Result<ClientConfig, Error> {
    pinned::client(own, expected(Some(callee)))
}
