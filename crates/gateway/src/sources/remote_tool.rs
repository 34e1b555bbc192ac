//! A tool that runs on a device.

use std::sync::Arc;

use async_trait::async_trait;
use toolway_core::{Arguments, CallContext, Tool, ToolSpec};
use toolway_types::{ToolError, ToolOutput};

use super::device_session::{DeviceSession, WeakDeviceSession, disconnected_error};

/// A tool of a device. It reaches its device through the session that registered it.
struct RemoteTool {
    spec: Arc<ToolSpec>,
    /// Weak, because the session owns the lease that holds this tool.
    session: WeakDeviceSession,
}

/// Creates the tools of these specs, which run on the session's device.
pub(crate) fn remote_tools(session: &Arc<DeviceSession>, specs: Vec<Arc<ToolSpec>>) -> Vec<Arc<dyn Tool>> {
    let tool = |spec| Arc::new(RemoteTool { spec, session: Arc::downgrade(session) }) as Arc<dyn Tool>;
    specs.into_iter().map(tool).collect()
}

#[async_trait]
impl Tool for RemoteTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    async fn execute(&self, arguments: Arguments, cx: &CallContext) -> Result<ToolOutput, ToolError> {
        let session = self.session.upgrade().ok_or_else(|| disconnected_error(false))?;
        let call = session.begin_call(&self.spec, arguments.raw().clone(), cx).await?;
        // The call has what it needs; it must not keep an ended session alive.
        drop(session);
        call.wait_for_answer().await
    }

    fn can_run_inline(&self) -> bool {
        true
    }

    fn marks_dispatch(&self) -> bool {
        true
    }
}
