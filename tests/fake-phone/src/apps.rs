//! Apps for the phone: the tutorial's finance app, the guide's weather app, and one that anybody may call. Their APKs are
//! those of `crates/android/fixtures`; what stands in these is said here once more, since this phone reads none.

use crate::{App, ProviderSetup, Received, Reply};

/// The authority of [`notes`].
pub const NOTES_AUTHORITY: &str = "com.example.notes.tools";

const CETP_ACTION: &str = "com.clawseed.action.TOOL_PROVIDER";
const CETP_PERMISSION: &str = "com.clawseed.permission.ACCESS_TOOLS";

/// An app whose provider is guarded by no permission and answers like this.
pub fn notes(answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> App {
    App::new("com.example.notes", include_bytes!("../../../crates/android/fixtures/open/open.apk"))
        .service(CETP_ACTION, ".Discovery")
        .activity("com.example.notes.ALLOW", ".Allow")
        .activity("android.intent.action.MAIN", ".Allow")
        .provider(ProviderSetup::new(NOTES_AUTHORITY, ".Tools", answer))
}

/// The app of the tutorial, which defines the permission that guards it. Whoever gets through to it finds an exception.
#[must_use]
pub fn finance() -> App {
    let never = |_: &Received| Reply::Throws("java.lang.AssertionError: it was called".to_owned());
    let authority = "com.example.finance.clawseed.tools";
    App::new("com.example.finance", include_bytes!("../../../crates/android/fixtures/tutorial/tutorial.apk"))
        .service(CETP_ACTION, ".clawseed.ToolProviderService")
        .defines(CETP_PERMISSION)
        .provider(
            ProviderSetup::new(authority, ".clawseed.FinanceToolProvider", never).guarded(CETP_PERMISSION),
        )
}

/// The weather app of the guide to the MCP dialects. An array of strings is printed as its class only.
#[must_use]
pub fn weather() -> App {
    let info = |_: &Received| {
        Reply::bundle(&[
            ("success", "true"),
            ("tool_name", "get_weather_forecast"),
            ("tool_description", "Gets weather forecast for a location"),
            ("tool_input_schema", r#"{"location": {"type": "string"}}"#),
            ("tool_input_required", "[Ljava.lang.String;@5f2a"),
        ])
    };
    App::new("com.example.weather", WEATHER_APK).provider(
        ProviderSetup::new("com.example.weather.mcptool", ".McpToolProvider", info)
            .mime_type("application/vnd.mcp.tool"),
    )
}

/// The APK of [`weather`].
pub const WEATHER_APK: &[u8] = include_bytes!("../../../crates/android/fixtures/weather/weather.apk");
