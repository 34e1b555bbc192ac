//! Values of the filter `status` for calls.

use std::borrow::Cow;
use std::collections::BTreeSet;

use toolway_types::Code;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::builder::one_of;

/// Schema of the filter `status`.
#[derive(Debug)]
pub struct CallStatusSchema;

impl CallStatusSchema {
    /// All values: states, error types and codes.
    #[must_use]
    pub fn values() -> BTreeSet<&'static str> {
        let states = ["running", "success", "error"].into_iter();
        let of_errors = Code::ALL.iter().flat_map(|code| [code.kind().as_str(), code.as_str()]);
        states.chain(of_errors).collect()
    }
}

impl PartialSchema for CallStatusSchema {
    fn schema() -> RefOr<Schema> {
        RefOr::T(one_of(&Self::values().into_iter().collect::<Vec<_>>()).into())
    }
}

impl ToSchema for CallStatusSchema {
    fn name() -> Cow<'static, str> {
        "CallStatus".into()
    }
}
