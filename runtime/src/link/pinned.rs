//! TLS whose certificates are known beforehand: 1.3 only, no authority, no names, no dates.
//!
//! Whoever proves to hold the key of a certificate that is [expected](Expected) is who it belongs to. Parties expect one
//! another's certificates; nodes and clients expect certificates by their hash.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
    version,
};
use std::fmt;
use std::sync::Arc;

/// A certificate and its private key.
pub type Own<'a> = (&'a CertificateDer<'static>, &'a PrivateKeyDer<'static>);

/// Whether a certificate, DER, is one of those that are expected.
pub type Known = dyn Fn(&[u8]) -> bool + Send + Sync;

/// Which certificates are accepted from the other end.
pub struct Expected {
    pub known: Box<Known>,
    /// What the other end and the log are told of any other certificate.
    pub refusal: &'static str,
    /// Whether a caller has to show one at all; whoever is called always has to.
    pub needed: bool,
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected").field("refusal", &self.refusal).finish_non_exhaustive()
    }
}

/// Accepts what is expected and nothing else.
#[derive(Debug)]
struct Pinned {
    expected: Expected,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn new(expected: Expected) -> Arc<Pinned> {
        let algorithms = provider().signature_verification_algorithms;
        Arc::new(Pinned { expected, algorithms })
    }

    fn check(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        match (self.expected.known)(certificate) {
            true => Ok(()),
            false => Err(Error::General(self.expected.refusal.into())),
        }
    }

    fn signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS 1.2 is not offered, so nothing in it is ever asked for.
fn no_tls12() -> Result<HandshakeSignatureValid, Error> {
    Err(Error::General("TLS 1.3 only".into()))
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        self.expected.needed
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// For whoever is called.
///
/// # Errors
///
/// A key that is not the certificate's.
pub fn server((certificate, key): Own<'_>, callers: Expected) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])?
        .with_client_cert_verifier(Pinned::new(callers))
        .with_single_cert(vec![certificate.clone()], key.clone_key())?;
    // Nobody comes back to a session.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// For whoever calls, with a certificate of its own or without.
///
/// # Errors
///
/// A key that is not the certificate's.
pub fn client(own: Option<Own<'_>>, callee: Expected) -> Result<ClientConfig, Error> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Pinned::new(callee));
    match own {
        Some((c, k)) => config.with_client_auth_cert(vec![c.clone()], k.clone_key()),
        None => Ok(config.with_no_client_auth()),
    }
}
