//! Describes the words by which calls are sorted out: states, kinds of error, codes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use toolway_types::Code;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// One of the words that `toolway_store::StatusFilter` reads.
pub(super) struct CallStatusWordSchema;

fn words() -> BTreeSet<&'static str> {
    let states = ["open", "success", "error"].into_iter();
    let of_errors = Code::ALL.iter().flat_map(|code| [code.kind().as_str(), code.as_str()]);
    states.chain(of_errors).collect()
}

impl PartialSchema for CallStatusWordSchema {
    fn schema() -> RefOr<Schema> {
        RefOr::T(ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words())).into())
    }
}

impl ToSchema for CallStatusWordSchema {
    fn name() -> Cow<'static, str> {
        "StatusWord".into()
    }
}

#[cfg(test)]
mod tests {
    use toolway_store::StatusFilter;

    use super::*;

    #[test]
    fn every_word_described_is_one_that_is_read() {
        for word in words() {
            assert!(word.parse::<StatusFilter>().is_ok(), "{word}");
        }
    }
}
