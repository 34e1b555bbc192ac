//! How a tool is described to models of one kind, and what of its description is lost on the way there.

use std::sync::Arc;

use serde::Serialize;
use toolway_core::ToolSpec;
use toolway_models::config::{BaseUrl, ProviderConfig, build_provider};
use toolway_models::provider::{ConvertedTool, NotExpressible};
use toolway_models::schema::{self, SchemaTarget};
use toolway_models::transport::ProviderHttpClient;
use toolway_models::{ModelProvider, ProviderKind, ToolDefinition};
use toolway_types::{RawJson, ToolId};
use utoipa::ToSchema;

use super::ApiError;
use crate::state::AppState;

/// OpenAI's strict form, which no kind of provider stands for.
const STRICT: &str = "openai-strict";

/// How a tool is described to models.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ToolConversion {
    /// The tool's name.
    name: String,
    /// To which models.
    #[serde(rename = "for")]
    target: String,
    /// The definition as it is sent; absent where the tool can't be described to them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, nullable = false)]
    definition: Option<RawJson>,
    /// What of the tool's description could not be said there. Arguments are checked against all of it all the same.
    lost: Vec<String>,
    /// Why it can't be described to them; then it is left out of what they are told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    not_expressible: Option<String>,
}

/// A provider of this kind that converts and is never asked anything.
fn converter(kind: ProviderKind) -> Option<Arc<dyn ModelProvider>> {
    let nowhere = "http://127.0.0.1".parse::<BaseUrl>().ok()?;
    let http = ProviderHttpClient::new(|| Err("nothing is asked here".to_owned()));
    Some(build_provider(ProviderConfig::new(kind.as_str(), kind, nowhere), http))
}

/// How a tool is described to models of a kind, or to those of a provider that is set up.
///
/// # Errors
/// Where there is neither.
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
            let words = format!("there is no kind of model provider, and none set up, named {target:?}");
            ApiError::not_found("model_unknown", words).with_hint(
                "openai, openai-strict, openai-responses, anthropic, gemini, compatible, or a name of \
                 `toolway models list`",
            )
        };
        app.chat.models.get(Some(&format!("{target}/any"))).map_err(unknown)?.provider.convert_tool(&tool)
    };
    let (definition, lost, not_expressible) = match converted {
        Ok(converted) => (Some(converted.json.clone()), converted.losses.clone(), None),
        Err(NotExpressible(why)) => (None, Vec::new(), Some(why)),
    };
    Ok(ToolConversion { name, target: target.to_owned(), definition, lost, not_expressible })
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
