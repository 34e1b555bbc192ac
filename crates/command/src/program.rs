//! Finds a command's program once, when the file is read, so that later changes of `PATH` have no effect.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::command_env::CommandEnv;
use crate::problem::DefinitionProblem;

/// Finds the absolute path of a program.
pub(crate) fn find_program(program: &str, env: &CommandEnv) -> Result<PathBuf, DefinitionProblem> {
    let path = Path::new(program);
    if program.is_empty() {
        return Err(DefinitionProblem("program is empty".to_owned()));
    }
    if path.is_absolute() {
        return if is_executable(path) {
            refuse_batch_file(path.to_owned())
        } else {
            Err(DefinitionProblem(format!("program {program} does not exist or is not executable")))
        };
    }
    if path.components().count() > 1 {
        return Err(DefinitionProblem(format!(
            "program {program} must be an absolute path, or a name on PATH"
        )));
    }
    let search = env.environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let found = std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| {
            [folder.join(program), folder.join(format!("{program}{}", std::env::consts::EXE_SUFFIX))]
        })
        .find(|candidate| is_executable(candidate));
    found.map_or_else(
        || Err(DefinitionProblem(format!("program {program} is not on PATH"))),
        refuse_batch_file,
    )
}

/// Refuses batch files, because they run in a shell that parses arguments differently.
fn refuse_batch_file(path: PathBuf) -> Result<PathBuf, DefinitionProblem> {
    let ending = path.extension().map(OsStr::to_ascii_lowercase);
    if cfg!(windows) && ending.is_some_and(|ending| ending == "bat" || ending == "cmd") {
        return Err(DefinitionProblem(format!(
            "program {} is a batch file, and batch files run in a shell",
            path.display()
        )));
    }
    Ok(path)
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
