//! Tools that are commands, defined in a TOML file:
//!
//! ```toml
//! [[tool]]
//! name = "journal"
//! description = "Shows the newest lines of a unit's journal"
//! program = "journalctl"               # absolute, or found on PATH when the file is read
//! args = ["--no-pager", "--unit", "{unit}", ["--lines", "{lines}"]]
//! env = ["PATH", "LANG"]               # passed through; the environment is empty otherwise
//! env_set = { TZ = "UTC" }             # set as written
//! timeout_s = 20                       # 30 where not said
//! read_only = true
//!
//! [tool.parameters]
//! type = "object"
//! required = ["unit"]
//! properties.unit = { type = "string", pattern = "^[a-z@.-]+$" }
//! properties.lines = { type = "integer", minimum = 1, maximum = 1000 }
//! ```
//!
//! There is no shell, so nothing in an argument's value can start another command: `; rm -rf ~` is five
//! words of text in one element of `argv`.
//!
//! - `{name}` in an element of `args` stands for the value of that parameter, as the whole element or a part
//!   of it; a value is never split into several. Text is put in as it is, anything else as JSON. `{{` and
//!   `}}` stand for braces.
//! - An element whose parameter was not given (or is null) is left out. Elements in a list of their own are
//!   left out together, as `--lines` and its value above.
//! - A value may start with `-`, and the program may then take it for an option. Where that matters, put
//!   `"--"` before it, write `"--unit={unit}"`, or forbid it with a `pattern`.
//! - `input = "stdin-json"` gives the program all arguments as one JSON object on its standard input instead;
//!   `args` are then fixed.
//! - `parameters` is a JSON Schema, as a table or as a string of JSON. Parameters that it does not name are
//!   refused unless it says otherwise.
//! - `output = "json"` parses what the program writes. The result is `{exit_code, stdout, stderr}`; an exit
//!   code other than 0 is a failure.
//! - `working_dir` is where it runs; the file's folder where not said. `sequential = true` keeps it from
//!   running beside other tools.
//!
//! A command runs in a process group of its own, which is killed whole when the call is cancelled or its
//! time is over, and what is left of it when the program has ended.

mod capture;
mod file;
mod group;
mod program;
mod run;
mod template;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_device::{RawJson, SpecDocument, Tool};

pub use file::CommandFileError;
use file::{Entry, Input, Parameters, Problem};
use run::Command;
use template::Template;

/// Runs no longer than this where the file does not say.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What a command may get from this process, and where its file lies.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The environment from which `env` passes variables through, and whose `PATH` finds programs.
    pub environment: HashMap<OsString, OsString>,
    /// The folder of the file: relative `working_dir`s start here.
    pub folder: PathBuf,
}

/// Reads the text of a command file. Looks for each program, so it may block for some milliseconds.
///
/// # Errors
/// [`CommandFileError`] says what does not fit and where.
pub fn load(text: &str, surroundings: &Surroundings) -> Result<Vec<Tool>, CommandFileError> {
    let mut tools: Vec<Tool> = Vec::new();
    for (at, entry) in file::read(text)? {
        let named = format!("tool {:?}", entry.name);
        let tool = tool(entry, surroundings)
            .map_err(|Problem(problem)| CommandFileError::at(text, at, format!("{named}: {problem}")))?;
        if tools.iter().any(|other| other.name() == tool.name()) {
            return Err(CommandFileError::at(text, at, format!("{named}: there is another of this name")));
        }
        tools.push(tool);
    }
    Ok(tools)
}

fn tool(entry: Entry, surroundings: &Surroundings) -> Result<Tool, Problem> {
    let parameters = parameters(entry.parameters)?;
    let template = Template::parse(&entry.args)?;
    check_holes(&template, &parameters, entry.input)?;
    let working_dir = surroundings.folder.join(entry.working_dir.unwrap_or_default());
    if !working_dir.is_dir() {
        return Err(Problem(format!("working_dir {} is not a folder", working_dir.display())));
    }
    let passed = entry.env.iter().filter_map(|name| {
        let value = surroundings.environment.get(OsString::from(name).as_os_str())?;
        Some((OsString::from(name), value.clone()))
    });
    let set = entry.env_set.into_iter().map(|(name, value)| (name.into(), value.into()));
    let timeout = match entry.timeout_s {
        None => TIMEOUT,
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|timeout| !timeout.is_zero())
            .ok_or_else(|| Problem("timeout_s must be a number of seconds above 0".to_owned()))?,
    };
    let command = Arc::new(Command {
        name: entry.name.clone(),
        program: program::find(&entry.program, surroundings)?,
        template,
        input: entry.input,
        output: entry.output,
        environment: passed.chain(set).collect(),
        working_dir,
        timeout,
    });
    let mut spec = SpecDocument::named(entry.name);
    spec.title = entry.title;
    spec.description = Some(entry.description);
    spec.parameters = Some(RawJson::from(&parameters));
    let mut tool = Tool::new(spec, move |args, cx| {
        let command = Arc::clone(&command);
        async move { command.run(args, cx).await }
    })
    .timeout(timeout);
    if entry.sequential {
        tool = tool.sequential();
    }
    if entry.read_only {
        tool = tool.read_only();
    }
    tool.check().map_err(|error| Problem(error.to_string()))?;
    Ok(tool)
}

/// The schema as JSON. What it does not name is refused unless it says otherwise.
fn parameters(given: Option<Parameters>) -> Result<Value, Problem> {
    let schema = match given {
        None => json!({ "type": "object" }),
        Some(Parameters::Text(text)) => serde_json::from_str(&text)
            .map_err(|error| Problem(format!("parameters are not JSON: {error}")))?,
        Some(Parameters::Table(table)) => serde_json::to_value(table)
            .map_err(|error| Problem(format!("parameters have no JSON form: {error}")))?,
    };
    let Value::Object(mut schema) = schema else {
        return Err(Problem("parameters must be a JSON Schema of an object".to_owned()));
    };
    schema.entry("type").or_insert_with(|| json!("object"));
    let open = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
    if !open.iter().any(|word| schema.contains_key(*word)) {
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    Ok(Value::Object(schema))
}

/// Every hole has a parameter, and every parameter a hole: one that went nowhere would be ignored unseen.
fn check_holes(template: &Template, parameters: &Value, input: Input) -> Result<(), Problem> {
    let properties = parameters.get("properties").and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    if input == Input::StdinJson {
        return match template.holes().next() {
            Some(hole) => Err(Problem(format!(
                "args have {{{hole}}} in them, but with input = \"stdin-json\" the arguments go to standard input"
            ))),
            None => Ok(()),
        };
    }
    if let Some(hole) = template.holes().find(|hole| !known(hole)) {
        return Err(Problem(format!("args have {{{hole}}} in them, but parameters name no such property")));
    }
    let unused = properties.into_iter().flatten().map(|(name, _)| name);
    match unused.into_iter().find(|name| !template.holes().any(|hole| hole == name.as_str())) {
        Some(name) => Err(Problem(format!("the parameter {name} is in none of the args"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
