//! `network_interfaces`: network interfaces, their addresses and traffic.

use schemars::JsonSchema;
use serde::Serialize;
use sysinfo::Networks;
use toolway_device::{Json, NoArguments, Tool, ToolError};

#[derive(Debug, Serialize, JsonSchema)]
struct NetworkInterfaces {
    /// Interfaces, sorted by name.
    interfaces: Vec<NetworkInterface>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct NetworkInterface {
    name: String,
    /// `up`, `down`, `unknown` (for example loopback), or another state of the operating system.
    state: String,
    /// Addresses with prefix length.
    addresses: Vec<String>,
    /// Hardware address, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    mac: Option<String>,
    mtu: u64,
    /// Bytes received since the computer started.
    received_bytes: u64,
    /// Bytes sent since the computer started.
    sent_bytes: u64,
}

pub(super) fn tool() -> Tool {
    Tool::typed(
        "network_interfaces",
        "Lists the network interfaces of this computer with their addresses and traffic",
        |_: NoArguments, _| async { super::query_system(read).await.map(Json) },
    )
    .title("Network interfaces")
    .read_only()
    .output_schema_of::<NetworkInterfaces>()
}

fn read() -> Result<NetworkInterfaces, ToolError> {
    let networks =
        Networks::new_with_refreshed_list().map_err(super::unavailable_error("its network interfaces"))?;
    let mut interfaces: Vec<NetworkInterface> = networks
        .iter()
        .map(|(name, data)| {
            let mut addresses: Vec<String> = data.ip_networks().iter().map(ToString::to_string).collect();
            addresses.sort();
            let mac = data.mac_address();
            NetworkInterface {
                name: name.to_string_lossy().into_owned(),
                state: data.operational_state().to_string(),
                addresses,
                mac: (!mac.is_unspecified()).then(|| mac.to_string()),
                mtu: data.mtu(),
                received_bytes: data.total_received(),
                sent_bytes: data.total_transmitted(),
            }
        })
        .collect();
    interfaces.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(NetworkInterfaces { interfaces })
}
