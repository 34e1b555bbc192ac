//! A tool as the models of an API get it, and the parts of its schema that the API cannot express.

use std::sync::Arc;

use serde::Serialize;
use toolway_api::tools::ToolConversion;
use toolway_core::ToolSpec;
use toolway_models::config::{BaseUrl, ProviderConfig, build_provider};
use toolway_models::provider::{ConvertedTool, NotExpressible};
use toolway_models::schema::{self, SchemaTarget};
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{ModelProvider, ProviderKind, ToolDefinition};
use toolway_types::{RawJson, ToolId};

use super::ApiError;
use crate::state::AppState;

/// OpenAI's strict format, which is not a kind of provider.
const STRICT: &str = "openai-strict";

/// A provider of this kind that only converts tools.
fn converter(kind: ProviderKind) -> Option<Arc<dyn ModelProvider>> {
    let nowhere = "http://127.0.0.1".parse::<BaseUrl>().ok()?;
    let http = ProviderHttpClient::new(|| Err("this provider makes no requests".to_owned()));
    Some(build_provider(ProviderConfig::new(kind.as_str(), kind, nowhere), http))
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
        convert_strictly(&tool).map(Arc::new)
    } else if let Some(converter) = target.parse().ok().and_then(converter) {
        converter.convert_tool(&tool)
    } else {
        let unknown = |_| {
            let words = format!("there is no API and no model provider named {target:?}");
            ApiError::not_found("model_provider_not_found", words).with_hint(
                "use openai, openai-strict, openai-responses, anthropic, gemini, compatible, or a name from \
                 `toolway models list`",
            )
        };
        app.chat.models.get(Some(&format!("{target}/any"))).map_err(unknown)?.provider.convert_tool(&tool)
    };
    let (definition, lost, excluded_reason) = match converted {
        Ok(converted) => (Some(converted.json.clone()), converted.losses.clone(), None),
        Err(NotExpressible(why)) => (None, Vec::new(), Some(why)),
    };
    Ok(ToolConversion { name, target: target.to_owned(), definition, lost, excluded_reason })
}

fn convert_strictly(tool: &ToolDefinition) -> Result<ConvertedTool, NotExpressible> {
    #[derive(Serialize)]
    struct StrictFunction<'t> {
        name: &'t str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'t str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters: Option<RawJson>,
        strict: bool,
    }
    #[derive(Serialize)]
    struct StrictToolDefinition<'t> {
        #[serde(rename = "type")]
        kind: &'static str,
        function: StrictFunction<'t>,
    }
    let converted = schema::convert_parameters(tool.parameters.as_ref(), SchemaTarget::OpenAiStrict)?;
    let function = StrictFunction {
        name: &tool.name,
        description: &tool.description,
        parameters: converted.schema,
        strict: true,
    };
    let json = RawJson::from_value(&StrictToolDefinition { kind: "function", function });
    let json = json.map_err(|error| NotExpressible(error.to_string()))?;
    Ok(ConvertedTool { json, losses: converted.losses, ..ConvertedTool::default() })
}
