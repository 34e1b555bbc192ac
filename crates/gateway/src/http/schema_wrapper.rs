//! Describes to programs what other crates say of themselves, which know nothing of such descriptions.

/// Makes types, each of which is written as another that is not described to programs, and describes it.
macro_rules! shown_as {
    ($($(#[$doc:meta])* $name:ident($of:ty) { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, serde::Serialize)]
        #[serde(transparent)]
        pub(in crate::http) struct $name($of);

        impl From<$of> for $name {
            fn from(of: $of) -> Self {
                Self(of)
            }
        }

        const _: () = {
            $(#[$doc])*
            #[derive(utoipa::ToSchema)]
            #[allow(dead_code, reason = "it describes what another type is written as")]
            struct Described { $($(#[$field_doc])* $field: $type,)* }

            impl utoipa::PartialSchema for $name {
                fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                    <Described as utoipa::PartialSchema>::schema()
                }
            }

            impl utoipa::ToSchema for $name {
                fn schemas(
                    schemas: &mut Vec<(
                        String,
                        utoipa::openapi::RefOr<utoipa::openapi::schema::Schema>,
                    )>,
                ) {
                    <Described as utoipa::ToSchema>::schemas(schemas);
                }
            }
        };
    )+};
}
pub(super) use shown_as;
