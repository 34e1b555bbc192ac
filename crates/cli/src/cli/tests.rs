use clap::CommandFactory;

use super::*;

fn command() -> clap::Command {
    let mut command = Cli::command().term_width(100);
    command.build();
    command
}

fn each(command: &clap::Command, path: &str, visit: &mut impl FnMut(&str, &clap::Command)) {
    visit(path, command);
    for inner in command.get_subcommands() {
        each(inner, &format!("{path} {}", inner.get_name()), visit);
    }
}

#[test]
fn clap_accepts_the_command_definition() {
    Cli::command().debug_assert();
}

#[test]
fn help_matches_the_snapshot() {
    let mut all = String::new();
    each(&command(), "toolway", &mut |path, command| {
        let help = command.clone().term_width(100).render_long_help();
        let help = help.to_string();
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        all.push_str(&format!("## {path}\n\n{}\n\n", lines.join("\n")));
    });
    insta::assert_snapshot!("help", all);
}

#[test]
fn every_command_and_flag_has_a_help_text() {
    each(&command(), "toolway", &mut |path, command| {
        assert!(command.get_about().is_some(), "{path} says what it does");
        for argument in command.get_arguments() {
            assert!(argument.get_help().is_some(), "{path} {} says what it is", argument.get_id());
        }
    });
}

#[test]
fn every_command_prints_json() {
    each(&command(), "toolway", &mut |path, command| {
        let has = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        assert!(has, "{path} has --json");
    });
}

#[test]
fn no_flag_takes_a_secret() {
    // Other users of the computer can see command lines.
    each(&command(), "toolway", &mut |path, command| {
        for argument in command.get_arguments() {
            assert_ne!(argument.get_long(), Some("token"), "{path}");
        }
    });
}
