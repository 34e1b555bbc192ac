//! The other Android commands, limited to those that Toolway uses. Everything else is an error on standard
//! error.

use std::fmt::Write;

use crate::android::{AndroidSystem, PhoneApp};
use crate::content;

/// Model name of the phone.
pub(crate) const MODEL: &str = "Fake Phone";

/// Runs a command. Returns standard output and standard error.
pub(crate) fn run(arguments: &[String], system: &AndroidSystem) -> (Vec<u8>, Vec<u8>) {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = match words.as_slice() {
        ["content", ..] => {
            let (stdout, stderr) = content::run(&arguments[1..], system);
            return (stdout.into_bytes(), stderr.into_bytes());
        }
        ["getprop", "ro.build.version.sdk"] => Ok(format!("{}\n", system.setup.api_level)),
        ["getprop", "ro.debuggable"] => Ok(format!("{}\n", u8::from(system.setup.is_debuggable))),
        ["getprop", "ro.product.model"] => Ok(format!("{MODEL}\n")),
        ["id", "-u"] => Ok(format!("{}\n", if system.setup.is_root { 0 } else { 2000 })),
        ["am", "get-current-user"] => Ok(format!("{}\n", system.setup.user)),
        ["am", "start", options @ ..] => start(options, system),
        ["pm", "list", "packages", "-f", "--show-versioncode", "--user", user] => {
            Ok(packages(system, is_user(user, system)))
        }
        ["cmd", "package", "query-services", "--components", options @ ..] => query_services(options, system),
        ["cmd", "package", "query-activities", "--components", options @ ..] => {
            query_activities(options, system)
        }
        ["dumpsys", "package", "resolvers", "content"] => Ok(resolvers(system)),
        ["dumpsys", "package", "providers"] => Ok(providers(system)),
        ["dumpsys", "package", "permission", name] => Ok(permission(name, system)),
        _ => Err(format!("{}: unknown arguments {arguments:?}\n", words[0])),
    };
    match said {
        Ok(stdout) => (stdout.into_bytes(), Vec::new()),
        Err(stderr) => (Vec::new(), stderr.into_bytes()),
    }
}

fn is_user(user: &str, system: &AndroidSystem) -> bool {
    user.parse() == Ok(system.setup.user)
}

fn packages(system: &AndroidSystem, is_there: bool) -> String {
    let apps = system.apps.lock();
    let row = |(package, (app, path)): (&String, &(PhoneApp, String))| {
        format!("package:{path}={package} versionCode:{}\n", app.version)
    };
    if is_there { apps.iter().map(row).collect() } else { String::new() }
}

/// The intent and the user in the options.
#[derive(Debug, Default)]
struct StartIntent<'a> {
    user: &'a str,
    action: &'a str,
    package: Option<&'a str>,
    component: Option<&'a str>,
}

fn intent<'a>(options: &[&'a str]) -> Result<StartIntent<'a>, String> {
    let mut intent = StartIntent::default();
    let mut words = options.iter();
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| format!("Error: Argument expected after \"{option}\"\n"))?;
        match *option {
            "--user" => intent.user = value,
            "-a" => intent.action = value,
            "-c" => assert_eq!(*value, "android.intent.category.LAUNCHER"),
            "-p" => intent.package = Some(value),
            "-n" => intent.component = Some(value),
            other => return Err(format!("Error: Unknown option: {other}\n")),
        }
    }
    Ok(intent)
}

fn query_services(options: &[&str], system: &AndroidSystem) -> Result<String, String> {
    let intent = intent(options)?;
    let apps = system.apps.lock();
    let mut found = String::new();
    for (app, _) in apps.values().filter(|_| is_user(intent.user, system)) {
        for (_, class) in app.services.iter().filter(|(action, _)| action == intent.action) {
            writeln!(found, "{}/{class}", app.package).unwrap();
        }
    }
    Ok(if found.is_empty() { "No services found\n".to_owned() } else { found })
}

fn query_activities(options: &[&str], system: &AndroidSystem) -> Result<String, String> {
    let intent = intent(options)?;
    let apps = system.apps.lock();
    let mut found = String::new();
    let wanted = |package: &&String| intent.package.is_none_or(|wanted| wanted == **package);
    for package in apps.keys().filter(wanted) {
        for (_, class) in apps[package].0.activities.iter().filter(|(action, _)| action == intent.action) {
            writeln!(found, "{package}/{class}").unwrap();
        }
    }
    Ok(if found.is_empty() { "No activities found\n".to_owned() } else { found })
}

fn start(options: &[&str], system: &AndroidSystem) -> Result<String, String> {
    let intent = intent(options)?;
    let (package, class) =
        intent.component.and_then(|it| it.split_once('/')).ok_or("Error: no component\n")?;
    let apps = system.apps.lock();
    let is_there = apps.get(package).is_some_and(|(app, _)| {
        app.activities.iter().any(|(_, known)| {
            let known = if known.starts_with('.') { format!("{package}{known}") } else { known.clone() };
            known == class
        })
    });
    let starting = format!("Starting: Intent {{ act={} cmp={package}/{class} }}\n", intent.action);
    if !is_there {
        return Err("Error type 3\nError: Activity class does not exist.\n".to_owned());
    }
    system.opened_activities.lock().push(format!("{package}/{class}"));
    Ok(starting)
}

/// `ComponentResolver.dumpProviderResolvers`.
fn resolvers(system: &AndroidSystem) -> String {
    let apps = system.apps.lock();
    let mut text = "Provider Resolver Table:\n".to_owned();
    for section in ["Full MIME Types:", "Non-Data Actions:"] {
        writeln!(text, "  {section}").unwrap();
        for (app, _) in apps.values() {
            for provider in &app.providers {
                for (_, title) in provider.filters.iter().filter(|(of, _)| *of == section) {
                    writeln!(text, "      {title}:").unwrap();
                    writeln!(text, "        1f2e3d {}/{} filter a1b2c3", app.package, provider.class)
                        .unwrap();
                    writeln!(text, "          Action: \"{title}\"").unwrap();
                }
            }
        }
        text.push('\n');
    }
    text
}

/// `ComponentResolver.dumpContentProviders`.
fn providers(system: &AndroidSystem) -> String {
    let apps = system.apps.lock();
    let all =
        || apps.values().flat_map(|(app, _)| app.providers.iter().map(|provider| (&app.package, provider)));
    let mut text = "Registered ContentProviders:\n".to_owned();
    for (package, provider) in all() {
        let name = format!("{package}/{}", provider.class);
        writeln!(text, "  {name}:\n    Provider{{4571c4b {name}}}").unwrap();
    }
    text.push_str("\nContentProvider Authorities:\n");
    for (package, provider) in all() {
        let name = format!("{package}/{}", provider.class);
        writeln!(text, "  [{}]:\n    Provider{{4571c4b {name}}}", provider.authority).unwrap();
        writeln!(text, "      applicationInfo=ApplicationInfo{{11cf41 {package}}}").unwrap();
    }
    text
}

/// `dumpsys package permission`.
fn permission(name: &str, system: &AndroidSystem) -> String {
    let apps = system.apps.lock();
    let owner = apps.values().find(|(app, _)| app.permissions.iter().any(|known| known == name));
    owner.map_or_else(String::new, |(app, _)| {
        format!(
            "Permissions:\n  Permission [{name}] (3f66163):\n    sourcePackage={}\n    uid=10057 gids=[] type=0 \
             prot=normal\n    perm=PermissionInfo{{847ac21 {name}}}\n",
            app.package
        )
    })
}
