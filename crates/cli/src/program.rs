//! Returns the command that starts this program from another terminal.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsStr;
use std::path::Path;

use crate::environment::ProcessEnvironment;
use crate::folder::shell_quote;

#[cfg(test)]
mod tests;

const NAME: &str = "toolway";

/// Command for messages such as "run: …": `toolway` if the shell finds this very program under that name, otherwise
/// the program's absolute path, quoted for a shell.
pub(crate) fn program_command(environment: &ProcessEnvironment) -> String {
    match std::env::current_exe() {
        Ok(program) => command_for(&program, environment.variable("PATH")),
        Err(_) => NAME.to_owned(),
    }
}

fn command_for(program: &Path, search_path: Option<&OsStr>) -> String {
    let file_name = format!("{NAME}{EXE_SUFFIX}");
    let first_found = search_path.and_then(|folders| {
        std::env::split_paths(folders)
            .map(|folder| folder.join(&file_name))
            .find(|candidate| candidate.is_file())
    });
    // A link in PATH can point to the same program; another `toolway` may be a different version.
    let is_on_path = first_found.is_some_and(|found| match (found.canonicalize(), program.canonicalize()) {
        (Ok(found), Ok(program)) => found == program,
        _ => false,
    });
    if is_on_path { NAME.to_owned() } else { shell_quote(&program.display().to_string()) }
}
