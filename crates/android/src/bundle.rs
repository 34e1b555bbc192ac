//! Bundles: the typed maps that Android passes between an app and its callers. They are not JSON: a number has a
//! width, a list of strings is a type of its own, and a value can be of a class that nobody here knows.

use std::collections::BTreeMap;

/// One value of a [`Bundle`].
#[derive(Debug, Clone, PartialEq)]
pub enum BundleValue {
    /// A key without a value.
    Null,
    /// `boolean`.
    Boolean(bool),
    /// `int`, and what is narrower.
    Int(i32),
    /// `long`.
    Long(i64),
    /// `float`.
    Float(f32),
    /// `double`.
    Double(f64),
    /// `String`, and other character sequences.
    Text(String),
    /// `String[]`, or a list of strings. Places without a string are left out.
    Texts(Vec<String>),
    /// A `Map` of strings to strings, in its own order. It is passed on as a serialisable `LinkedHashMap`.
    Map(Vec<(String, String)>),
    /// A bundle within the bundle.
    Bundle(Bundle),
    /// Of another class, which is named. It can be read, not sent.
    Other(String),
}

impl BundleValue {
    /// The word for its type in messages.
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

/// Named values. Android keeps no order among them, so here they are sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bundle(BTreeMap<String, BundleValue>);

impl Bundle {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more value.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<BundleValue>) -> Self {
        self.insert(key, value);
        self
    }

    /// Puts a value in, in the place of one with that key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<BundleValue>) {
        self.0.insert(key.into(), value.into());
    }

    /// The value of a key. One that is there without a value ([`Value::Null`]) counts as absent, as it does to
    /// Android's own `getString` and its like.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&BundleValue> {
        self.0.get(key).filter(|value| !matches!(value, BundleValue::Null))
    }

    /// All of them, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &BundleValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
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
