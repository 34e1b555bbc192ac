//! Template for `args` with placeholders. Each element of the template becomes exactly one element of `argv`,
//! or none, whatever the values contain.

use serde_json::Value;
use toolway_types::{Code, JsonObject, ToolError};

use crate::definition::ArgDefinition;
use crate::problem::DefinitionProblem;

/// A piece of an element: text or a placeholder.
#[derive(Debug, PartialEq)]
enum TemplatePiece {
    Text(String),
    Placeholder(String),
}

/// Elements that are included or omitted together.
type ArgGroup = Vec<Vec<TemplatePiece>>;

#[derive(Debug)]
pub(crate) struct ArgvTemplate(Vec<ArgGroup>);

impl ArgvTemplate {
    pub(crate) fn parse(args: &[ArgDefinition]) -> Result<Self, DefinitionProblem> {
        let group = |arg: &ArgDefinition| match arg {
            ArgDefinition::One(element) => Ok(vec![parse_element(element)?]),
            ArgDefinition::Together(elements) => {
                elements.iter().map(|element| parse_element(element)).collect()
            }
        };
        args.iter().map(group).collect::<Result<_, _>>().map(Self)
    }

    /// Parameters used by the template.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().flatten().filter_map(|piece| match piece {
            TemplatePiece::Placeholder(name) => Some(name.as_str()),
            TemplatePiece::Text(_) => None,
        })
    }

    /// Creates the `argv` for these arguments, without the program.
    pub(crate) fn fill_element(&self, args: &JsonObject) -> Result<Vec<String>, ToolError> {
        let mut argv = Vec::new();
        for group in &self.0 {
            let filled = group.iter().map(|element| fill(element, args)).collect::<Option<Vec<_>>>();
            argv.extend(filled.into_iter().flatten());
        }
        if argv.iter().any(|element| element.contains('\0')) {
            return Err(ToolError::new(
                Code::InvalidArguments,
                "Invalid arguments: arguments of a command cannot contain a null character",
            ));
        }
        Ok(argv)
    }
}

/// Fills one element; `None` if a value is missing.
fn fill(element: &[TemplatePiece], args: &JsonObject) -> Option<String> {
    let mut filled = String::new();
    for piece in element {
        match piece {
            TemplatePiece::Text(text) => filled.push_str(text),
            TemplatePiece::Placeholder(name) => match args.get(name)? {
                Value::Null => return None,
                Value::String(text) => filled.push_str(text),
                other => filled.push_str(&other.to_string()),
            },
        }
    }
    Some(filled)
}

fn parse_element(element: &str) -> Result<Vec<TemplatePiece>, DefinitionProblem> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = element.chars().peekable();
    let problem = |what: &str| {
        DefinitionProblem(format!("args: {element:?} {what}; write {{{{ and }}}} for literal braces"))
    };
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' if rest.peek() == Some(&c) => {
                rest.next();
                text.push(c);
            }
            '{' => {
                let mut name = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some('{') | None => return Err(problem("has an unclosed brace")),
                        Some(c) => name.push(c),
                    }
                }
                if name.is_empty() {
                    return Err(problem("has braces without a name"));
                }
                if !text.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut text)));
                }
                pieces.push(TemplatePiece::Placeholder(name));
            }
            '}' => return Err(problem("has an unmatched closing brace")),
            c => text.push(c),
        }
    }
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(TemplatePiece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests;
