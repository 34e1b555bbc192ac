//! The identity by which a connection joins an existing source ("Who a connection is" in the protocol
//! document). It is valid only within the token: an equal identity of another token is another source.

use std::fmt;

/// The identity of a device, within its token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DeviceIdentity(String);

/// A connection's and its token's claims about the identity.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdentityClaims<'a> {
    /// `connect.device_id`.
    pub(crate) device_id: Option<&'a str>,
    /// The device id that the token was paired for.
    pub(crate) paired_id: Option<&'a str>,
    /// The device name that the token was paired for.
    pub(crate) paired_name: Option<&'a str>,
    /// `connect.device_name`.
    pub(crate) device_name: Option<&'a str>,
    /// The query's `name`.
    pub(crate) name: Option<&'a str>,
}

impl<'a> IdentityClaims<'a> {
    /// Returns the identity from the first claim with a value: `device_id`, the pairing of the token,
    /// `device_name`, `name`. `None` if the connection is a source of its own.
    pub(crate) fn identity(&self) -> Option<DeviceIdentity> {
        let id = non_empty(self.device_id).or(non_empty(self.paired_id)).map(|id| format!("id:{id}"));
        let name = non_empty(self.paired_name).or(non_empty(self.device_name)).or(non_empty(self.name));
        id.or(name.map(|name| format!("name:{name}"))).map(DeviceIdentity)
    }

    /// Returns the display name.
    pub(crate) fn label(&self) -> Option<&'a str> {
        non_empty(self.device_name).or(non_empty(self.name)).or(non_empty(self.paired_name))
    }
}

fn non_empty(claim: Option<&str>) -> Option<&str> {
    claim.map(str::trim).filter(|claim| !claim.is_empty())
}

impl DeviceIdentity {
    /// Creates an identity from its stored form.
    pub(crate) fn from_stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the stored form.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
