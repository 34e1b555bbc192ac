//! The `toolway` command. Only this crate reads the environment, the home directory and the terminal; the libraries get
//! what they need as arguments.

mod approval_prompt;
mod archive;
mod certificate;
mod cli;
mod client;
mod commands;
mod context;
mod environment;
mod error;
mod folder;
mod host;
mod principals;
mod print;
mod program;
mod report;
mod secrets;
mod settings;
mod signals;
mod terminal;
mod time_args;
mod tool_env;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::cli::Cli;
use crate::context::CliContext;
use crate::environment::ProcessEnvironment;
use crate::error::CliError;

fn main() -> ExitCode {
    let environment = ProcessEnvironment::read();
    let stderr = environment.stderr;
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return bad_usage(&error, stderr),
    };
    let as_json = cli.json;
    let done = CliContext::new(environment, cli.json, cli.data_dir, cli.config)
        .and_then(|context| cli::run(cli.command, &context));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(stderr, as_json);
            failure.exit_code()
        }
    }
}

/// Prints help and version to standard output; reports all other cases as errors.
fn bad_usage(error: &clap::Error, stderr: environment::OutputStream) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Nobody can be told about a closed standard output.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = error.print();
        return ExitCode::from(2);
    }
    let as_json = std::env::args_os().any(|argument| argument == "--json");
    let failure = usage_failure(error);
    failure.print(stderr, as_json);
    failure.exit_code()
}

/// Converts the parser's message to an error with its tips and usage as hints.
fn usage_failure(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let mut message = Vec::new();
    let mut hints = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.to_owned());
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            hints.push(format!("usage: {usage}"));
        } else if line.starts_with("For more information") {
            hints.push("for more information, try --help".to_owned());
        } else {
            message.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    hints.into_iter().fold(CliError::usage(message.join("\n")), CliError::with_hint)
}
