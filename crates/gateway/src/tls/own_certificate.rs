//! The gateway's own certificate. It is created once, stored in the data folder, and identified by its key.
//!
//! It is valid from 2020 to the end of 2049. Devices that pin the key ignore the dates, and a person who
//! installs the certificate gains nothing from an expiry: removing it takes it out of use. With fixed dates,
//! a wrong clock at the first start does not create a useless certificate. 2049 is the last year that every
//! certificate parser reads in the same way.

use std::fs;
use std::io;
use std::path::Path;

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, date_time_ymd,
};

use super::{TlsError, TlsIdentity, pem};
use crate::net::address::UriHost;
use toolway_files::private_file;

/// Loads certificate and key from the folder, and creates missing ones. A new certificate for an existing key
/// has the same pin. Blocks.
pub(super) fn load_or_make(folder: &Path, names: Vec<String>) -> Result<TlsIdentity, TlsError> {
    let (cert_path, key_path) = (folder.join("cert.pem"), folder.join("key.pem"));
    private_file::create_folder(folder).map_err(TlsError::file(folder))?;
    let key = match read(&key_path)? {
        Some(key) => key,
        None if cert_path.exists() => {
            let problem = "missing, while its certificate is there; put it back, or remove cert.pem too to \
                           make both anew (devices must then be paired again)";
            return Err(TlsError::content(&key_path, problem));
        }
        None => {
            let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(make_failed)?;
            write(&key_path, &pair.serialize_pem())?
        }
    };
    let cert = match read(&cert_path)? {
        Some(cert) => cert,
        None => {
            let made = make(&key_path, &key, names)?;
            tracing::info!(cert = %cert_path.display(), "created a certificate");
            write(&cert_path, &made)?
        }
    };
    private_file::restrict(&key_path).map_err(TlsError::file(&key_path))?;
    pem::load_identity((&cert_path, cert.as_bytes()), (&key_path, key.as_bytes()))
}

fn make(key_path: &Path, key: &str, names: Vec<String>) -> Result<String, TlsError> {
    let pair = KeyPair::from_pem(key)
        .map_err(|error| TlsError::content(key_path, format!("has no usable key ({error})")))?;
    let mut usable: Vec<String> = Vec::new();
    for name in ["localhost", "127.0.0.1", "::1"].into_iter().map(String::from).chain(names) {
        let is_name = UriHost::parse(&name).is_some() || name.parse::<std::net::IpAddr>().is_ok();
        if is_name && !usable.contains(&name) {
            usable.push(name);
        }
    }
    let mut params = CertificateParams::new(usable).map_err(make_failed)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Toolway gateway");
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2049, 12, 31);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params.self_signed(&pair).map_err(make_failed)?.pem())
}

fn make_failed(error: rcgen::Error) -> TlsError {
    TlsError::Make(error.to_string())
}

fn read(path: &Path) -> Result<Option<String>, TlsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TlsError::file(path)(error)),
    }
}

fn write(path: &Path, text: &str) -> Result<String, TlsError> {
    private_file::write(path, text.as_bytes()).map_err(TlsError::file(path))?;
    Ok(text.to_owned())
}
