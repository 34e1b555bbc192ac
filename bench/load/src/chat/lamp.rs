//! The device whose tools the agent uses: answers at once, and notes when it was asked and when it had answered.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::device::{Device, Identity};
use crate::error::Result;
use crate::gateway::Gateway;
use crate::socket::Socket;
use crate::specs::{APP_TOOLS, app_frame};
use crate::stage::full_name;

/// When a call was asked for and answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
}

/// The device. It leaves when this is dropped.
#[derive(Debug)]
pub(crate) struct Lamp {
    /// The full names of its tools.
    pub(crate) tools: Vec<String>,
    held: Arc<Mutex<Vec<Held>>>,
    serving: AbortHandle,
}

impl Drop for Lamp {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Lamp {
    /// Joins the gateway.
    pub(crate) async fn join(gateway: &Gateway) -> Result<Self> {
        let token = gateway.device_tokens(1).await?.pop().unwrap_or_default();
        let identity = Identity { token, id: "lamp".to_owned() };
        let device = Device::join(&gateway.authority, &identity, app_frame(None).into()).await?;
        let tools = (0..APP_TOOLS.len()).map(|number| full_name(&device.source, number)).collect();
        let held = Arc::new(Mutex::new(Vec::new()));
        let serving = tokio::spawn(serve(device.into_socket(), held.clone())).abort_handle();
        Ok(Self { tools, held, serving })
    }

    /// The calls since this was last asked.
    pub(crate) fn take(&self) -> Vec<Held> {
        std::mem::take(&mut self.held.lock())
    }
}

/// What of a request it must know.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default)]
    id: &'a str,
}

/// A connection that breaks ends it; the turns then say that their calls failed.
async fn serve(mut socket: Socket, held: Arc<Mutex<Vec<Held>>>) {
    while let Some(Ok(frame)) = socket.next().await {
        let asked = Instant::now();
        let Message::Text(text) = frame else { continue };
        let Ok(Request { kind: "tool_call_request", id }) = serde_json::from_str(&text) else { continue };
        let answer = format!(r#"{{"type":"tool_result","id":"{id}","output":"done","success":true}}"#);
        if socket.send(Message::text(answer)).await.is_err() {
            return;
        }
        held.lock().push(Held { asked, answered: Instant::now() });
    }
}
