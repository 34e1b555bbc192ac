//! What this computer is and how it does. All of it is read-only.

mod battery;
mod device_info;
mod disks;
mod network;
mod processes;
mod sensors;

use toolway_device::{Code, Tool, ToolError};

/// The tools of this computer. Temperatures are among them only where it has any to tell.
///
/// Looks for temperature sensors, so it may block for some milliseconds.
#[must_use]
pub fn tools() -> Vec<Tool> {
    let mut tools = vec![device_info::tool(), disks::tool(), processes::tool(), network::tool()];
    tools.extend(sensors::tool());
    tools
}

/// Asks the operating system on a thread of its own: it may be slow to answer.
async fn query_system<T: Send + 'static>(
    question: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(question).await {
        Ok(answer) => answer,
        Err(error) => Err(ToolError::new(Code::ToolPanicked, error.to_string())),
    }
}

/// What the operating system does not tell.
fn unavailable_error(what: &str) -> impl FnOnce(sysinfo::Error) -> ToolError + '_ {
    move |error| ToolError::new(Code::ToolFailed, format!("this computer does not tell {what}: {error}"))
}

/// Rounds to two digits behind the point: more would be noise.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
