//! Tools that report the hardware and state of this computer. All of them are read-only.

mod battery;
mod device_info;
mod disks;
mod network;
mod processes;
mod sensors;

use toolway_device::{Code, Tool, ToolError};

/// Creates the tools of this computer. `sensors` is included only if the computer has a temperature sensor.
///
/// Looks for temperature sensors, so it may block for some milliseconds.
#[must_use]
pub fn tools() -> Vec<Tool> {
    let mut tools = vec![device_info::tool(), disks::tool(), processes::tool(), network::tool()];
    tools.extend(sensors::tool());
    tools
}

/// Runs a system query on a blocking thread, because the operating system may be slow to answer.
async fn query_system<T: Send + 'static>(
    question: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(question).await {
        Ok(answer) => answer,
        Err(error) => Err(ToolError::new(Code::ToolPanicked, error.to_string())),
    }
}

/// Creates the error for a value that the operating system does not report.
fn unavailable_error(what: &str) -> impl FnOnce(sysinfo::Error) -> ToolError + '_ {
    move |error| {
        ToolError::new(Code::ToolFailed, format!("the operating system does not report {what}: {error}"))
    }
}

/// Rounds to two decimals; more would be noise.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests;
