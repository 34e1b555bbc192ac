//! Runs a fixed program without a shell for one call: its definition in a file, its arguments, its process
//! group and its output.
//!
//! A file of definitions is TOML:
//!
//! ```toml
//! [[tool]]
//! name = "journal"
//! description = "Shows the newest lines of a unit's journal"
//! program = "journalctl"               # absolute, or found on PATH when the file is read
//! args = ["--no-pager", "--unit", "{unit}", ["--lines", "{lines}"]]
//! pass_env = ["PATH", "LANG"]          # variables to pass through; otherwise the environment is empty
//! set_env = { TZ = "UTC" }             # variables to set
//! timeout_s = 20                       # default: 30
//! read_only = true
//!
//! [tool.parameters]
//! type = "object"
//! required = ["unit"]
//! properties.unit = { type = "string", pattern = "^[a-z@.-]+$" }
//! properties.lines = { type = "integer", minimum = 1, maximum = 1000 }
//! ```
//!
//! There is no shell, so no argument value can start another command: `; rm -rf ~` is plain text in one
//! element of `argv`.
//!
//! - `{name}` in an element of `args` is replaced by the value of that parameter. It may be the whole element
//!   or a part of it. A value is never split into several elements. Text is inserted unchanged, other values
//!   as JSON. Write `{{` and `}}` for literal braces.
//! - An element is omitted if its parameter is missing or null. Elements in a nested list are omitted
//!   together, like `--lines` and its value above.
//! - A value may start with `-`, and the program may then read it as an option. To prevent this, put `"--"`
//!   before it, write `"--unit={unit}"`, or forbid it with a `pattern`.
//! - `input = "stdin-json"` passes all arguments as one JSON object on standard input; `args` are then fixed.
//! - `parameters` is a JSON Schema, as a table or as a string of JSON. Parameters not listed there are
//!   refused by default.
//! - `output = "json"` parses standard output. The result is `{exit_code, stdout, stderr}`.
//! - `cwd` is the folder to run in, by default the file's folder. `sequential = true` prevents it
//!   from running at the same time as other tools.
//! - `read_only`, `destructive` and `open_world` describe the effects of the tool, and `permissions` its
//!   required permissions. Policy and approval use them.
//!
//! A call fails if
//! - the program ends with an exit code other than 0, or by a signal;
//! - with `output = "json"`, the output is not JSON, or is an object whose member `error` has a value other
//!   than `null`, `false`, `0`, `""`, `[]` and `{}`. The member is a text, or an object `{message, code?,
//!   hint?}`; other members and the exit code do not matter. If a program's normal output has such a member,
//!   use `output = "text"`.
//!
//! A program runs in its own process group. The whole group is killed when the call is cancelled or times
//! out, and after the program has ended.

mod capture;
mod command;
mod command_env;
mod definition;
mod definition_file;
mod parameters;
mod placeholder_check;
mod problem;
mod process;
mod process_group;
mod program;
mod reported_failure;
mod template;

pub use capture::{CaptureEnd, OutputCapture};
pub use command::{PreparedCommand, ToolCommand};
pub use command_env::CommandEnv;
pub use definition::{CommandDefinition, ToolMetadata};
pub use definition_file::{DefinitionEntry, DefinitionFile, DefinitionFileError};
pub use parameters::ParameterSchema;
pub use problem::DefinitionProblem;
pub use process::{OutputLimits, ProcessOutput, ProgramLaunch, RunError};
