//! `args` with holes in them. Each element of the template becomes one element of `argv` or none, whatever
//! the values hold.

use serde_json::Value;
use toolway_types::{Code, JsonObject, ToolError};

use crate::definition::ArgDefinition;
use crate::problem::DefinitionProblem;

/// A piece of an element.
#[derive(Debug, PartialEq)]
enum TemplatePiece {
    Text(String),
    Placeholder(String),
}

/// Elements that come and go together.
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

    /// The parameters that it names.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().flatten().filter_map(|piece| match piece {
            TemplatePiece::Placeholder(name) => Some(name.as_str()),
            TemplatePiece::Text(_) => None,
        })
    }

    /// The `argv` for these arguments, without the program.
    pub(crate) fn fill_element(&self, args: &JsonObject) -> Result<Vec<String>, ToolError> {
        let mut argv = Vec::new();
        for group in &self.0 {
            let filled = group.iter().map(|element| fill(element, args)).collect::<Option<Vec<_>>>();
            argv.extend(filled.into_iter().flatten());
        }
        if argv.iter().any(|element| element.contains('\0')) {
            return Err(ToolError::new(
                Code::InvalidArguments,
                "Invalid arguments: no argument of a command can hold a null character",
            ));
        }
        Ok(argv)
    }
}

/// One element; nothing where a value is missing.
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
        DefinitionProblem(format!("args: {element:?} {what}; braces themselves are {{{{ and }}}}"))
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
                        Some('{') | None => return Err(problem("has a brace that is not closed")),
                        Some(c) => name.push(c),
                    }
                }
                if name.is_empty() {
                    return Err(problem("has braces without a name in them"));
                }
                if !text.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut text)));
                }
                pieces.push(TemplatePiece::Placeholder(name));
            }
            '}' => return Err(problem("has a closing brace too many")),
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
