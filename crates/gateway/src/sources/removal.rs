//! Removing a device for good, with the token that only it uses.

use std::sync::Arc;

use toolway_store::StoreError;
use toolway_types::Role;

use super::DeviceSources;
use super::device_source::DeviceSource;
use crate::access::{AccessError, AccessTokens, LOCAL_DEVICE_ID};

/// Error when removing a device.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceRemovalError {
    /// The token could not be revoked.
    #[error(transparent)]
    Token(#[from] AccessError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Removes a device: closes its connections and removes its tools. First revokes the token if only this
/// device uses it, so that the device can't come back.
pub(crate) async fn remove_device(
    sources: &DeviceSources,
    tokens: &AccessTokens,
    source: &Arc<DeviceSource>,
) -> Result<(), DeviceRemovalError> {
    let token = source.token().to_string();
    let role = tokens.by_id(&token).map(|token| token.role());
    // The gateway's own computer comes back with the gateway. Tokens of clients and of the owner have other
    // uses than this device.
    let is_for_device_only = token != LOCAL_DEVICE_ID
        && sources.count_of(source.token()) == 1
        && matches!(role, Some(Role::Device | Role::Companion));
    if is_for_device_only {
        tokens.revoke(&token).await?;
    }
    sources.remove(source).await?;
    tracing::info!(source = %source.slug(), "device removed");
    Ok(())
}
