//! The definition of an MCP server.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::builder::{closed, nullable, text};

/// Pattern of a URL: plain host names, IPv4 addresses and localhost. The gateway accepts more than this.
const ADDRESS: &str = concat!(
    r"^https?://",
    r"(([a-z0-9]+(-[a-z0-9]+)*\.)*[a-z][a-z0-9]*(-[a-z0-9]+)*",
    r"|((0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])",
    r"|\[::1\])",
    r"(:[1-9][0-9]{0,3})?(/[A-Za-z0-9._~/?&=-]*)?$",
);

/// Pattern of the URLs of OAuth.
const SECURE: &str = r"^https://([a-z0-9]{1,32}\.){0,4}[a-z][a-z0-9]{0,31}(/[A-Za-z0-9._~/-]{0,256})?$";

/// Schema of a server's name.
#[derive(Debug)]
pub struct McpServerNameSchema;

impl PartialSchema for McpServerNameSchema {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-z][a-z0-9-]{0,23}$"));
        RefOr::T(text.into())
    }
}

impl ToSchema for McpServerNameSchema {
    fn name() -> Cow<'static, str> {
        "McpServerName".into()
    }
}

/// Schema of the definition of an MCP server with a URL.
#[derive(Debug)]
pub struct McpServerDefinitionSchema;

impl PartialSchema for McpServerDefinitionSchema {
    fn schema() -> RefOr<Schema> {
        // A header with credentials and OAuth exclude each other.
        let with_header = form(&["^[xX]-[A-Za-z0-9-]{1,64}$", "^Authorization$"]);
        let with_oauth = form(&["^[xX]-[A-Za-z0-9-]{1,64}$"]).property("oauth", oauth()).required("oauth");
        RefOr::T(OneOfBuilder::new().item(with_header).item(with_oauth).into())
    }
}

fn form(headers: &[&str]) -> ObjectBuilder {
    closed()
        .description(Some("An MCP server with a URL; docs/mcp-servers.md describes the fields."))
        .property("url", text("The URL.").pattern(Some(ADDRESS)).max_length(Some(2048)))
        .required("url")
        .property(
            "transport",
            text("The transport: `auto` (detected), `streamable-http` or `sse`.").enum_values(Some([
                "auto",
                "streamable-http",
                "sse",
            ])),
        )
        .property("headers", self::headers(&headers.join("|")))
        .property("disabled", boolean("Disables the server and its tools."))
        .property("sampling", boolean("Whether it may use the model of the calling client."))
        .property("roots", boolean("Whether it may ask for the working folders of the calling client."))
}

impl ToSchema for McpServerDefinitionSchema {
    fn name() -> Cow<'static, str> {
        "McpServerDefinition".into()
    }
}

fn boolean(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).description(Some(description))
}

/// Headers with values that HTTP allows. The gateway rejects reserved names with an error.
fn headers(names: &str) -> ObjectBuilder {
    let value = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(r"^[\t -~]*$"))
        .max_length(Some(32 << 10));
    let name = ObjectBuilder::new().schema_type(Type::String).pattern(Some(names));
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .property_names(Some(Schema::Object(name.build())))
        .additional_properties(Some(Schema::Object(value.build())))
        .max_properties(Some(64))
        .description(Some(
            "Headers of every request. `[hidden]` keeps the stored value for this URL. The gateway accepts more names \
             than these.",
        ))
}

fn oauth() -> ObjectBuilder {
    let scope = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-zA-Z0-9:/._-]{1,128}$"));
    let maybe = |description: &str| nullable(Type::String, description);
    closed()
        .description(Some(
            "Settings for OAuth that the server does not publish. Grants without a person need secrets, so they can be \
             set in files, and over REST only with `allow_remote_commands`.",
        ))
        .property(
            "grant",
            text("The way to a token. `authorization_code` needs a login.")
                .enum_values(Some(["authorization_code"])),
        )
        .property("dpop", boolean("Whether tokens must be bound to a key of the gateway (DPoP)."))
        .property(
            "client_id",
            maybe("The id of a manually registered client.").pattern(Some("^[!-~]{1,256}$")),
        )
        .property("issuer", maybe("The authorization server of this client.").pattern(Some(SECURE)))
        .property(
            "client_metadata_url",
            maybe("The URL of a client ID metadata document.").pattern(Some(SECURE)),
        )
        .property(
            "scopes",
            ArrayBuilder::new()
                .items(scope)
                .max_items(Some(64))
                .description(Some("The scopes to request, instead of those that the server publishes.")),
        )
}
