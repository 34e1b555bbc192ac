use std::time::Duration;

use super::{ExtraEscaping, command, needs_escaping, parse_output};
use crate::bundle::{Bundle, BundleValue};
use crate::host::{CallFailure, HostCall};

fn call(extras: Option<Bundle>) -> HostCall {
    HostCall {
        authority: "com.example.tools".to_owned(),
        method: "execute_tool".to_owned(),
        extras,
        timeout: Duration::from_secs(5),
    }
}

fn args(text: &str) -> HostCall {
    call(Some(Bundle::new().with("tool_name", "get").with("args", text)))
}

#[test]
fn a_call_without_extras_is_two_options() {
    assert_eq!(
        command(&call(None), 0, ExtraEscaping::Raw).unwrap(),
        "content call --uri content://com.example.tools --method execute_tool"
    );
    assert_eq!(
        command(&call(None), 10, ExtraEscaping::Backslash).unwrap(),
        "content call --uri content://com.example.tools --user 10 --method execute_tool"
    );
}

#[test]
fn values_are_escaped_for_the_phones_version() {
    let json = r#"{"a":"b\\c"}"#;
    assert_eq!(
        command(&args(json), 0, ExtraEscaping::Raw).unwrap(),
        r#"content call --uri content://com.example.tools --method execute_tool --extra 'args:s:{"a":"b\\c"}' --extra tool_name:s:get"#
    );
    assert_eq!(
        command(&args(json), 0, ExtraEscaping::Backslash).unwrap(),
        r#"content call --uri content://com.example.tools --method execute_tool --extra 'args:s:{"a"\:"b\\\\c"}' --extra tool_name:s:get"#
    );
}

#[test]
fn quotes_do_not_end_a_shell_word() {
    let line = command(&args("'; reboot; '"), 0, ExtraEscaping::Raw).unwrap();
    assert!(line.ends_with(r"--extra 'args:s:'\''; reboot; '\''' --extra tool_name:s:get"), "{line}");
}

#[test]
fn the_escaping_style_matters_only_for_special_characters() {
    assert!(!needs_escaping(&call(None)));
    assert!(!needs_escaping(&args("{}")));
    assert!(needs_escaping(&args("a:b")));
    assert!(needs_escaping(&args("a\\b")));
    assert!(needs_escaping(&call(Some(Bundle::new().with("n", 1)))));
}

#[test]
fn numbers_keep_their_type_or_are_refused() {
    let one = call(Some(Bundle::new().with("n", 1)));
    assert!(command(&one, 0, ExtraEscaping::Backslash).unwrap().ends_with("--extra n:i:1"));
    assert!(matches!(command(&one, 0, ExtraEscaping::Raw), Err(CallFailure::Unsupported(_))));
    let long = call(Some(Bundle::from_iter([("n".to_owned(), BundleValue::Long(1))])));
    assert!(command(&long, 0, ExtraEscaping::Raw).unwrap().ends_with("--extra n:l:1"));
}

#[test]
fn unsupported_values_are_refused_with_the_reason() {
    let map = Bundle::from_iter([("tool_arguments".to_owned(), BundleValue::Map(Vec::new()))]);
    assert_eq!(
        command(&call(Some(map)), 0, ExtraEscaping::Backslash),
        Err(CallFailure::Unsupported(
            "tool_arguments is a map, which adb can't pass; call tools of the MCP dialects from an app"
                .to_owned()
        ))
    );
    assert_eq!(
        command(&args("a\0b"), 0, ExtraEscaping::Raw),
        Err(CallFailure::Unsupported("adb can't pass a NUL character".to_owned()))
    );
    let long = command(&args(&"x".repeat(70_000)), 0, ExtraEscaping::Raw);
    assert!(matches!(long, Err(CallFailure::TooLarge(why)) if why.contains("adb can pass at most 60000")));
    let option = HostCall { method: "--user".to_owned(), ..call(None) };
    assert!(matches!(command(&option, 0, ExtraEscaping::Raw), Err(CallFailure::Unsupported(_))));
}

const TRACE: &str =
    "\n\tat android.os.Parcel.createExceptionOrNull(Parcel.java:3011)\n\tat a.b.c(D.java:1)\n";

#[track_caller]
fn thrown(what: &str) -> CallFailure {
    let stderr = format!("Error while accessing provider:com.example.tools\n{what}{TRACE}");
    parse_output("", &stderr, "execute_tool").unwrap_err()
}

#[test]
fn answers_are_bundles_or_none() {
    let got = parse_output("Result: Bundle[{status=success, data={}}]\n", "", "execute_tool").unwrap();
    assert_eq!(got, Some(Bundle::new().with("status", "success").with("data", "{}")));
    assert_eq!(parse_output("Result: null\n", "", "list_tools"), Ok(None));
    let warned = "WARNING: linker: something\nResult: Bundle[{status=success, data={}}]\r\n";
    assert!(parse_output(warned, "", "list_tools").unwrap().is_some());
}

#[test]
fn a_null_answer_of_an_older_phone_is_not_an_exception_of_the_app() {
    let message = "java.lang.NullPointerException: Attempt to invoke virtual method 'int android.os.Bundle.size()' on a null object reference";
    let own = format!(
        "Error while accessing provider:com.example.tools\n{message}\n\tat com.android.commands.content.Content$CallCommand.onExecute(Content.java:497)\n"
    );
    assert_eq!(parse_output("", &own, "list_tools"), Ok(None));
    assert!(
        matches!(thrown(message), CallFailure::Threw { class, .. } if class == "java.lang.NullPointerException")
    );
}

#[test]
fn exceptions_are_distinguished() {
    let denial = "Permission Denial: opening provider com.example.Tools from (null) (pid=4712, uid=2000) requires \
                  com.clawseed.permission.ACCESS_TOOLS or com.clawseed.permission.ACCESS_TOOLS";
    assert_eq!(
        thrown(&format!("java.lang.SecurityException: {denial}")),
        CallFailure::Security(denial.to_owned())
    );
    assert_eq!(
        thrown("java.lang.IllegalStateException: Could not find provider: com.example.tools"),
        CallFailure::UnknownAuthority("Could not find provider: com.example.tools".to_owned())
    );
    assert!(matches!(thrown("android.os.DeadObjectException"), CallFailure::Died(_)));
    assert_eq!(
        thrown("android.os.TransactionTooLargeException: data parcel size 1400000 bytes"),
        CallFailure::TooLarge("data parcel size 1400000 bytes".to_owned())
    );
    assert_eq!(
        thrown("java.lang.IllegalArgumentException: first line\nsecond line"),
        CallFailure::Threw {
            class: "java.lang.IllegalArgumentException".to_owned(),
            message: "first line\nsecond line".to_owned()
        }
    );
}

#[test]
fn usage_output_and_silence_are_errors() {
    let usage =
        "usage: adb shell content [subcommand] [options]\n\n[ERROR] Binding not well formed: k:s:a:b\n";
    assert_eq!(
        parse_output(usage, "", "list_tools"),
        Err(CallFailure::Unsupported(
            "the phone's `content` program rejects this call: Binding not well formed: k:s:a:b".to_owned()
        ))
    );
    assert!(matches!(parse_output("", "", "list_tools"), Err(CallFailure::Threw { .. })));
    assert!(matches!(
        parse_output("Result: Bundle[{status=succ", "", "list_tools"),
        Err(CallFailure::Threw { message, .. }) if message.starts_with("a malformed answer")
    ));
}
