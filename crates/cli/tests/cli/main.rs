//! Tests of the real program in separate processes, each with its own data folders.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod agents;
#[cfg(test)]
mod app_providers;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod approvals;
#[cfg(unix)]
#[cfg(test)]
mod backup;
#[cfg(unix)]
#[cfg(test)]
mod calls;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod chat;
#[cfg(unix)]
#[cfg(test)]
mod conversations;
#[cfg(unix)]
#[cfg(test)]
mod device;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod device_prompts;
#[cfg(test)]
mod loopback;
#[cfg(unix)]
#[cfg(test)]
mod mcp_install;
#[cfg(unix)]
#[cfg(test)]
mod mcp_servers;
#[cfg(unix)]
#[cfg(test)]
mod models;
#[cfg(unix)]
#[cfg(test)]
mod own_tools;
#[cfg(unix)]
#[cfg(test)]
mod policy;
#[cfg(unix)]
#[cfg(test)]
mod serve;
#[cfg(test)]
mod support;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod terminal;
#[cfg(unix)]
#[cfg(test)]
mod tool_changes;
#[cfg(test)]
mod usage;
