//! How a tool is described to models of one kind, and what of its description is lost on the way there.

use std::sync::Arc;

use serde::Serialize;
use toolway_core::ToolSpec;
use toolway_models::config::{BaseUrl, ProviderConfig, provider};
use toolway_models::provider::{Converted, NotExpressible};
use toolway_models::schema::{self, Target};
use toolway_models::transport::Http;
use toolway_models::{ModelProvider, ProviderKind, ToolDefinition};
use toolway_types::{RawJson, ToolId};
use utoipa::ToSchema;

use super::ApiError;
use crate::state::App;

/// OpenAI's strict form, which no kind of provider stands for.
const STRICT: &str = "openai-strict";

/// How a tool is described to models.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Conversion {
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
    let http = Http::new(|| Err("nothing is asked here".to_owned()));
    Some(provider(ProviderConfig::new(kind.as_str(), kind, nowhere), http))
}

/// How a tool is described to models of a kind, or to those of a provider that is set up.
///
/// # Errors
/// Where there is neither.
pub(super) fn convert(app: &App, id: &ToolId, spec: &ToolSpec, target: &str) -> Result<Conversion, ApiError> {
    let document = spec.document();
    let name = id.exposed().to_string();
    let tool = ToolDefinition::new(name.clone(), spec.description(), document.parameters.clone());
    let converted = if target == STRICT {
        strictly(&tool).map(Arc::new)
    } else if let Some(converter) = target.parse().ok().and_then(converter) {
        converter.convert(&tool)
    } else {
        let unknown = |_| {
            let words = format!("there is no kind of model provider, and none set up, named {target:?}");
            ApiError::not_found("model_unknown", words).with_hint(
                "openai, openai-strict, openai-responses, anthropic, gemini, compatible, or a name of \
                 `toolway models list`",
            )
        };
        app.chat.models.get(Some(&format!("{target}/any"))).map_err(unknown)?.provider.convert(&tool)
    };
    let (definition, lost, not_expressible) = match converted {
        Ok(converted) => (Some(converted.json.clone()), converted.lost.clone(), None),
        Err(NotExpressible(why)) => (None, Vec::new(), Some(why)),
    };
    Ok(Conversion { name, target: target.to_owned(), definition, lost, not_expressible })
}

fn strictly(tool: &ToolDefinition) -> Result<Converted, NotExpressible> {
    #[derive(Serialize)]
    struct Function<'t> {
        name: &'t str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'t str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parameters: Option<RawJson>,
        strict: bool,
    }
    #[derive(Serialize)]
    struct Definition<'t> {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Function<'t>,
    }
    let converted = schema::parameters(tool.parameters.as_ref(), Target::OpenAiStrict)?;
    let function = Function {
        name: &tool.name,
        description: &tool.description,
        parameters: converted.schema,
        strict: true,
    };
    let json = RawJson::from_value(&Definition { kind: "function", function });
    let json = json.map_err(|error| NotExpressible(error.to_string()))?;
    Ok(Converted { json, lost: converted.lost, ..Converted::default() })
}
