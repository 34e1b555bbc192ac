//! The operating system's keyring, where there is one that needs nothing running beside it: macOS and Windows.

use secrecy::SecretString;

use crate::error::{CliError, CliResult};

/// Whether this system has one that is used here.
pub(crate) const IS_AVAILABLE: bool = cfg!(any(target_os = "macos", windows));

/// The secret of this name.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn read(name: &str) -> Result<SecretString, String> {
    imp::read(name)
}

/// Keeps a secret.
pub(crate) fn set(name: &str, secret: &SecretString) -> CliResult {
    imp::set(name, secret).map_err(keyring_error)
}

/// Removes a secret.
pub(crate) fn remove(name: &str) -> CliResult {
    imp::remove(name).map_err(keyring_error)
}

fn keyring_error(problem: String) -> CliError {
    CliError::new(format!("the system's keyring: {problem}"))
        .with_code("keyring")
        .with_hint("--key-stdin keeps a key in a file for you alone instead")
}

#[cfg(any(target_os = "macos", windows))]
mod imp {
    use keyring_core::Entry;
    use keyring_core::api::CredentialStoreApi as _;
    use secrecy::{ExposeSecret, SecretString};

    /// Under which our entries stand in the keyring.
    const SERVICE: &str = "toolway";

    fn entry(name: &str) -> Result<Entry, String> {
        #[cfg(target_os = "macos")]
        let store = apple_native_keyring_store::keychain::Store::new();
        #[cfg(windows)]
        let store = windows_native_keyring_store::Store::new();
        store.and_then(|store| store.build(SERVICE, name, None)).map_err(|error| error.to_string())
    }

    pub(super) fn read(name: &str) -> Result<SecretString, String> {
        entry(name)?.get_password().map(SecretString::from).map_err(|error| error.to_string())
    }

    pub(super) fn set(name: &str, secret: &SecretString) -> Result<(), String> {
        entry(name)?.set_password(secret.expose_secret().trim()).map_err(|error| error.to_string())
    }

    pub(super) fn remove(name: &str) -> Result<(), String> {
        entry(name)?.delete_credential().map_err(|error| error.to_string())
    }
}

#[cfg(not(any(target_os = "macos", windows)))]
mod imp {
    use secrecy::SecretString;

    const NONE: &str = "this system has none that is used here";

    pub(super) fn read(_: &str) -> Result<SecretString, String> {
        Err(NONE.to_owned())
    }

    pub(super) fn set(_: &str, _: &SecretString) -> Result<(), String> {
        Err(NONE.to_owned())
    }

    pub(super) fn remove(_: &str) -> Result<(), String> {
        Err(NONE.to_owned())
    }
}
