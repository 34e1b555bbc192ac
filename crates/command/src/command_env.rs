//! The environment of programs.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a program may get from this process, and where its definition lies.
#[derive(Debug, Clone, Default)]
pub struct CommandEnv {
    /// The environment from which `pass_env` takes variables through, and whose `PATH` finds programs.
    pub environment: HashMap<OsString, OsString>,
    /// Where relative `cwd`s start: the folder of the file.
    pub base_dir: PathBuf,
}
