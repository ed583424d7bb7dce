//! The files of a deployment, and what stands in them: certificates, secrets, configurations.

use crate::config::{CallerConfig, WORKERS};
use crate::hex::{Hash, sha256};
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, PKCS_ECDSA_P256_SHA256, SanType,
};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Keys cannot be made.
#[derive(Debug, Error)]
pub enum KeysError {
    #[error("{}: {why}", path.display())]
    Io { path: PathBuf, why: io::Error },
    /// No key or certificate could be made.
    #[error("a certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("no randomness from the operating system: {0}")]
    Randomness(#[from] getrandom::Error),
    /// What is asked for cannot be.
    #[error("{0}")]
    Plan(String),
}

impl KeysError {
    /// What the system refuses at a path.
    pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> KeysError + '_ {
        |why| KeysError::Io { path: path.into(), why }
    }
}

pub(super) fn read(path: &Path) -> Result<String, KeysError> {
    fs::read_to_string(path).map_err(KeysError::at(path))
}

pub(super) struct Made {
    pub(super) certificate: String,
    pub(super) key: String,
    pub(super) hash: Hash,
}

/// A key and a certificate of it, for these names.
pub(super) fn certificate(name: &str, hosts: &[&str]) -> Result<Made, KeysError> {
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    for host in hosts {
        params.subject_alt_names.push(match host.parse::<IpAddr>() {
            Ok(ip) => SanType::IpAddress(ip),
            Err(_) => SanType::DnsName((*host).try_into()?),
        });
    }
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let made = params.self_signed(&key)?;
    Ok(Made { certificate: made.pem(), key: key.serialize_pem(), hash: sha256(made.der()) })
}

pub(super) fn random() -> Result<[u8; 32], KeysError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that is not there yet; a secret one for its owner only.
pub(super) fn write(path: &Path, text: impl AsRef<[u8]>, secret: bool) -> Result<(), KeysError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(KeysError::at(path))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if secret { 0o600 } else { 0o644 });
    #[cfg(not(unix))]
    let _ = secret;
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_ref()));
    written.map_err(KeysError::at(path))
}

/// A folder that only its owner may look into.
pub(super) fn private(path: &Path) -> Result<(), KeysError> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(KeysError::at(path))
}

pub(super) fn quoted(hashes: &[Hash]) -> String {
    hashes.iter().map(|h| format!("\"{h}\"")).collect::<Vec<_>>().join(", ")
}

/// Writes a file anew, beside it first.
pub(super) fn rewrite(path: &Path, text: &str, secret: bool) -> Result<(), KeysError> {
    let beside = path.with_extension("toml.new");
    drop(fs::remove_file(&beside));
    write(&beside, text, secret)?;
    fs::rename(&beside, path).map_err(KeysError::at(path))
}

/// All TOML files of a deployment in which certificates stand.
pub(super) fn configurations(folder: &Path) -> Result<Vec<PathBuf>, KeysError> {
    let mut out: Vec<PathBuf> =
        (0..3).map(|i| folder.join(format!("node-{i}/node.toml"))).collect();
    for node in 0..3 {
        let at = folder.join(format!("node-{node}"));
        out.extend((0..WORKERS).map(|k| at.join(format!("worker-{k}/worker.toml"))));
    }
    out.extend(coordinators(folder)?.into_iter().map(|(path, _)| path));
    let clients = folder.join("clients");
    if clients.is_dir() {
        let listed = fs::read_dir(&clients).map_err(KeysError::at(&clients))?;
        out.extend(listed.flatten().map(|c| c.path().join("client.toml")));
    }
    out.retain(|p| p.is_file());
    Ok(out)
}

/// Has all configurations name certificates in place of one, which may be among them; how many have changed. Those that
/// name them already stay as they are, so that what was broken off can be done again.
///
/// # Errors
///
/// A configuration that names the old one otherwise than in double quotes: then nothing is written.
pub(super) fn replace(folder: &Path, old: Hash, by: &[Hash]) -> Result<usize, KeysError> {
    let (named, wanted) = (quoted(&[old]), quoted(by));
    let mut changed = Vec::new();
    for path in configurations(folder)? {
        let text = read(&path)?;
        // A rotation that ends has both side by side.
        let both = by.first().map_or(named.clone(), |new| quoted(&[old, *new]));
        let new = match by.contains(&old) {
            true if text.contains(&wanted) => text.clone(),
            true => text.replace(&named, &wanted),
            false => text.replace(&both, &wanted).replace(&named, &wanted),
        };
        if new == text && text.contains(&old.to_string()) && !text.contains(&wanted) {
            return Err(KeysError::Plan(format!(
                "{}: the hash {old} of a certificate has to stand there in double quotes",
                path.display()
            )));
        }
        if new != text {
            changed.push((path, new));
        }
    }
    changed.iter().try_for_each(|(path, text)| rewrite(path, text, true))?;
    Ok(changed.len())
}

pub(super) fn hash_of(path: &Path) -> Result<Hash, KeysError> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let text = fs::read(path).map_err(KeysError::at(path))?;
    let der = CertificateDer::from_pem_slice(&text);
    let bad = |_| KeysError::Plan(format!("{}: no certificate", path.display()));
    Ok(sha256(&der.map_err(bad)?))
}

/// A certificate that stands for one place from now on, unless it stands for another one already.
pub(super) fn in_one_place(folder: &Path, made: &Path, with: &Path) -> Result<Hash, KeysError> {
    let new = hash_of(with)?;
    let mut all = configurations(folder)?;
    for node in 0..3 {
        let at = folder.join(format!("node-{node}"));
        all.push(at.join("node.crt"));
        all.extend((0..WORKERS).map(|k| at.join(format!("worker-{k}/worker.crt"))));
    }
    all.iter_mut().for_each(|path| _ = path.set_extension("crt"));
    all.retain(|path| path != made && path.is_file());
    match all.into_iter().find(|path| hash_of(path).is_ok_and(|hash| hash == new)) {
        None => Ok(new),
        Some(path) => Err(KeysError::Plan(format!(
            "{}: this certificate is that of {} already, and each stands for one place: take the one that the other organisation has sent for this place",
            with.display(),
            path.display()
        ))),
    }
}

/// The folders of coordinators of a deployment, and what their files say.
pub(super) fn coordinators(folder: &Path) -> Result<Vec<(PathBuf, CallerConfig)>, KeysError> {
    let all = fs::read_dir(folder).map_err(KeysError::at(folder))?.flatten();
    let all = all.map(|f| f.path().join("coordinator.toml"));
    let read = |path: PathBuf| match CallerConfig::read(&path) {
        Ok(config) => Ok((path, config)),
        Err(e) => Err(KeysError::Plan(e.to_string())),
    };
    let mut all: Vec<PathBuf> = all.filter(|p| p.is_file()).collect();
    all.sort();
    all.into_iter().map(read).collect()
}
