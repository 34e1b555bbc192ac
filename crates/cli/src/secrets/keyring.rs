//! Keyring of the operating system. Supported on macOS and Windows, where it needs no additional service.

use secrecy::SecretString;

use crate::error::{CliError, CliResult};

/// True if this system has a supported keyring.
pub(crate) const IS_AVAILABLE: bool = cfg!(any(target_os = "macos", windows));

/// Reads a secret.
///
/// # Errors
/// Returns a message for people.
pub(crate) fn read(name: &str) -> Result<SecretString, String> {
    imp::read(name)
}

/// Stores a secret.
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
        .with_hint("use --key-stdin to store the key in a private file instead")
}

#[cfg(any(target_os = "macos", windows))]
mod imp {
    use keyring_core::Entry;
    use keyring_core::api::CredentialStoreApi as _;
    use secrecy::{ExposeSecret, SecretString};

    /// Service name of Toolway's entries.
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

    const NONE: &str = "no supported keyring on this system";

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
