//! A tool as the models of an API get it, and the parts of its schema that the API cannot express.

use std::sync::Arc;

use toolway_api::tools::ToolConversion;
use toolway_core::ToolSpec;
use toolway_models::build_provider;
use toolway_models::config::{BaseUrl, ProviderConfig};
use toolway_models::schema::{self, NotExpressible, SchemaTarget};
use toolway_models::tools::ConvertedTool;
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{ModelProvider, ProviderKind, ToolDefinition};
use toolway_types::ToolId;

use super::ApiError;
use crate::state::AppState;

/// OpenAI's strict format, which is not a kind of provider.
const STRICT: &str = "openai-strict";

/// A provider of this kind that only converts tools.
fn converter(kind: ProviderKind, adjust: impl FnOnce(&mut ProviderConfig)) -> Option<Arc<dyn ModelProvider>> {
    let nowhere = "http://127.0.0.1".parse::<BaseUrl>().ok()?;
    let http = ProviderHttpClient::new(|| Err("this provider makes no requests".to_owned()));
    let mut config = ProviderConfig::new(kind.as_str(), kind, nowhere);
    adjust(&mut config);
    Some(build_provider(config, http))
}

/// A tool as the models of an API or of a configured provider get it.
///
/// # Errors
/// If `target` is neither.
pub(super) fn convert(
    app: &AppState,
    id: &ToolId,
    spec: &ToolSpec,
    target: &str,
) -> Result<ToolConversion, ApiError> {
    let document = spec.document();
    let name = id.full_name().to_string();
    let tool = ToolDefinition::new(name.clone(), spec.description(), document.parameters.clone());
    let converted = if target == STRICT {
        convert_strictly(&tool)
    } else if let Some(converter) = target.parse().ok().and_then(|kind| converter(kind, |_| {})) {
        converter.convert_tool(&tool)
    } else {
        let unknown = |_| {
            let words = format!("there is no API and no model provider named {target:?}");
            ApiError::not_found("model_provider_not_found", words).with_hint(format!(
                "use {STRICT}, {}, or a name from `toolway models list`",
                ProviderKind::names()
            ))
        };
        app.chat.models.get(Some(&format!("{target}/any"))).map_err(unknown)?.provider.convert_tool(&tool)
    };
    let (definition, lost, excluded_reason) = match converted {
        Ok(converted) => (Some(converted.json.clone()), converted.losses.clone(), None),
        Err(NotExpressible(why)) => (None, Vec::new(), Some(why)),
    };
    Ok(ToolConversion { name, target: target.to_owned(), definition, lost, excluded_reason })
}

fn convert_strictly(tool: &ToolDefinition) -> Result<Arc<ConvertedTool>, NotExpressible> {
    // The adapter falls back to the form that is not strict.
    schema::convert_parameters(tool.parameters.as_ref(), SchemaTarget::OpenAiStrict)?;
    let converter = converter(ProviderKind::Openai, |config| config.compatibility.strict = true);
    let converter = converter.ok_or_else(|| NotExpressible("the converter cannot be made".to_owned()))?;
    converter.convert_tool(tool)
}
