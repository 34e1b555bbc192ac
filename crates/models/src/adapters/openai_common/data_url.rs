//! Images in messages.

use std::fmt;

use serde::{Serialize, Serializer};

/// An image as a data URL (RFC 2397). It is serialized without building the string first.
#[derive(Debug)]
pub(crate) struct DataUrl<'a> {
    pub(crate) mime_type: &'a str,
    pub(crate) data: &'a str,
}

impl fmt::Display for DataUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data:{};base64,{}", self.mime_type, self.data)
    }
}

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
