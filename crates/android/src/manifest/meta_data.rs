//! The values of `<meta-data>` elements.

/// A value of a manifest's `<meta-data>`. The compiler that builds an app gives it a type by its looks: `"1"`
/// becomes an integer, `"1.0"` a float, `"true"` a boolean.
#[derive(Debug, Clone, PartialEq)]
pub enum ManifestMetaData {
    /// A string.
    Text(String),
    /// An integer.
    Int(i32),
    /// A floating-point number.
    Float(f32),
    /// A boolean.
    Boolean(bool),
    /// Something else, in the words of the host.
    Other(String),
}
