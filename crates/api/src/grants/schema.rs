//! OpenAPI schema of the body that creates a grant.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::CreateGrantRequest;
use crate::openapi::exclude_each_other;

/// Schema of [`CreateGrantRequest`]: a grant is for a principal's calls or for an agent's, never for both.
#[derive(Debug)]
pub struct CreateGrantRequestSchema;

impl PartialSchema for CreateGrantRequestSchema {
    fn schema() -> RefOr<Schema> {
        match CreateGrantRequest::schema() {
            RefOr::T(Schema::Object(whole)) => exclude_each_other(&whole, "principal", "agent"),
            other => other,
        }
    }
}

impl ToSchema for CreateGrantRequestSchema {
    fn name() -> Cow<'static, str> {
        CreateGrantRequest::name()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CreateGrantRequest::schemas(schemas);
    }
}
