//! Types of other crates as REST returns them. The command line uses these conversions if no gateway runs.

use std::path::Path;

use toolway_agent::models::{ModelCheckStatus, ModelFacts, ModelTestReport, ModelView};
use toolway_api::DefinitionOrigin;
use toolway_api::models::{self as api, ModelFactsView, ModelKeyView, ModelProviderView};
use toolway_mcp::definition::DefinitionLocation;

/// A model provider.
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

/// The result of a model test.
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

/// The location of an MCP server's definition.
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
