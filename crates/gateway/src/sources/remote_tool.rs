//! A tool that runs on a device.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_types::{ToolError, ToolOutput};

use super::seat::{WeakSeat, disconnected};

/// A tool of a device; it reaches its device through the seat that registered it.
pub(crate) struct RemoteTool {
    spec: Arc<ToolSpec>,
    seat: WeakSeat,
}

impl RemoteTool {
    pub(crate) fn new(spec: Arc<ToolSpec>, seat: WeakSeat) -> Arc<Self> {
        Arc::new(Self { spec, seat })
    }
}

#[async_trait]
impl Tool for RemoteTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let seat = self.seat.upgrade().ok_or_else(|| disconnected(false))?;
        let call = seat.begin(&self.spec, arguments.raw().clone(), cx).await?;
        drop(seat);
        call.answer().await
    }

    fn only_waits(&self) -> bool {
        true
    }

    fn marks_dispatch(&self) -> bool {
        true
    }
}
