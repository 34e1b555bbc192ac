//! The targets: bare servers with one tool and with a thousand, a gateway in front of both with a device, and
//! optionally a proxy.

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::McpPlan;
use super::connection::HttpConnection;
use super::proxy::{BACKEND, ReferenceProxyProcess};
use super::request::{McpEndpoint, McpRequestBuilder, ProtocolEra};
use super::server::{BareServerProcess, tool_name};
use super::session::begin_session;
use super::target_measurement::ExpectedExchange;
use crate::connections::{DeviceTasks, join_devices};
use crate::error::{ErrorContext, Result, unexpected};
use crate::gateway::{BenchGateway, create_data_folder};

/// Number of tools in the long list.
pub(crate) const MANY_TOOLS: usize = 1000;
/// Slugs of the bare servers.
const ONE_SLUG: &str = "one";
const MANY_SLUG: &str = "many";
/// Maximum time until the gateway has a server's tools.
const READY_LIMIT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// All targets.
pub(crate) struct McpTestbed {
    pub(crate) one: BareServerProcess,
    pub(crate) many: BareServerProcess,
    pub(crate) gateway: BenchGateway,
    pub(crate) proxy: Option<ReferenceProxyProcess>,
    /// Token of a client.
    token: String,
    /// Slug of the device.
    device: String,
    device_tool: String,
    /// Protocol era between the proxy and its clients.
    proxy_era: ProtocolEra,
    // The device ends when this is dropped.
    _devices: DeviceTasks,
}

/// Number of connections and streams of the client besides those of its sessions.
const OTHER_STREAMS: usize = 64;

/// Creates a data folder with these MCP servers, and capacity for `sessions` MCP sessions of one client.
pub(crate) fn data_folder_with_servers(
    servers: &[(&str, &BareServerProcess)],
    sessions: usize,
) -> Result<TempDir> {
    let folder = create_data_folder()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data).context("making the data folder")?;
    let defined =
        servers.iter().map(|(slug, server)| format!("[servers.{slug}]\nurl = \"{}\"\n", server.url()));
    std::fs::write(data.join("mcp.toml"), defined.collect::<String>()).context("writing mcp.toml")?;
    // One client may have half of all sessions. Each session has an open stream on a connection of its own.
    let streams = sessions + OTHER_STREAMS;
    let settings = format!(
        "[mcp]\nsessions = {}\n[limits]\nconnections_per_principal = {streams}\nsse_streams = {}\n\
         sse_streams_per_principal = {streams}\n",
        2 * sessions,
        2 * streams
    );
    std::fs::write(data.join("toolway.toml"), settings).context("writing toolway.toml")?;
    Ok(folder)
}

/// Returns an endpoint of the gateway with the tools of one source.
pub(crate) fn source_endpoint(gateway: &BenchGateway, slug: &str, token: &str) -> McpEndpoint {
    McpEndpoint {
        authority: gateway.authority.clone(),
        path: format!("/mcp/sources/{slug}"),
        token: Some(token.to_owned()),
    }
}

impl McpTestbed {
    /// Starts all targets, and waits until each can be called.
    pub(crate) async fn start(plan: &McpPlan) -> Result<Self> {
        let one = BareServerProcess::start(plan, 1, 100).await?;
        let many = BareServerProcess::start(plan, MANY_TOOLS, 100).await?;
        let folder = data_folder_with_servers(&[(ONE_SLUG, &one), (MANY_SLUG, &many)], 100)?;
        let gateway = BenchGateway::start_in(&plan.gateway, folder).await?;
        let token = gateway.create_token("client", "load").await?;
        let mut devices = DeviceTasks::new();
        let names = join_devices(&gateway, "load", 1, false, &mut devices).await?;
        let name = names.first().and_then(|name| name.split_once("__"));
        let Some((device, device_tool)) = name else { return unexpected("a device without tools") };
        let proxy = match &plan.proxy {
            Some(path) => Some(ReferenceProxyProcess::start(path, &one).await?),
            None => None,
        };
        let mut stage = Self {
            device: device.to_owned(),
            device_tool: device_tool.to_owned(),
            one,
            many,
            gateway,
            proxy,
            token,
            proxy_era: ProtocolEra::Modern,
            _devices: devices,
        };
        for line in
            [stage.gateway_one_tool(ProtocolEra::Modern), stage.gateway_many_tools(ProtocolEra::Modern)]
        {
            wait_until_ready(&line, &tool_call(&line)).await?;
        }
        if let Some(line) = stage.proxy_one_tool() {
            stage.proxy_era = detect_proxy_era(&line).await?;
        }
        Ok(stage)
    }

    /// Requests to the bare server with one tool.
    pub(crate) fn direct_one_tool(&self, era: ProtocolEra) -> McpRequestBuilder {
        McpRequestBuilder { endpoint: self.one.endpoint(), era, session: None }
    }

    /// Requests through the gateway to the server with one tool.
    pub(crate) fn gateway_one_tool(&self, era: ProtocolEra) -> McpRequestBuilder {
        McpRequestBuilder {
            endpoint: source_endpoint(&self.gateway, ONE_SLUG, &self.token),
            era,
            session: None,
        }
    }

    /// Requests through the proxy to the server with one tool.
    pub(crate) fn proxy_one_tool(&self) -> Option<McpRequestBuilder> {
        Some(McpRequestBuilder {
            endpoint: self.proxy.as_ref()?.endpoint(),
            era: self.proxy_era,
            session: None,
        })
    }

    /// Requests to the bare server with a thousand tools.
    pub(crate) fn direct_many_tools(&self, era: ProtocolEra) -> McpRequestBuilder {
        McpRequestBuilder { endpoint: self.many.endpoint(), era, session: None }
    }

    /// Requests through the gateway to the server with a thousand tools.
    pub(crate) fn gateway_many_tools(&self, era: ProtocolEra) -> McpRequestBuilder {
        McpRequestBuilder {
            endpoint: source_endpoint(&self.gateway, MANY_SLUG, &self.token),
            era,
            session: None,
        }
    }

    /// Requests through the gateway to the device.
    pub(crate) fn gateway_device(&self) -> McpRequestBuilder {
        McpRequestBuilder {
            endpoint: source_endpoint(&self.gateway, &self.device, &self.token),
            era: ProtocolEra::Modern,
            session: None,
        }
    }

    /// Creates a call of the device's tool.
    pub(crate) fn device_tool_call(&self, line: &McpRequestBuilder) -> ExpectedExchange {
        expect_echo(line, &self.device_tool)
    }

    /// Kills all processes.
    pub(crate) async fn kill(self) -> Result<()> {
        if let Some(proxy) = self.proxy {
            proxy.kill().await?;
        }
        self.gateway.kill().await?;
        self.one.kill().await?;
        self.many.kill().await
    }
}

/// Creates a call of a bare server's first tool.
pub(crate) fn tool_call(line: &McpRequestBuilder) -> ExpectedExchange {
    expect_echo(line, &tool_name(0))
}

/// Creates a call of the same tool by its name in the proxy.
pub(crate) fn proxied_tool_call(line: &McpRequestBuilder) -> ExpectedExchange {
    expect_echo(line, &format!("{BACKEND}/{}", tool_name(0)))
}

/// Creates a request for the list of a thousand tools, which must contain the last one.
pub(crate) fn tool_list(line: &McpRequestBuilder) -> ExpectedExchange {
    ExpectedExchange { request: line.list_tools(), expected: format!("\"{}\"", tool_name(MANY_TOOLS - 1)) }
}

fn expect_echo(line: &McpRequestBuilder, tool: &str) -> ExpectedExchange {
    let text: String = "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(64).collect();
    ExpectedExchange { request: line.call_tool(tool, &text), expected: format!("\"{text}\"") }
}

/// Waits until a request has the expected answer.
pub(crate) async fn wait_until_ready(line: &McpRequestBuilder, asked: &ExpectedExchange) -> Result<()> {
    let end = Instant::now() + READY_LIMIT;
    loop {
        let mut wire = HttpConnection::open(&line.endpoint.authority).await?;
        let mut request = asked.request.clone();
        let answer = wire.request_with_timeout(request.next_request().0).await?;
        if answer.status == 200 && answer.body_contains(asked.expected.as_bytes()) {
            return Ok(());
        }
        if Instant::now() >= end {
            return unexpected(format!(
                "{} does not answer as it should: {}",
                line.endpoint.path,
                answer.summary()
            ));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Returns the newer era if the proxy supports it, otherwise the older one.
async fn detect_proxy_era(line: &McpRequestBuilder) -> Result<ProtocolEra> {
    let asked = proxied_tool_call(line);
    let mut wire = HttpConnection::open(&line.endpoint.authority).await?;
    let answer = wire.request_with_timeout(asked.request.clone().next_request().0).await?;
    if answer.status == 200 && answer.body_contains(asked.expected.as_bytes()) {
        return Ok(ProtocolEra::Modern);
    }
    let modern = answer.summary();
    let mut wire = HttpConnection::open(&line.endpoint.authority).await?;
    let line =
        begin_session(&mut wire, &McpRequestBuilder { era: ProtocolEra::Legacy, ..line.clone() }).await?;
    let asked = proxied_tool_call(&line);
    let answer = wire.request_with_timeout(asked.request.clone().next_request().0).await?;
    match answer.status == 200 && answer.body_contains(asked.expected.as_bytes()) {
        true => Ok(ProtocolEra::Legacy),
        false => unexpected(format!("mcp-proxy answers in neither era: {modern}; {}", answer.summary())),
    }
}
