//! The tools of a request, and their conversion to the forms of providers. A conversation sends the same tools with
//! every request, so each form is computed once per tool and per set, and cached.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::RawJson;

use crate::raw_fields::rename_fields;
use crate::schema::{ArgumentMapping, NotExpressible};
use crate::tool_names;

/// Maximum number of cached forms of one tool or set: more than any conversation alternates between.
const MAX_FORMATS: usize = 8;

/// Name of a form. Settings that change the converted tool need a name of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolFormat(pub &'static str);

/// A tool in the form of a provider's API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertedTool {
    /// Definition that is sent.
    pub json: RawJson,
    /// Constraints that this form can't express, in words, each with its JSON pointer into `parameters`. They still
    /// apply, because arguments are validated against the original.
    pub losses: Vec<String>,
    /// Conversion of the model's arguments to arguments of the tool.
    pub arguments: ArgumentMapping,
}

/// A tool as described by its source. Its fields must not change once it is in a [`ToolSet`], because converted forms
/// are cached.
#[derive(Clone)]
pub struct ToolDefinition {
    /// Name by which the model calls it; see [`toolway_types::ExposedName`].
    pub name: String,
    /// Description by its source.
    pub description: String,
    /// JSON Schema of its arguments as its source wrote it; `None` if it takes none.
    pub parameters: Option<RawJson>,
    /// True if the API must enforce the schema while the model writes, where it can.
    pub is_strict: bool,
    formats: FormatCache<Result<Arc<ConvertedTool>, NotExpressible>>,
}

impl ToolDefinition {
    /// Creates a tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Option<RawJson>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            is_strict: false,
            formats: FormatCache::default(),
        }
    }

    /// Sets whether the API must enforce the schema.
    #[must_use]
    pub fn strict(self, is_strict: bool) -> Self {
        Self { is_strict, ..self }
    }

    /// Returns the tool in a form. `convert` computes it the first time.
    ///
    /// # Errors
    /// The error of `convert`.
    pub fn converted_to(
        &self,
        form: ToolFormat,
        convert: impl FnOnce(&Self) -> Result<ConvertedTool, NotExpressible>,
    ) -> Result<Arc<ConvertedTool>, NotExpressible> {
        self.formats.get_or_make(form, || convert(self).map(Arc::new))
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolDefinition")
            .field("name", &self.name)
            .field("description", &self.description)
            .field("parameters", &self.parameters)
            .field("is_strict", &self.is_strict)
            .finish_non_exhaustive()
    }
}

impl PartialEq for ToolDefinition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.parameters == other.parameters
            && self.is_strict == other.is_strict
    }
}

impl Eq for ToolDefinition {}

/// The tools of one request, sorted by name, so that the same tools always give the same bytes.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Arc<ToolDefinition>>,
    /// Indexes of tools that are sent under an alias, by alias.
    aliases: Vec<(String, usize)>,
    formats: FormatCache<Arc<ConvertedTools>>,
}

impl ToolSet {
    /// Creates a set. If two tools have the same name, the first one is kept.
    #[must_use]
    pub fn new(mut tools: Vec<Arc<ToolDefinition>>) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|later, first| later.name == first.name);
        let aliases =
            tools.iter().enumerate().filter_map(|(at, tool)| match tool_names::wire_name(&tool.name) {
                std::borrow::Cow::Borrowed(_) => None,
                std::borrow::Cow::Owned(alias) => Some((alias, at)),
            });
        let aliases = aliases.collect();
        Self { tools, aliases, formats: FormatCache::default() }
    }

    /// The tools, sorted by name.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolDefinition>] {
        &self.tools
    }

    /// Returns the tool of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<ToolDefinition>> {
        let at = self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }

    /// Returns whether a tool of the set is strict.
    pub(crate) fn has_strict(&self) -> bool {
        self.tools.iter().any(|tool| tool.is_strict)
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// True if the name, as the model sees it, is the beginning of a longer one.
    pub(crate) fn has_longer_name(&self, sent: &str) -> bool {
        let is_longer = |name: &str| name.len() > sent.len() && name.starts_with(sent);
        self.tools.iter().any(|tool| is_longer(&tool.name))
            || self.aliases.iter().any(|(alias, _)| is_longer(alias))
    }

    /// Returns the name of the tool with the alias `sent`, or `sent` itself if it is not an alias.
    #[must_use]
    pub fn original_name<'a>(&'a self, sent: &'a str) -> &'a str {
        let found = self.aliases.iter().find(|(alias, _)| alias == sent);
        found.and_then(|(_, at)| self.tools.get(*at)).map_or(sent, |tool| tool.name.as_str())
    }

    /// Returns the set in a form. `convert` is called for tools that have no cached form. Tools that it refuses are
    /// left out.
    pub fn converted_to(
        &self,
        form: ToolFormat,
        convert: impl Fn(&ToolDefinition) -> Result<ConvertedTool, NotExpressible>,
    ) -> Arc<ConvertedTools> {
        self.converted_with(form, convert, |tools| RawJson::from_value(tools).unwrap_or_default())
    }

    /// As [`ToolSet::converted_to`], for APIs whose list of tools is not a plain JSON array: `list` builds it.
    pub fn converted_with(
        &self,
        form: ToolFormat,
        convert: impl Fn(&ToolDefinition) -> Result<ConvertedTool, NotExpressible>,
        list: impl FnOnce(&[&RawJson]) -> RawJson,
    ) -> Arc<ConvertedTools> {
        self.formats.get_or_make(form, || {
            let (mut tools, mut refused) = (Vec::new(), Vec::new());
            for tool in &self.tools {
                match tool.converted_to(form, &convert) {
                    Ok(converted) => tools.push((Arc::clone(tool), converted)),
                    Err(why) => refused.push((tool.name.clone(), why)),
                }
            }
            let definitions: Vec<_> = tools.iter().map(|(_, converted)| &converted.json).collect();
            let json = list(&definitions);
            Arc::new(ConvertedTools { json, rejected: refused, tools })
        })
    }
}

/// The tools of one request in a provider's form.
#[derive(Debug, Default)]
pub struct ConvertedTools {
    /// JSON of the list.
    pub json: RawJson,
    /// Names of tools that this form can't express, with the reasons.
    pub rejected: Vec<(String, NotExpressible)>,
    tools: Vec<(Arc<ToolDefinition>, Arc<ConvertedTool>)>,
}

impl ConvertedTools {
    /// Number of tools that are sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Returns whether no tool is sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns whether the tool of a name is sent.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns arguments with the property names of this form, for a history that is sent; `None` if no name differs.
    #[must_use]
    pub(crate) fn renamed_arguments(&self, name: &str, arguments: &str) -> Option<String> {
        let names = &self.find(name)?.1.arguments.renamed;
        if names.is_empty() {
            return None;
        }
        rename_fields(arguments, |own| {
            names.iter().find(|(_, name)| name == own).map(|(sent, _)| sent.clone())
        })
    }

    fn find(&self, name: &str) -> Option<&(Arc<ToolDefinition>, Arc<ConvertedTool>)> {
        let at = self.tools.binary_search_by(|(tool, _)| tool.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }

    /// Converts a model's arguments to the tool's own form. The text stays the same if the form does not differ, or if
    /// the text is not a JSON object.
    #[must_use]
    pub fn restore_arguments(&self, name: &str, arguments: String) -> String {
        let Some((tool, converted)) = self.find(name) else { return arguments };
        match converted.arguments.restore(tool.parameters.as_ref(), &arguments) {
            Some(restored) => restored,
            None => arguments,
        }
    }
}

/// A small cache of forms.
struct FormatCache<T>(Mutex<Vec<(ToolFormat, T)>>);

impl<T: Clone> FormatCache<T> {
    /// Computes the form outside the lock. Two concurrent callers may both compute it, and get the same value.
    fn get_or_make(&self, form: ToolFormat, make: impl FnOnce() -> T) -> T {
        if let Some(made) = self.find(form) {
            return made;
        }
        let made = make();
        let mut forms = self.0.lock();
        if let Some((_, first)) = forms.iter().find(|(of, _)| *of == form) {
            return first.clone();
        }
        if forms.len() >= MAX_FORMATS {
            forms.remove(0);
        }
        forms.push((form, made.clone()));
        made
    }

    fn find(&self, form: ToolFormat) -> Option<T> {
        self.0.lock().iter().find(|(of, _)| *of == form).map(|(_, made)| made.clone())
    }
}

impl<T> Default for FormatCache<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Clone> Clone for FormatCache<T> {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

impl<T> fmt::Debug for FormatCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forms")
    }
}

#[cfg(test)]
mod tests;
