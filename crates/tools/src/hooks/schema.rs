//! JSON Schemas (draft 2020-12) of the requests and decisions of hooks, as published in `docs/schemas`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use toolway_types::schema::remove_rust_format;

use super::decision::{AfterDecision, BeforeDecision};
use super::request::{HookRequest, VERSION};

/// A published schema file.
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaDocument {
    /// Name of the file in `docs/schemas`.
    pub file_name: &'static str,
    /// The schema.
    pub schema: Value,
}

/// Generates all published schemas of hooks.
#[must_use]
pub fn schemas() -> Vec<SchemaDocument> {
    let written = || SchemaSettings::draft2020_12().for_serialize();
    let read = || SchemaSettings::draft2020_12().for_deserialize();
    vec![
        SchemaDocument {
            file_name: "hook-question.json",
            schema: document::<HookRequest<'_>>(written(), "hook-question", "Request to a hook"),
        },
        SchemaDocument {
            file_name: "hook-before.json",
            schema: document::<BeforeDecision>(read(), "hook-before", "Decision of a hook before a call"),
        },
        SchemaDocument {
            file_name: "hook-after.json",
            schema: document::<AfterDecision>(read(), "hook-after", "Decision of a hook after a call"),
        },
    ]
}

fn document<T: JsonSchema>(settings: SchemaSettings, name: &str, title: &str) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("urn:toolway:schema:{name}").into());
    schema.insert("title".to_owned(), title.into());
    schema.insert("x-hook-version".to_owned(), VERSION.into());
    let mut schema = schema.to_value();
    tidy(&mut schema);
    schema
}

/// Removes keywords that only matter in Rust.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            remove_rust_format(fields);
            if let Some(Value::String(description)) = fields.get_mut("description") {
                *description = description.split_whitespace().collect::<Vec<_>>().join(" ");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
