use super::*;

#[test]
fn says_what_and_what_to_do() {
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
fn says_everything_that_is_wrong() {
    let problem = |message: &str, hint: Option<&str>| CliProblem {
        message: message.to_owned(),
        hint: hint.map(str::to_owned),
    };
    let failure = CliError::new("2 settings are wrong")
        .with_problems(vec![problem("a.toml:1: x", Some("remove it")), problem("a.toml:2: y", None)]);
    assert_eq!(
        failure.render_text(false),
        "error: 2 settings are wrong\n  - a.toml:1: x\n    hint: remove it\n  - a.toml:2: y\n"
    );
    assert_eq!(failure.to_json()["error"]["problems"][0]["hint"], "remove it");
}

#[test]
fn bad_usage_has_its_own_exit_code() {
    assert_eq!(CliError::usage("x").exit_code(), ExitCode::from(2));
    assert_eq!(CliError::usage("x").code(), "usage");
}

#[test]
fn text_from_elsewhere_cannot_draw_on_the_terminal() {
    let failure = CliError::new("device said \u{1b}[2J\u{202e}gnp\nerror: not really");
    assert_eq!(
        failure.render_text(false),
        "error: device said \\u{1b}[2J\\u{202e}gnp\n  error: not really\n",
        "a line of theirs is indented, so it is not taken for one of ours"
    );
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let gone = CliError::output(&io::Error::from(io::ErrorKind::BrokenPipe));
    assert_eq!(gone.exit_code(), ExitCode::SUCCESS);
    let full = CliError::output(&io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(full.exit_code(), ExitCode::from(1));
}

#[test]
fn colour_only_where_it_is_allowed() {
    assert!(!CliError::new("x").render_text(false).contains('\u{1b}'));
    assert!(CliError::new("x").render_text(true).starts_with("\u{1b}["));
}
