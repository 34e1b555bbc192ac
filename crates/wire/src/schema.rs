//! JSON Schemas (draft 2020-12) of all messages, as published in `docs/schemas`. A test compares the
//! published files with the generated ones.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use toolway_types::schema::{remove_null_of_optional, remove_rust_format};
use toolway_types::spec::SPEC_VERSION;
use toolway_types::{Code, SpecDocument};

use crate::pairing::{PairRequest, PairResponse};
use crate::{ClientMessage, GatewayMessage, VERSION};

/// A published schema file.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaDocument {
    /// Name of the file in `docs/schemas`.
    pub file_name: &'static str,
    /// The schema.
    pub schema: Value,
}

/// Perspective of a schema: what a reader accepts, or what a writer guarantees.
#[derive(Clone, Copy, PartialEq)]
enum SchemaSide {
    /// Messages read by the gateway. An optional field may also be null.
    Accepted,
    /// Messages written by the gateway. An optional field is never null.
    Promised,
}

/// Generates all published schemas.
#[must_use]
pub fn schema_documents() -> Vec<SchemaDocument> {
    vec![
        SchemaDocument {
            file_name: "client.json",
            schema: generate_schema::<ClientMessage>(
                "client",
                "Messages from devices and chat clients",
                SchemaSide::Accepted,
            ),
        },
        SchemaDocument {
            file_name: "gateway.json",
            schema: add_codes(generate_schema::<GatewayMessage>(
                "gateway",
                "Messages from the gateway",
                SchemaSide::Promised,
            )),
        },
        SchemaDocument {
            file_name: "spec.json",
            schema: generate_schema::<SpecDocument>(
                "spec",
                "Spec of a tool, as sent by its source",
                SchemaSide::Accepted,
            ),
        },
        SchemaDocument { file_name: "pairing.json", schema: pairing_schema() },
    ]
}

fn generate_schema<T: JsonSchema>(name: &str, title: &str, side: SchemaSide) -> Value {
    let settings = match side {
        SchemaSide::Accepted => SchemaSettings::draft2020_12().for_deserialize(),
        SchemaSide::Promised => SchemaSettings::draft2020_12().for_serialize(),
    };
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    normalize(&mut schema, side);
    if let Value::Object(fields) = &mut schema {
        fields.extend(header_fields(name, title));
    }
    schema
}

/// Fields at the start of each file.
fn header_fields(name: &str, title: &str) -> Map<String, Value> {
    let mut head = Map::new();
    head.insert("$id".into(), format!("urn:toolway:schema:{name}").into());
    head.insert("title".into(), title.into());
    head.insert("x-protocol-version".into(), VERSION.into());
    head.insert("x-spec-version".into(), SPEC_VERSION.into());
    head
}

/// Schema of `POST /pair`: the optional body, and the answer.
fn pairing_schema() -> Value {
    let mut request = generate_schema::<PairRequest>("pairing", "", SchemaSide::Accepted);
    let mut response = generate_schema::<PairResponse>("pairing", "", SchemaSide::Promised);
    for part in [&mut request, &mut response] {
        if let Value::Object(fields) = part {
            fields.retain(|key, _| {
                !matches!(key.as_str(), "$schema" | "$id" | "title") && !key.starts_with("x-")
            });
        }
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "POST /pair: the body (PairRequest) and the answer (PairResponse)",
        "$defs": { "PairRequest": request, "PairResponse": response },
        "anyOf": [{ "$ref": "#/$defs/PairRequest" }, { "$ref": "#/$defs/PairResponse" }],
    });
    if let Value::Object(fields) = &mut schema {
        fields.extend(header_fields("pairing", "Pairing"));
    }
    schema
}

/// Lists the codes of failed calls and of `error` messages. Not as an `enum`, because new codes may be added
/// and a reader must accept codes that it does not know.
fn add_codes(mut schema: Value) -> Value {
    let codes: Map<String, Value> = Code::ALL
        .iter()
        .map(|code| {
            (
                code.as_str().to_owned(),
                json!({ "error_type": code.kind().as_str(), "from_devices": Code::FROM_DEVICES.contains(code) }),
            )
        })
        .collect();
    if let Value::Object(fields) = &mut schema {
        fields.insert("x-codes".into(), codes.into());
        fields.insert("x-error-codes".into(), crate::error_code::ALL.into());
    }
    schema
}

/// Removes keywords that only matter in Rust, and the null that is never written.
fn normalize(schema: &mut Value, side: SchemaSide) {
    match schema {
        Value::Object(fields) => {
            if side == SchemaSide::Promised {
                remove_null_of_optional(fields);
            }
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = strip_doc_links(description);
            }
            // These are limits of Rust's integer types, not of the protocol.
            remove_rust_format(fields);
            fields.values_mut().for_each(|value| normalize(value, side));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, side)),
        _ => {}
    }
}

/// Replaces links of Rust's documentation, like `[`crate::x::y`]`, by their last name `y`.
fn strip_doc_links(description: &str) -> String {
    let mut text = description.replace('\n', " ");
    while let Some(start) = text.find("[`") {
        let Some(length) = text.get(start..).and_then(|rest| rest.find("`]")) else { break };
        let path = text.get(start + 2..start + length).unwrap_or_default();
        let name = path.rsplit("::").next().unwrap_or(path).to_owned();
        text.replace_range(start..start + length + 2, &format!("`{name}`"));
    }
    text
}
