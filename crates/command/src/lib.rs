//! A fixed program, run without a shell for one call: how it is defined in a file, how arguments become its
//! `argv`, its process group and how that ends, what it wrote.
//!
//! A file of definitions is TOML:
//!
//! ```toml
//! [[tool]]
//! name = "journal"
//! description = "Shows the newest lines of a unit's journal"
//! program = "journalctl"               # absolute, or found on PATH when the file is read
//! args = ["--no-pager", "--unit", "{unit}", ["--lines", "{lines}"]]
//! pass_env = ["PATH", "LANG"]          # passed through; the environment is empty otherwise
//! set_env = { TZ = "UTC" }             # set as written
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
//! - `output = "json"` parses what the program writes. The result is `{exit_code, stdout, stderr}`.
//! - `cwd` is where it runs; the file's folder where not said. `sequential = true` keeps it from
//!   running beside other tools.
//! - `read_only`, `destructive` and `open_world` say what it does to the world, and `permissions` what it
//!   needs: policy and approval go by them.
//!
//! A call has failed where
//! - the program ends with an exit code other than 0, or by a signal;
//! - with `output = "json"`, what it writes is not JSON, or is an object with a member `error` that says
//!   something: anything but `null`, `false`, `0`, `""`, `[]` and `{}`. That member is a text, or an object
//!   `{message, code?, hint?}`, whatever stands beside it and whatever the exit code. A program whose ordinary
//!   answer has such a member takes `output = "text"`.
//!
//! A program runs in a process group of its own, which is killed whole when the call is cancelled or its
//! time is over, and what is left of it when the program has ended.

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
pub use definition_file::{DefinitionEntry, DefinitionFile, DefinitionFileError, TextPosition};
pub use parameters::ParameterSchema;
pub use problem::DefinitionProblem;
pub use process::{OutputLimits, ProcessOutput, ProgramLaunch, RunError};
