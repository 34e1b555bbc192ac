//! What joins a connection to a source that was there before ("Who a connection is" in the protocol
//! document). It only means something together with the token: another token's equal identity is another
//! source.

use std::fmt;

/// The identity of a device, within its token.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct DeviceIdentity(String);

/// The claims of a connection and its token about its identity.
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
    /// The identity, by the first claim that says anything: `device_id`, what the token was paired for,
    /// `device_name`, `name`. None where the connection stands for itself alone.
    pub(crate) fn identity(&self) -> Option<DeviceIdentity> {
        let id = non_empty(self.device_id).or(non_empty(self.paired_id)).map(|id| format!("id:{id}"));
        let name = non_empty(self.paired_name).or(non_empty(self.device_name)).or(non_empty(self.name));
        id.or(name.map(|name| format!("name:{name}"))).map(DeviceIdentity)
    }

    /// The name for people.
    pub(crate) fn label(&self) -> Option<&'a str> {
        non_empty(self.device_name).or(non_empty(self.name)).or(non_empty(self.paired_name))
    }
}

fn non_empty(claim: Option<&str>) -> Option<&str> {
    claim.map(str::trim).filter(|claim| !claim.is_empty())
}

impl DeviceIdentity {
    /// As it was stored.
    pub(crate) fn from_stored(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// As it is stored.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
