//! Who is on stage: bare servers with one tool and with a thousand, a gateway in front of both that has a device too,
//! and perhaps a proxy.

use std::time::Duration;

use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::Plan;
use super::proxy::{BACKEND, Proxy};
use super::request::{Endpoint, Era, Line};
use super::server::{BareServer, tool_name};
use super::sessions;
use super::side::Asked;
use super::wire::Wire;
use crate::error::{During, Result, unexpected};
use crate::gateway::{Gateway, Settings, data_folder};
use crate::load::default_workers;
use crate::stage::{Devices, join_devices};

/// How many tools make a long list.
pub(crate) const MANY: usize = 1000;
/// Slugs of the bare servers.
const ONE_SLUG: &str = "one";
const MANY_SLUG: &str = "many";
/// How long the gateway may take until a server's tools are there.
const THERE_LIMIT: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(50);

/// All of them.
pub(crate) struct Stage {
    pub(crate) one: BareServer,
    pub(crate) many: BareServer,
    pub(crate) gateway: Gateway,
    pub(crate) proxy: Option<Proxy>,
    /// A client's token.
    token: String,
    /// The device's tools, under its slug.
    device: String,
    device_tool: String,
    /// Which era the proxy speaks to its clients.
    proxy_era: Era,
    // The device ends with this.
    _devices: Devices,
}

/// How many workers the bare server is given: as many as the gateway.
pub(crate) fn workers(settings: &Settings) -> usize {
    settings.workers.unwrap_or_else(default_workers)
}

/// A data folder with these MCP servers, and room for `sessions` MCP sessions of one client.
pub(crate) fn folder_with(servers: &[(&str, &BareServer)], sessions: usize) -> Result<TempDir> {
    let folder = data_folder()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data).during("making the data folder")?;
    let defined =
        servers.iter().map(|(slug, server)| format!("[servers.{slug}]\nurl = \"{}\"\n", server.url()));
    std::fs::write(data.join("mcp.toml"), defined.collect::<String>()).during("writing mcp.toml")?;
    // One client may have half of all.
    let settings = format!("[mcp]\nsessions = {}\n", 2 * sessions);
    std::fs::write(data.join("toolway.toml"), settings).during("writing toolway.toml")?;
    Ok(folder)
}

/// An endpoint of the gateway that shows one source.
pub(crate) fn source(gateway: &Gateway, slug: &str, token: &str) -> Endpoint {
    Endpoint {
        authority: gateway.authority.clone(),
        path: format!("/mcp/sources/{slug}"),
        token: Some(token.to_owned()),
    }
}

impl Stage {
    /// Starts all, and waits until each can be called.
    pub(crate) async fn start(plan: &Plan) -> Result<Self> {
        let one = BareServer::start(plan, 1, 100).await?;
        let many = BareServer::start(plan, MANY, 100).await?;
        let folder = folder_with(&[(ONE_SLUG, &one), (MANY_SLUG, &many)], 100)?;
        let gateway = Gateway::start_in(&plan.gateway, folder).await?;
        let token = gateway.token("client", "load").await?;
        let mut devices = Devices::new();
        let names = join_devices(&gateway, "load", 1, false, &mut devices).await?;
        let name = names.first().and_then(|name| name.split_once("__"));
        let Some((device, device_tool)) = name else { return unexpected("a device without tools") };
        let proxy = match &plan.proxy {
            Some(path) => Some(Proxy::start(path, &one).await?),
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
            proxy_era: Era::Modern,
            _devices: devices,
        };
        for line in [stage.through(Era::Modern), stage.long(Era::Modern)] {
            there(&line, &call(&line)).await?;
        }
        if let Some(line) = stage.proxied() {
            stage.proxy_era = era_of_proxy(&line).await?;
        }
        Ok(stage)
    }

    /// The bare server with one tool.
    pub(crate) fn direct(&self, era: Era) -> Line {
        Line { endpoint: self.one.endpoint(), era, session: None }
    }

    /// The same through the gateway.
    pub(crate) fn through(&self, era: Era) -> Line {
        Line { endpoint: source(&self.gateway, ONE_SLUG, &self.token), era, session: None }
    }

    /// The same through the proxy.
    pub(crate) fn proxied(&self) -> Option<Line> {
        Some(Line { endpoint: self.proxy.as_ref()?.endpoint(), era: self.proxy_era, session: None })
    }

    /// The bare server with a thousand tools.
    pub(crate) fn long_direct(&self, era: Era) -> Line {
        Line { endpoint: self.many.endpoint(), era, session: None }
    }

    /// The same through the gateway.
    pub(crate) fn long(&self, era: Era) -> Line {
        Line { endpoint: source(&self.gateway, MANY_SLUG, &self.token), era, session: None }
    }

    /// The device.
    pub(crate) fn device(&self) -> Line {
        Line { endpoint: source(&self.gateway, &self.device, &self.token), era: Era::Modern, session: None }
    }

    /// A call of the device's tool.
    pub(crate) fn call_device(&self, line: &Line) -> Asked {
        asked(line, &self.device_tool)
    }

    /// Ends all.
    pub(crate) async fn kill(self) -> Result<()> {
        if let Some(proxy) = self.proxy {
            proxy.kill().await?;
        }
        self.gateway.kill().await?;
        self.one.kill().await?;
        self.many.kill().await
    }
}

/// A call of a bare server's first tool.
pub(crate) fn call(line: &Line) -> Asked {
    asked(line, &tool_name(0))
}

/// The same under the name that the proxy gives it.
pub(crate) fn call_proxied(line: &Line) -> Asked {
    asked(line, &format!("{BACKEND}/{}", tool_name(0)))
}

/// The list of a thousand tools, which has the last one in it.
pub(crate) fn list(line: &Line) -> Asked {
    Asked { request: line.list(), expected: format!("\"{}\"", tool_name(MANY - 1)) }
}

fn asked(line: &Line, tool: &str) -> Asked {
    let text: String = "The quick brown fox jumps over the lazy dog. ".chars().cycle().take(64).collect();
    Asked { request: line.call(tool, &text), expected: format!("\"{text}\"") }
}

/// Waits until a request is answered rightly.
pub(crate) async fn there(line: &Line, asked: &Asked) -> Result<()> {
    let end = Instant::now() + THERE_LIMIT;
    loop {
        let mut wire = Wire::open(&line.endpoint.authority).await?;
        let mut request = asked.request.clone();
        let answer = wire.ask_soon(request.next().0).await?;
        if answer.status == 200 && answer.has(asked.expected.as_bytes()) {
            return Ok(());
        }
        if Instant::now() >= end {
            return unexpected(format!(
                "{} does not answer as it should: {}",
                line.endpoint.path,
                answer.shown()
            ));
        }
        sleep(STEP).await;
    }
}

/// The newer era where the proxy answers in it, else the older one.
async fn era_of_proxy(line: &Line) -> Result<Era> {
    let asked = call_proxied(line);
    let mut wire = Wire::open(&line.endpoint.authority).await?;
    let answer = wire.ask_soon(asked.request.clone().next().0).await?;
    if answer.status == 200 && answer.has(asked.expected.as_bytes()) {
        return Ok(Era::Modern);
    }
    let modern = answer.shown();
    let mut wire = Wire::open(&line.endpoint.authority).await?;
    let line = sessions::begin(&mut wire, &Line { era: Era::Legacy, ..line.clone() }).await?;
    let asked = call_proxied(&line);
    let answer = wire.ask_soon(asked.request.clone().next().0).await?;
    match answer.status == 200 && answer.has(asked.expected.as_bytes()) {
        true => Ok(Era::Legacy),
        false => unexpected(format!("mcp-proxy answers in neither era: {modern}; {}", answer.shown())),
    }
}
