//! Values of `<meta-data>` elements.

/// A value of a `<meta-data>` element. The compiler that builds an app chooses the type by the text: `"1"`
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
    /// Another value, as described by the host.
    Other(String),
}
