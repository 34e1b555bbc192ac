//! The program `content`, like the platform's `Content.java`: strict about its options, with both ways of
//! parsing values, and always with exit code 0.

use std::collections::BTreeMap;

use crate::android::{AndroidSystem, ExtraEscaping, ExtraValue, ProviderReply, ReceivedCall};

const USAGE: &str = "usage: adb shell content [subcommand] [options]\n\n";
const TRACE: &str = "\tat android.os.Parcel.createExceptionOrNull(Parcel.java:3011)\n\
                     \tat android.os.Parcel.createException(Parcel.java:2995)\n\
                     \tat android.os.Parcel.readException(Parcel.java:2978)\n\
                     \tat com.android.commands.content.Content$Command.execute(Content.java:521)\n";

/// Runs it. Returns standard output and standard error.
pub(crate) fn run(arguments: &[String], system: &AndroidSystem) -> (String, String) {
    let received = match parse(arguments, system.setup.escaping) {
        Ok(received) => received,
        Err(error) => return (format!("{USAGE}[ERROR] {error}\n"), String::new()),
    };
    let authority = received.authority.clone();
    match call(received, system) {
        Ok(text) => (text, String::new()),
        Err(thrown) => {
            let trace = if thrown.contains("\n\tat ") { String::new() } else { format!("\n{TRACE}") };
            (String::new(), format!("Error while accessing provider:{authority}\n{thrown}{trace}"))
        }
    }
}

fn parse(arguments: &[String], escaping: ExtraEscaping) -> Result<ReceivedCall, String> {
    let mut words = arguments.iter();
    if words.next().map(String::as_str) != Some("call") {
        return Err(format!("Unsupported operation: {:?}", arguments.first()));
    }
    let (mut uri, mut method, mut user, mut extras) = (None, None, 0, BTreeMap::new());
    while let Some(option) = words.next() {
        let value = words.next();
        let required = || {
            value
                .filter(|value| !value.is_empty() && !value.starts_with("--"))
                .ok_or_else(|| format!("No value for argument: {option}"))
        };
        match option.as_str() {
            "--uri" => uri = Some(required()?),
            "--method" => method = Some(required()?),
            "--user" => user = required()?.parse().map_err(|_| "not a user".to_owned())?,
            "--extra" => {
                let binding = value.filter(|value| !value.is_empty()).ok_or("Binding not well formed: ")?;
                let (key, typed) = bind(binding, escaping)?;
                extras.insert(key, typed);
            }
            other => return Err(format!("Unsupported argument: {other}")),
        }
    }
    let uri = uri.ok_or("Content provider URI not specified. Did you specify --uri argument?")?;
    let authority = uri.strip_prefix("content://").unwrap_or_default().split('/').next().unwrap_or_default();
    let method = method.ok_or("Content provider method not specified.")?;
    Ok(ReceivedCall { authority: authority.to_owned(), method: method.clone(), extras, user })
}

fn bind(binding: &str, escaping: ExtraEscaping) -> Result<(String, ExtraValue), String> {
    let bad = || format!("Binding not well formed: {binding}");
    let parts: Vec<String> = match escaping {
        ExtraEscaping::Raw => binding.splitn(3, ':').map(str::to_owned).collect(),
        ExtraEscaping::Backslash => split_with_escaping(binding)?,
    };
    let [key, kind, value] = parts.as_slice() else { return Err(bad()) };
    let number = |_| format!("For input string: \"{value}\"");
    let float = |_| format!("For input string: \"{value}\"");
    let is_old = escaping == ExtraEscaping::Raw;
    let typed = match kind.to_lowercase().as_str() {
        "s" if kind == "s" => ExtraValue::Text(value.clone()),
        "b" => ExtraValue::Boolean(value.eq_ignore_ascii_case("true")),
        "i" if !is_old => ExtraValue::Int(value.parse().map_err(number)?),
        "i" | "l" => ExtraValue::Long(value.parse().map_err(number)?),
        "f" if !is_old => ExtraValue::Float(value.parse().map_err(float)?),
        "f" | "d" => ExtraValue::Double(value.parse().map_err(float)?),
        "n" if !is_old => ExtraValue::Null,
        _ => return Err(format!("Unsupported type: {kind}")),
    };
    Ok((key.clone(), typed))
}

/// Splits at colons; a backslash escapes the next character.
fn split_with_escaping(text: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => parts.last_mut().unwrap().push(characters.next().ok_or("Invalid escaping")?),
            ':' => parts.push(String::new()),
            c => parts.last_mut().unwrap().push(c),
        }
    }
    Ok(parts)
}

/// Returns the printed result, or the exception.
fn call(received: ReceivedCall, system: &AndroidSystem) -> Result<String, String> {
    let setup = &system.setup;
    let provider = {
        let apps = system.apps.lock();
        apps.values().find_map(|(app, _)| {
            let provider = app.providers.iter().find(|it| it.authority == received.authority)?;
            Some((app.package.clone(), provider.clone()))
        })
    };
    let Some((package, provider)) = provider.filter(|_| received.user == setup.user) else {
        let trace = "\tat com.android.commands.content.Content$Command.execute(Content.java:515)\n";
        return Err(format!(
            "java.lang.IllegalStateException: Could not find provider: {}\n{trace}",
            received.authority
        ));
    };
    let class = if provider.class.starts_with('.') {
        format!("{package}{}", provider.class)
    } else {
        provider.class.clone()
    };
    let denied = |why: String| {
        Err(format!(
            "java.lang.SecurityException: Permission Denial: opening provider {class} from (null) (pid=4712, \
             uid=2000) {why}"
        ))
    };
    match &provider.permission {
        _ if setup.is_root => {}
        _ if !provider.exported => return denied("that is not exported from UID 10123".to_owned()),
        Some(permission) => return denied(format!("requires {permission} or {permission}")),
        None => {}
    }
    system.received_calls.lock().push(received.clone());
    match (provider.answer)(&received) {
        ProviderReply::Bundle(values) => Ok(format!("Result: {}\n", printed(values))),
        ProviderReply::Null if setup.escaping == ExtraEscaping::Raw => Err(
            "java.lang.NullPointerException: Attempt to invoke virtual method 'int android.os.Bundle.size()' on a \
             null object reference\n\tat com.android.commands.content.Content$CallCommand.onExecute(Content.java:497)\n"
                .to_owned(),
        ),
        ProviderReply::Null => Ok("Result: null\n".to_owned()),
        ProviderReply::Throws(what) => Err(what),
        ProviderReply::Dies => Err("android.os.DeadObjectException\n\tat android.os.BinderProxy.transactNative(Native Method)\n".to_owned()),
        ProviderReply::Hangs => loop {
            std::thread::park();
        },
        ProviderReply::Prints(text) => Ok(text),
    }
}

/// Formats like `Bundle.toString`: an `ArrayMap` in the order of its keys' hashes.
fn printed(mut values: Vec<(String, String)>) -> String {
    values.sort_by_key(|(key, _)| {
        key.encode_utf16().fold(0, |hash: i32, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
    });
    let entries: Vec<_> = values.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("Bundle[{{{}}}]", entries.join(", "))
}
