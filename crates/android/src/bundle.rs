//! Bundles: the typed maps that Android passes between an app and its callers. They differ from JSON: numbers
//! have a width, a list of strings has its own type, and values can be of unknown classes.

use std::collections::BTreeMap;

/// One value of a [`Bundle`].
#[derive(Debug, Clone, PartialEq)]
pub enum BundleValue {
    /// A key without a value.
    Null,
    /// `boolean`.
    Boolean(bool),
    /// `int` and narrower integers.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `String` and other character sequences.
    Text(String),
    /// `String[]` or a list of strings. Elements that are not strings are omitted.
    Texts(Vec<String>),
    /// A `Map` of strings to strings, in its own order. It is passed on as a serializable `LinkedHashMap`.
    Map(Vec<(String, String)>),
    /// A nested bundle.
    Bundle(Bundle),
    /// A value of another class, by its name. It can be read but not sent.
    Other(String),
}

impl BundleValue {
    /// Returns the name of the type for messages.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Int(_) => "an int",
            Self::Long(_) => "a long",
            Self::Float(_) => "a float",
            Self::Double(_) => "a double",
            Self::Text(_) => "a string",
            Self::Texts(_) => "an array of strings",
            Self::Map(_) => "a map",
            Self::Bundle(_) => "a bundle",
            Self::Other(class) => class,
        }
    }
}

impl From<bool> for BundleValue {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<i32> for BundleValue {
    fn from(value: i32) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for BundleValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for BundleValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Bundle> for BundleValue {
    fn from(value: Bundle) -> Self {
        Self::Bundle(value)
    }
}

/// A map of names to values. Android keeps no order, so here they are sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bundle(BTreeMap<String, BundleValue>);

impl Bundle {
    /// Creates an empty bundle.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value and returns the bundle.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<BundleValue>) -> Self {
        self.insert(key, value);
        self
    }

    /// Inserts a value, replacing one with the same key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<BundleValue>) {
        self.0.insert(key.into(), value.into());
    }

    /// Returns the value of a key. A key without a value ([`BundleValue::Null`]) counts as absent, as for
    /// Android's `getString`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&BundleValue> {
        self.0.get(key).filter(|value| !matches!(value, BundleValue::Null))
    }

    /// Returns all entries, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BundleValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if the bundle is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, BundleValue)> for Bundle {
    fn from_iter<T: IntoIterator<Item = (String, BundleValue)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}
