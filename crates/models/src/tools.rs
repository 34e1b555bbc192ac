//! The tools that a model is told of, and the forms in which providers want them. A form is made once for each tool
//! and once for each set, and kept with it: a conversation sends the same list with every request.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use toolway_types::RawJson;

use crate::raw_fields::rename_fields;
use crate::schema::{ArgumentMapping, NotExpressible};
use crate::tool_names;

/// How many forms of one thing are kept: more than any conversation changes between.
const MAX_FORMATS: usize = 8;

/// The name of a form in which tools are sent: whatever makes the same tool come out differently has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToolFormat(pub &'static str);

/// How a tool's definition crosses into a provider's API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertedTool {
    /// The definition as it is sent.
    pub json: RawJson,
    /// What of it could not be said there, each in words with its JSON pointer into `parameters`. All of it is still
    /// enforced: arguments are checked against the original.
    pub losses: Vec<String>,
    /// How arguments that fit what is sent become arguments of the tool.
    pub arguments: ArgumentMapping,
}

/// One tool, as its source described it. Its fields do not change once it is in a [`ToolSet`]: the forms in which it
/// was sent are kept.
#[derive(Clone)]
pub struct ToolDefinition {
    /// The name by which the model calls it; see [`toolway_types::ExposedName`].
    pub name: String,
    /// What it does, in its source's words.
    pub description: String,
    /// The JSON Schema of its arguments as its source wrote it; none where it takes none.
    pub parameters: Option<RawJson>,
    formats: FormatCache<Result<Arc<ConvertedTool>, NotExpressible>>,
}

impl ToolDefinition {
    /// A tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Option<RawJson>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            formats: FormatCache::default(),
        }
    }

    /// It in a form, which `convert` makes where it was not made before.
    ///
    /// # Errors
    /// What `convert` said.
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
            .finish_non_exhaustive()
    }
}

impl PartialEq for ToolDefinition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.description == other.description
            && self.parameters == other.parameters
    }
}

impl Eq for ToolDefinition {}

/// The tools of one request, sorted by name: the same tools give the same bytes, whatever order they came in.
#[derive(Debug, Default)]
pub struct ToolSet {
    tools: Vec<Arc<ToolDefinition>>,
    /// Those that are sent under an alias, by it.
    aliases: Vec<(String, usize)>,
    formats: FormatCache<Arc<ConvertedTools>>,
}

impl ToolSet {
    /// A set of these. Of two with the same name the first counts.
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

    /// The tools, by name.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolDefinition>] {
        &self.tools
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<ToolDefinition>> {
        let at = self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.tools.get(at)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The name of the tool that a model was told of as `sent`; the same where it is nobody's alias.
    #[must_use]
    pub fn original_name<'a>(&'a self, sent: &'a str) -> &'a str {
        let found = self.aliases.iter().find(|(alias, _)| alias == sent);
        found.and_then(|(_, at)| self.tools.get(*at)).map_or(sent, |tool| tool.name.as_str())
    }

    /// The set in a form. `convert` is called for tools that were not sent in it before; those that it refuses are
    /// left out.
    pub fn converted_to(
        &self,
        form: ToolFormat,
        convert: impl Fn(&ToolDefinition) -> Result<ConvertedTool, NotExpressible>,
    ) -> Arc<ConvertedTools> {
        self.converted_with(form, convert, |tools| RawJson::from_value(tools).unwrap_or_default())
    }

    /// The same, where the list is not a plain JSON array of the tools: `list` makes it of them.
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

/// The tools of one request in the form in which they are sent.
#[derive(Debug, Default)]
pub struct ConvertedTools {
    /// The list.
    pub json: RawJson,
    /// Those that can't be said in this form, by name, and why.
    pub rejected: Vec<(String, NotExpressible)>,
    tools: Vec<(Arc<ToolDefinition>, Arc<ConvertedTool>)>,
}

impl ConvertedTools {
    /// How many are sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether none are.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether the tool of this name is sent.
    #[must_use]
    pub fn has_tool(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Arguments of the tool of this name as they are called in this form, for a history that is sent; none where
    /// they are called the same.
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

    /// Arguments that a model wrote for the tool of this name, as the tool itself has them. The same text where the
    /// form says nothing else than the tool's own schema, or where it is no JSON object.
    #[must_use]
    pub fn restore_arguments(&self, name: &str, arguments: String) -> String {
        let Some((tool, converted)) = self.find(name) else { return arguments };
        match converted.arguments.restore(tool.parameters.as_ref(), &arguments) {
            Some(restored) => restored,
            None => arguments,
        }
    }
}

/// A few forms of one thing, each made once.
struct FormatCache<T>(Mutex<Vec<(ToolFormat, T)>>);

impl<T: Clone> FormatCache<T> {
    /// Makes it outside the lock: two that ask at once may both make it, and get the same.
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
