//! The environment of programs.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// Environment variables and base folder for the programs of one definition file.
#[derive(Debug, Clone, Default)]
pub struct CommandEnv {
    /// Environment of this process. `pass_env` copies variables from it, and its `PATH` is used to find
    /// programs.
    pub environment: HashMap<OsString, OsString>,
    /// Folder of the definition file. A relative `cwd` starts here.
    pub base_dir: PathBuf,
}
