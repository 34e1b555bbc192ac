//! Tools with constant results.

use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use super::{error_result, text_result};
use crate::exact_json::{self, EXACT_RESULT};
use crate::sample_image::PNG;

/// An empty sound as WAV, in base64.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(crate) fn call(name: &str) -> Option<CallToolResult> {
    let image = || ContentBlock::image(PNG, "image/png");
    Some(match name {
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => CallToolResult::success(vec![image()]),
        "test_audio_content" => CallToolResult::success(vec![ContentBlock::audio(WAV, "audio/wav")]),
        "test_embedded_resource" => CallToolResult::success(vec![ContentBlock::resource(
            ResourceContents::text("This is an embedded resource content.", "test://embedded-resource"),
        )]),
        "test_multiple_content_types" => CallToolResult::success(vec![
            ContentBlock::text("Multiple content types test:"),
            image(),
            ContentBlock::resource(
                ResourceContents::text(r#"{"test":"data","value":123}"#, "test://mixed-content-resource")
                    .with_mime_type("application/json"),
            ),
        ]),
        "test_resource_link" => CallToolResult::success(vec![ContentBlock::resource_link(
            Resource::new("test://static-text", "static-text").with_mime_type("text/plain"),
        )]),
        "test_error_handling" => error_result("This tool intentionally returns an error for testing"),
        "test_exact" => {
            let mut result = text_result(EXACT_RESULT);
            result.structured_content = Some(Value::Object(exact_json::result()));
            result
        }
        "json_schema_2020_12_tool" => text_result("The arguments fit."),
        _ => return None,
    })
}
