//! A tool that runs on a device.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_types::{ToolError, ToolOutput};

use super::device_session::{WeakDeviceSession, disconnected_error};

/// A tool of a device; it reaches its device through the seat that registered it.
pub(crate) struct RemoteTool {
    spec: Arc<ToolSpec>,
    session: WeakDeviceSession,
}

impl RemoteTool {
    pub(crate) fn new(spec: Arc<ToolSpec>, seat: WeakDeviceSession) -> Arc<Self> {
        Arc::new(Self { spec, session: seat })
    }
}

#[async_trait]
impl Tool for RemoteTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let seat = self.session.upgrade().ok_or_else(|| disconnected_error(false))?;
        let call = seat.begin_call(&self.spec, arguments.raw().clone(), cx).await?;
        drop(seat);
        call.wait_for_answer().await
    }

    fn can_run_inline(&self) -> bool {
        true
    }

    fn marks_dispatch(&self) -> bool {
        true
    }
}
