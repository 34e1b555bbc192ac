//! Describes to programs what can be said of an MCP server from afar.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::{PartialSchema, ToSchema};

/// What an address may look like: plain host names, IPv4 addresses and this computer; others may be taken too.
const ADDRESS: &str = concat!(
    r"^https?://",
    r"(([a-z0-9]+(-[a-z0-9]+)*\.)*[a-z][a-z0-9]*(-[a-z0-9]+)*",
    r"|((0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])",
    r"|\[::1\])",
    r"(:[1-9][0-9]{0,3})?(/[A-Za-z0-9._~/?&=-]*)?$",
);

/// What the addresses of OAuth may look like.
const SECURE: &str = r"^https://([a-z0-9]{1,32}\.){0,4}[a-z][a-z0-9]{0,31}(/[A-Za-z0-9._~/-]{0,256})?$";

/// Describes a server's name.
pub(super) struct McpServerNameSchema;

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

/// Describes [`ServerDefinition`](toolway_mcp::definition::ServerDefinition), as far as it is taken from afar.
pub(super) struct McpServerDefinitionSchema;

impl PartialSchema for McpServerDefinitionSchema {
    fn schema() -> RefOr<Schema> {
        // A header that says who comes, and OAuth, which does so too, exclude one another.
        let with_header = form(&["^[xX]-[A-Za-z0-9-]{1,64}$", "^Authorization$"]);
        let with_oauth = form(&["^[xX]-[A-Za-z0-9-]{1,64}$"]).property("oauth", oauth()).required("oauth");
        RefOr::T(OneOfBuilder::new().item(with_header).item(with_oauth).into())
    }
}

fn form(headers: &[&str]) -> ObjectBuilder {
    closed()
        .description(Some("An MCP server at an address; docs/mcp-servers.md says what its fields are."))
        .property("url", text("Its address.").pattern(Some(ADDRESS)).max_length(Some(2048)))
        .required("url")
        .property(
            "transport",
            text("How it is spoken to: `auto` (found by trying), `streamable-http` or `sse`.")
                .enum_values(Some(["auto", "streamable-http", "sse"])),
        )
        .property("headers", self::headers(&headers.join("|")))
        .property("disabled", yes_or_no("Not connected to, and none of its tools offered."))
        .property("sampling", yes_or_no("Whether it may ask the model of the client that called."))
        .property(
            "roots",
            yes_or_no("Whether it may ask for the folders that the client that called works in."),
        )
}

impl ToSchema for McpServerDefinitionSchema {
    fn name() -> Cow<'static, str> {
        "McpServerDefinition".into()
    }
}

/// An object with no other fields than those that are described.
fn closed() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
}

fn text(words: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(words))
}

fn yes_or_no(words: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Boolean).description(Some(words))
}

/// Values as HTTP lets them be. Which names the protocol keeps for itself is told to whoever sends one.
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
            "Headers of every request. `[hidden]` keeps what is kept for this address; other names than these may be \
             taken too.",
        ))
}

fn oauth() -> ObjectBuilder {
    let scope = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[a-zA-Z0-9:/._-]{1,128}$"));
    let maybe = |words: &str| {
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .description(Some(words))
    };
    closed()
        .description(Some("What is needed for OAuth where the server does not say all of it."))
        .property("client_id", maybe("A client that was registered by hand.").pattern(Some("^[!-~]{1,256}$")))
        .property(
            "issuer",
            maybe("The authorization server that this client is known to.").pattern(Some(SECURE)),
        )
        .property(
            "client_metadata_url",
            maybe("The address of a client id metadata document.").pattern(Some(SECURE)),
        )
        .property(
            "scopes",
            ArrayBuilder::new()
                .items(scope)
                .max_items(Some(64))
                .description(Some("The scopes to ask for, in the place of those that the server names.")),
        )
}
