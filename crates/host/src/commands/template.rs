//! `args` with holes in them. Each element of the template becomes one element of `argv` or none, whatever
//! the values hold.

use serde_json::Value;
use toolway_device::{Code, JsonObject, ToolError};

use super::file::{Arg, Problem};

/// A piece of an element.
#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Hole(String),
}

/// Elements that come and go together.
type Group = Vec<Vec<Piece>>;

#[derive(Debug)]
pub(super) struct Template(Vec<Group>);

impl Template {
    pub(super) fn parse(args: &[Arg]) -> Result<Self, Problem> {
        let group = |arg: &Arg| match arg {
            Arg::One(element) => Ok(vec![pieces(element)?]),
            Arg::Together(elements) => elements.iter().map(|element| pieces(element)).collect(),
        };
        args.iter().map(group).collect::<Result<_, _>>().map(Self)
    }

    /// The parameters that it names.
    pub(super) fn holes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().flatten().filter_map(|piece| match piece {
            Piece::Hole(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The `argv` for these arguments, without the program.
    pub(super) fn fill(&self, args: &JsonObject) -> Result<Vec<String>, ToolError> {
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
fn fill(element: &[Piece], args: &JsonObject) -> Option<String> {
    let mut filled = String::new();
    for piece in element {
        match piece {
            Piece::Text(text) => filled.push_str(text),
            Piece::Hole(name) => match args.get(name)? {
                Value::Null => return None,
                Value::String(text) => filled.push_str(text),
                other => filled.push_str(&other.to_string()),
            },
        }
    }
    Some(filled)
}

fn pieces(element: &str) -> Result<Vec<Piece>, Problem> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = element.chars().peekable();
    let problem =
        |what: &str| Problem(format!("args: {element:?} {what}; braces themselves are {{{{ and }}}}"));
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
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Hole(name));
            }
            '}' => return Err(problem("has a closing brace too many")),
            c => text.push(c),
        }
    }
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template(args: &[&str]) -> Template {
        let args: Vec<_> = args.iter().map(|arg| Arg::One((*arg).to_owned())).collect();
        Template::parse(&args).unwrap()
    }

    fn filled(template: &Template, args: Value) -> Vec<String> {
        template.fill(args.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_value_is_one_element_whatever_it_holds() {
        let template = template(&["--", "{text}", "--n={n}", "{{{text}}}", ""]);
        let argv = filled(&template, json!({ "text": "a b; rm -rf ~ $(x) \"", "n": 1.5 }));
        assert_eq!(argv, ["--", "a b; rm -rf ~ $(x) \"", "--n=1.5", "{a b; rm -rf ~ $(x) \"}", ""]);
    }

    #[test]
    fn values_that_are_no_text_are_json() {
        let template = template(&["{a}", "{b}", "{c}", "{d}"]);
        let argv = filled(&template, json!({ "a": [1, "x"], "b": { "k": null }, "c": true, "d": 12 }));
        assert_eq!(argv, [r#"[1,"x"]"#, r#"{"k":null}"#, "true", "12"]);
    }

    #[test]
    fn an_element_without_its_value_goes_and_a_group_goes_together() {
        let args = [
            Arg::One("--all={all}".into()),
            Arg::Together(vec!["--limit".into(), "{limit}".into()]),
            Arg::One("last".into()),
        ];
        let template = Template::parse(&args).unwrap();
        assert_eq!(filled(&template, json!({})), ["last"]);
        assert_eq!(filled(&template, json!({ "all": null, "limit": 3 })), ["--limit", "3", "last"]);
        assert_eq!(template.holes().collect::<Vec<_>>(), ["all", "limit"]);
    }

    #[test]
    fn a_value_is_not_searched_for_holes() {
        let template = template(&["{a}{b}"]);
        assert_eq!(filled(&template, json!({ "a": "{b}", "b": "{a}" })), ["{b}{a}"]);
    }

    #[test]
    fn null_characters_are_refused() {
        let error = template(&["{a}"]).fill(json!({ "a": "x\0y" }).as_object().unwrap()).unwrap_err();
        assert_eq!(error.code, Code::InvalidArguments);
    }

    #[test]
    fn odd_braces_are_refused() {
        for element in ["{", "{a", "a}", "{}", "{a{b}"] {
            assert!(Template::parse(&[Arg::One(element.to_owned())]).is_err(), "{element}");
        }
    }
}
