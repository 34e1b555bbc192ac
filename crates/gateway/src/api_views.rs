//! Converts types of other crates to REST types. The command line uses these conversions if no gateway runs.

use std::path::Path;

use toolway_agent::models::{ModelCheckStatus, ModelFacts, ModelTestReport, ModelView};
use toolway_api::DefinitionOrigin;
use toolway_api::mcp_servers::{McpServerProblem, McpServerStatus, OmittedTool};
use toolway_api::models::{self as api, ModelFactsView, ModelKeyView, ModelProviderView};
use toolway_mcp::definition::DefinitionLocation;
use toolway_mcp::upstream::UpstreamStatus;

/// Converts a model provider.
#[must_use]
pub fn model_provider_view(view: ModelView) -> ModelProviderView {
    let facts = |facts: ModelFacts| ModelFactsView {
        context_window: facts.context_tokens,
        max_tools: facts.max_tools,
        images: facts.images,
    };
    ModelProviderView {
        name: view.name,
        kind: view.kind.to_string(),
        preset: view.preset,
        base_url: view.base_url,
        key: view.key.map(|key| ModelKeyView { location: key.place, present: key.present }),
        model: view.model,
        models: view.models.into_iter().map(|(id, known)| (id, facts(known))).collect(),
    }
}

/// Converts the result of a model test.
#[must_use]
pub fn model_test_report(report: ModelTestReport) -> api::ModelTestReport {
    let checks = report.checks.into_iter().map(|check| api::ModelTestCheck {
        check: check.check.to_owned(),
        status: match check.status {
            ModelCheckStatus::Ok => "ok",
            ModelCheckStatus::Failed => "failed",
            ModelCheckStatus::Skipped => "skipped",
        }
        .to_owned(),
        message: check.message,
        hint: check.hint,
    });
    api::ModelTestReport {
        name: report.name,
        model: report.model,
        ok: report.ok,
        checks: checks.collect(),
        duration_ms: report.duration_ms,
    }
}

/// Converts the location of an MCP server's definition.
#[must_use]
pub fn mcp_server_origin(location: &DefinitionLocation) -> DefinitionOrigin {
    let text = |path: &Path| path.display().to_string();
    match location {
        DefinitionLocation::File { path, line } => {
            DefinitionOrigin { path: Some(text(path)), line: Some(*line), ..DefinitionOrigin::new("file") }
        }
        DefinitionLocation::Settings { path, line } => DefinitionOrigin {
            path: path.as_deref().map(text),
            line: *line,
            ..DefinitionOrigin::new("settings")
        },
    }
}

/// Converts the state of the connection to an MCP server.
#[must_use]
pub fn mcp_server_status(status: UpstreamStatus) -> McpServerStatus {
    McpServerStatus {
        source: status.slug.to_string(),
        endpoint: status.place,
        state: status.state.as_str().to_owned(),
        since_ms: status.since_ms,
        next_retry_ms: status.next_try_ms,
        transport: status.transport.map(|transport| transport.as_str().to_owned()),
        protocol_version: status.protocol_version,
        era: status.era.map(|era| era.as_str().to_owned()),
        server_name: status.server_name,
        server_version: status.server_version,
        tools: status.tools,
        resources: status.resources,
        prompts: status.prompts,
        left_out: status
            .left_out
            .into_iter()
            .map(|tool| OmittedTool { name: tool.name, reason: tool.reason })
            .collect(),
        problem: status
            .problem
            .map(|problem| McpServerProblem { message: problem.message, hint: problem.hint }),
    }
}
