//! Parses the binary XML of APKs (`ResXMLTree` of the platform's `ResourceTypes.h`) to a tree of elements.
//! Depth, number and size of the kept data are limited.

use super::bytes::{ByteSlice, ResourceChunk};
use super::strings::{STRING_POOL, StringPool};
use super::value::RawResourceValue;

/// `RES_XML_TYPE`.
const XML: u16 = 0x0003;
const RESOURCE_MAP: u16 = 0x0180;
const START_ELEMENT: u16 = 0x0102;
const END_ELEMENT: u16 = 0x0103;
/// Maximum nesting; no manifest is nested deeper.
const MAX_DEPTH: usize = 32;
/// Maximum number of elements of one document.
const MAX_ELEMENTS: usize = 20_000;
/// Maximum number of attributes of all elements.
const MAX_ATTRIBUTES: usize = 100_000;
/// Maximum size of all text, in bytes: one string of the pool may be used everywhere.
const MAX_TEXT: usize = 8 << 20;
/// Index that means "none".
const NONE: u32 = u32::MAX;

/// Reason why bytes are not binary XML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum XmlError {
    #[error("not binary XML")]
    NotXml,
    #[error("truncated or corrupt")]
    Broken,
    #[error("too many elements")]
    TooMuch,
}

/// An attribute.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct XmlAttribute {
    /// Resource id of the name (`android:name` is `0x01010003`); `None` if the attribute has only a name.
    pub(super) id: Option<u32>,
    pub(super) name: String,
    pub(super) value: RawResourceValue,
    /// Text of a string value.
    pub(super) text: Option<String>,
}

/// An element.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct XmlElement {
    pub(super) name: String,
    pub(super) attributes: Vec<XmlAttribute>,
    pub(super) children: Vec<XmlElement>,
}

impl XmlElement {
    /// Returns the children with this name.
    pub(super) fn named<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e XmlElement> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the attribute with this resource id.
    pub(super) fn attribute(&self, id: u32) -> Option<&XmlAttribute> {
        self.attributes.iter().find(|attribute| attribute.id == Some(id))
    }
}

/// Amount of data that is kept so far.
#[derive(Debug, Default)]
struct XmlTotals {
    elements: usize,
    attributes: usize,
    text: usize,
}

impl XmlTotals {
    fn text(&mut self, text: String) -> Result<String, XmlError> {
        self.text += text.len();
        if self.text > MAX_TEXT { Err(XmlError::TooMuch) } else { Ok(text) }
    }
}

/// Returns the root element of a document.
pub(super) fn read(bytes: &[u8]) -> Result<XmlElement, XmlError> {
    let document =
        ResourceChunk::first(ByteSlice::new(bytes)).filter(|it| it.kind == XML).ok_or(XmlError::NotXml)?;
    let mut strings = StringPool::none();
    let mut ids = ByteSlice::new(&[]);
    let mut kept = XmlTotals::default();
    let mut open: Vec<XmlElement> = Vec::new();
    for chunk in document.children(document.header) {
        match chunk.kind {
            STRING_POOL => strings = StringPool::read(chunk).ok_or(XmlError::Broken)?,
            RESOURCE_MAP => ids = chunk.body(),
            START_ELEMENT => {
                if open.len() >= MAX_DEPTH {
                    return Err(XmlError::TooMuch);
                }
                open.push(element(chunk, &strings, ids, &mut kept)?);
            }
            END_ELEMENT => {
                let done = open.pop().ok_or(XmlError::Broken)?;
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => return Ok(done),
                }
            }
            // Namespaces and text between elements are not needed here.
            _ => {}
        }
    }
    Err(XmlError::Broken)
}

fn element(
    chunk: ResourceChunk<'_>,
    strings: &StringPool<'_>,
    ids: ByteSlice<'_>,
    kept: &mut XmlTotals,
) -> Result<XmlElement, XmlError> {
    kept.elements += 1;
    if kept.elements > MAX_ELEMENTS {
        return Err(XmlError::TooMuch);
    }
    let body = chunk.body();
    let parts = || {
        let name = strings.get(body.u32(4)?)?;
        let (start, size, count) = (body.u16(8)?, body.u16(10)?, body.u16(12)?);
        Some((name, usize::from(start), usize::from(size), usize::from(count)))
    };
    let (name, start, size, count) = parts().ok_or(XmlError::Broken)?;
    kept.attributes += count;
    if kept.attributes > MAX_ATTRIBUTES {
        return Err(XmlError::TooMuch);
    }
    let name = kept.text(name)?;
    let mut attributes = Vec::new();
    for index in 0..count {
        let raw = body.slice(start + index * size, 20).ok_or(XmlError::Broken)?;
        attributes.push(attribute(raw, strings, ids, kept)?);
    }
    Ok(XmlElement { name, attributes, children: Vec::new() })
}

fn attribute(
    raw: ByteSlice<'_>,
    strings: &StringPool<'_>,
    ids: ByteSlice<'_>,
    kept: &mut XmlTotals,
) -> Result<XmlAttribute, XmlError> {
    let name = raw.u32(4).ok_or(XmlError::Broken)?;
    let id = usize::try_from(name).ok().and_then(|at| ids.u32(at.checked_mul(4)?)).filter(|id| *id != 0);
    let value = RawResourceValue::read(raw, 12).ok_or(XmlError::Broken)?;
    // The compiler may keep the source text next to the typed value; only that of a string is needed.
    let text = (value.kind == super::value::STRING).then_some(value.data).filter(|index| *index != NONE);
    let text = text.and_then(|index| strings.get(index)).map(|text| kept.text(text)).transpose()?;
    // Some tools clear the names of attributes that have an id.
    let name = kept.text(strings.get(name).unwrap_or_default())?;
    Ok(XmlAttribute { id, name, value, text })
}
