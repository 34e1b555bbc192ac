//! SDK for programs that offer tools to a Toolway gateway, on a laptop, a server or in an app.
//!
//! ```no_run
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolway_device::{Device, ProgressReport, Tool, ToolContext, failed};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let add = Tool::typed("add", "Adds two numbers", |args: Add, cx: ToolContext| async move {
//!         cx.report_progress(ProgressReport::new(0.5)).await;
//!         let sum = args.a.checked_add(args.b).ok_or_else(|| failed("the sum is too large"))?;
//!         Ok(serde_json::json!({ "sum": sum }))
//!     });
//!     let device = Device::builder("http://127.0.0.1:7717")
//!         .token(std::fs::read_to_string("device.token")?.trim())
//!         .name("Laptop")
//!         .tool(add)
//!         .build()?;
//!     device.start().wait().await?;
//!     Ok(())
//! }
//! ```
//!
//! `examples/add_numbers.rs` is a complete program, which also prints the state of its connection and the next
//! step after an error. Its token comes from `toolway tokens create --role device`.
//!
//! [`pair()`] exchanges a pairing code for the token. The device reconnects automatically and retries network
//! errors forever; only an error that retrying cannot fix ends it ([`DeviceError`]). A call runs only once, even
//! if the connection is lost during the call: the call continues, and its result is sent after the reconnect.
//!
//! The SDK contains no engine and no call timeouts of its own (the gateway decides). It reads neither settings
//! nor the environment, and is small enough for a phone.

mod address;
mod app_providers;
mod backoff;
mod call_table;
mod connection;
mod context;
mod device;
mod device_state;
pub mod error;
mod execution;
pub mod pairing;
mod result_frame;
pub mod status;
mod supervisor;
pub mod tool;
mod transport;
pub mod trust;

pub use address::{BadGatewayUrl, GatewayUrl};
pub use backoff::Backoff;
pub use context::{ProgressReport, ToolContext, WaitingGuard};
pub use device::{BuildError, Device, DeviceBuilder, DeviceHandle, RunningDevice};
pub use error::DeviceError;
pub use pairing::{PairError, PairOptions, PairedCredentials, pair};
pub use schemars;
pub use status::ConnectionStatus;
pub use tokio_util::sync::CancellationToken;
pub use tool::output::{IntoOutput, Json};
pub use tool::table::BadTool;
pub use tool::{NoArguments, Tool, failed};
pub use toolway_types::{Code, ContentPart, JsonObject, RawJson, SpecDocument, ToolError, ToolOutput};
pub use toolway_wire::client_message::WaitingFor;
pub use toolway_wire::client_message::app_providers::{
    AppProvider, AppProviderInfo, AppProviderNote, AppProviderNoteKind, AppProviderScope, AppProviderState,
    dialect,
};
pub use toolway_wire::pairing::{KeyPin, KeyPrefix, PairRequest, PairingCode, PairingInput, PairingLink};
pub use transport::ConnectError;
pub use transport::refusal::GatewayRefusal;
pub use trust::GatewayTrust;
