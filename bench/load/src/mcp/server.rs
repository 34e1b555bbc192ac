//! The bare MCP server: plain `rmcp` with no delay on its sockets, and tools that return their argument. It
//! runs behind the gateway and is compared with it. A separate process, so that its memory and CPU time can
//! be measured.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::McpPlan;
use super::request::McpEndpoint;
use crate::error::{ErrorContext, Result};
use crate::gateway::{GatewayLaunchOptions, create_data_folder, wait_for_authority};
use crate::load::default_workers;
use crate::output::print_line;
use crate::process::{ChildProcess, ChildProgram};

/// Path of the MCP endpoint.
const PATH: &str = "/mcp";

/// Returns the number of workers of the bare server: that of the gateway.
pub(crate) fn worker_count(settings: &GatewayLaunchOptions) -> usize {
    settings.workers.unwrap_or_else(default_workers)
}

/// The server as a process.
#[derive(Debug)]
pub(crate) struct BareServerProcess {
    authority: String,
    process: ChildProcess,
    _folder: TempDir,
}

impl BareServerProcess {
    /// Starts a server with this number of tools and connections.
    pub(crate) async fn start(plan: &McpPlan, tools: usize, connections: usize) -> Result<Self> {
        let folder = create_data_folder()?;
        let (workers, tools) = (worker_count(&plan.gateway).to_string(), tools.to_string());
        let args = ["mcp-server", "--workers", &workers, "--tools", &tools];
        let files = u64::try_from(connections + 200).unwrap_or(u64::MAX);
        let mut program = ChildProgram::current_harness("mcp-server", &args, folder.path(), files)?;
        if let Some(path) = &plan.server {
            program.path.clone_from(path);
        }
        let mut process = ChildProcess::start(&program)?;
        let authority = wait_for_authority(&mut process).await?;
        Ok(Self { authority, process, _folder: folder })
    }

    /// Returns its MCP endpoint.
    pub(crate) fn endpoint(&self) -> McpEndpoint {
        McpEndpoint { authority: self.authority.clone(), path: PATH.to_owned(), token: None }
    }

    /// Returns its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.authority)
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Kills the process.
    pub(crate) async fn kill(self) -> Result<()> {
        self.process.kill().await
    }
}

/// Returns the name of the tool with this number.
pub(crate) fn tool_name(number: usize) -> String {
    format!("echo_{number:04}")
}

/// Runs the server until standard input ends.
pub(crate) fn serve_process(workers: usize, tools: usize) -> Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime =
        runtime.worker_threads(workers).enable_all().build().context("starting the MCP server's runtime")?;
    runtime.block_on(async {
        let what = "serving MCP";
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context(what)?;
        let authority = listener.local_addr().context(what)?;
        // A socket without this option still works; the figures would show it.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let serving = axum::serve(listener, router(tools));
        let mut input = crate::input_lines::input_lines();
        print_line(&json!({"event": "ready", "url": format!("http://{authority}")}).to_string())?;
        tokio::select! {
            result = async { serving.await } => result.context(what),
            () = async { while input.recv().await.is_some() {} } => Ok(()),
        }
    })
}

fn router(tools: usize) -> Router {
    let tools: Arc<[Tool]> = (0..tools).map(tool).collect();
    let make = move || Ok(BareServerHandler { tools: Arc::clone(&tools) });
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(make, sessions, StreamableHttpServerConfig::default());
    Router::new().route_service(PATH, service)
}

/// Creates a tool with a typical description.
fn tool(number: usize) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "What is to be given back, as it is"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many at most"},
            "order": {"type": "string", "enum": ["newest", "oldest", "best"]},
        },
        "required": ["text"],
    });
    let schema: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    let description = format!("Gives back the text that it is given. It is number {number} of its kind.");
    Tool::new(tool_name(number), description, Arc::new(schema))
}

struct BareServerHandler {
    tools: Arc<[Tool]>,
}

impl ServerHandler for BareServerHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("toolway-load", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_ref().and_then(|arguments| arguments.get("text")?.as_str());
        match text {
            Some(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            None => Err(ErrorData::invalid_params("there is no text to give back", None)),
        }
    }
}
