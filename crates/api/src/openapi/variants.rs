//! Schemas of bodies in which one field excludes another.

use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use super::builder::one_of;
use super::text::ShortTextSchema;

fn null() -> RefOr<Schema> {
    RefOr::T(ObjectBuilder::new().schema_type(Type::Null).into())
}

/// Splits a body with the fields `role` and `agent` into two variants. The one for a device has no agent.
pub(crate) fn split_by_role(whole: RefOr<Schema>) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(whole)) = whole else { return whole };
    let roles = |names: &[&str]| RefOr::T(one_of(names).into());
    let (mut caller, mut device) = (whole.clone(), whole);
    caller.properties.insert("role".to_owned(), roles(&["client", "companion"]));
    // If the role is optional, the default is a device.
    if !caller.required.iter().any(|name| name == "role") {
        caller.required.push("role".to_owned());
    }
    device.properties.insert("role".to_owned(), roles(&["device"]));
    device.properties.insert("agent".to_owned(), null());
    RefOr::T(OneOfBuilder::new().item(caller).item(device).into())
}

/// Defines the schema of a body with [`split_by_role`].
macro_rules! described_by_role {
    ($(#[$doc:meta])* $name:ident($body:ty)) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                crate::openapi::split_by_role(<$body as utoipa::PartialSchema>::schema())
            }
        }

        impl utoipa::ToSchema for $name {
            fn name() -> std::borrow::Cow<'static, str> {
                <$body as utoipa::ToSchema>::name()
            }

            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>)>) {
                <$body as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}
pub(crate) use described_by_role;

/// Splits a body with the optional texts `one` and `other` into two variants: without `other`, or with it alone.
pub(crate) fn exclude_each_other(whole: &Object, one: &str, other: &str) -> RefOr<Schema> {
    let without = |name: &str| {
        let mut variant = whole.clone();
        variant.properties.insert(name.to_owned(), null());
        variant
    };
    let mut with_other = without(one);
    with_other.properties.insert(other.to_owned(), ShortTextSchema::schema());
    with_other.required.push(other.to_owned());
    RefOr::T(OneOfBuilder::new().item(without(other)).item(with_other).into())
}
