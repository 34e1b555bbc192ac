//! Parts of a function's definition.

use std::borrow::Cow;

use crate::schema::{self, ConvertedSchema, NotExpressible, SchemaTarget};
use crate::tools::ToolDefinition;

/// Maximum length of a description at OpenAI, in characters.
const DESCRIPTION_CHARS: usize = 1024;

/// Converts the parameters of a tool. Returns them, and whether they are sent as strict: if the tool's own definition
/// asks for it, or if `prefers_strict` and the schema allows it.
pub(crate) fn convert_parameters(
    prefers_strict: bool,
    tool: &ToolDefinition,
) -> Result<(ConvertedSchema, bool), NotExpressible> {
    if (prefers_strict || tool.is_strict)
        && let Ok(converted) =
            schema::convert_parameters(tool.parameters.as_ref(), SchemaTarget::OpenAiStrict)
    {
        return Ok((converted, true));
    }
    // A schema that has no strict form goes out as it is. The API's error then tells the program what is wrong.
    Ok((schema::convert_parameters(tool.parameters.as_ref(), SchemaTarget::OpenAi)?, tool.is_strict))
}

/// Truncates a description that OpenAI would refuse, together with the whole request.
pub(crate) fn limit_description<'a>(text: &'a str, is_long: bool, lost: &mut Vec<String>) -> Cow<'a, str> {
    let count = text.chars().count();
    if is_long || count <= DESCRIPTION_CHARS {
        return Cow::Borrowed(text);
    }
    let kept = DESCRIPTION_CHARS - 1;
    lost.push(format!("the last {} of the description's {count} characters", count - kept));
    Cow::Owned(text.chars().take(kept).chain(['…']).collect())
}
