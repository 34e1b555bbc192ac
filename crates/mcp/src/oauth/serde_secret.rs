//! Serialization of secrets in stored credentials. The store encrypts them as a whole; see [`super::store`].

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize as _, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(secret: &SecretString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(secret.expose_secret())
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SecretString, D::Error> {
    String::deserialize(from).map(SecretString::from)
}

/// The same for a secret that may be missing.
pub(super) mod option {
    use secrecy::ExposeSecret as _;
    use serde::Deserialize as _;

    use super::{Deserializer, SecretString, Serializer};

    pub(in crate::oauth) fn serialize<S: Serializer>(
        secret: &Option<SecretString>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => to.serialize_some(secret.expose_secret()),
            None => to.serialize_none(),
        }
    }

    pub(in crate::oauth) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<SecretString>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(SecretString::from))
    }
}
