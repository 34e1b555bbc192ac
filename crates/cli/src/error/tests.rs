use super::*;

#[test]
fn an_error_shows_message_and_hint() {
    let failure =
        CliError::new("there is no tool disk").with_code("not_found").with_hint("run `toolway tools list`");
    assert_eq!(failure.render_text(false), "error: there is no tool disk\nhint: run `toolway tools list`\n");
    assert_eq!(
        failure.to_json(),
        json!({"error": {"code": "not_found", "message": "there is no tool disk", "hint": "run `toolway tools list`"}})
    );
    assert_eq!(failure.exit_code(), ExitCode::from(1));
}

#[test]
fn an_error_shows_all_problems() {
    let problem = |message: &str, hint: Option<&str>| CliProblem {
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
    };
    let failure = CliError::new("2 settings are invalid")
        .with_problems(vec![problem("a.toml:1: x", Some("remove it")), problem("a.toml:2: y", None)]);
    assert_eq!(
        failure.render_text(false),
        "error: 2 settings are invalid\n  - a.toml:1: x\n    hint: remove it\n  - a.toml:2: y\n"
    );
    assert_eq!(failure.to_json()["error"]["problems"][0]["hint"], "remove it");
}

#[test]
fn usage_errors_have_their_own_exit_code() {
    assert_eq!(CliError::usage("x").exit_code(), ExitCode::from(2));
    assert_eq!(CliError::usage("x").code(), "usage");
}

#[test]
fn untrusted_text_in_errors_is_escaped() {
    let failure = CliError::new("device said \u{1b}[2J\u{202e}gnp\nerror: not really");
    assert_eq!(
        failure.render_text(false),
        "error: device said \\u{1b}[2J\\u{202e}gnp\n  error: not really\n",
        "a line of theirs is indented, so it is not taken for one of ours"
    );
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let gone = CliError::output(&io::Error::from(io::ErrorKind::BrokenPipe));
    assert_eq!(gone.exit_code(), ExitCode::SUCCESS);
    let full = CliError::output(&io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(full.exit_code(), ExitCode::from(1));
}

#[test]
fn colours_are_used_only_if_allowed() {
    assert!(!CliError::new("x").render_text(false).contains('\u{1b}'));
    assert!(CliError::new("x").render_text(true).starts_with("\u{1b}["));
}
