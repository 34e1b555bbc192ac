//! Apps for the phone: the finance app of ClawSeed's CETP tutorial, a weather app of the dialect `mcp-a`, and
//! one that anybody may call. Their APKs are those of `crates/android/fixtures`; the content is repeated
//! here, because this phone reads no APKs.

use crate::{PhoneApp, ProviderReply, ProviderSetup, ReceivedCall};

/// Authority of [`notes`].
pub const NOTES_AUTHORITY: &str = "com.example.notes.tools";

const CETP_ACTION: &str = "com.clawseed.action.TOOL_PROVIDER";
const CETP_PERMISSION: &str = "com.clawseed.permission.ACCESS_TOOLS";

/// Creates an app whose provider requires no permission and answers with this function.
pub fn notes(answer: impl Fn(&ReceivedCall) -> ProviderReply + Send + Sync + 'static) -> PhoneApp {
    PhoneApp::new("com.example.notes", include_bytes!("../../../crates/android/fixtures/open/open.apk"))
        .service(CETP_ACTION, ".Discovery")
        .activity("com.example.notes.ALLOW", ".Allow")
        .activity("android.intent.action.MAIN", ".Allow")
        .provider(ProviderSetup::new(NOTES_AUTHORITY, ".Tools", answer))
}

/// Creates the finance app of ClawSeed's CETP tutorial, which defines its own permission. Calls that pass the
/// permission check get an exception.
#[must_use]
pub fn finance() -> PhoneApp {
    let never =
        |_: &ReceivedCall| ProviderReply::Throws("java.lang.AssertionError: it was called".to_owned());
    let authority = "com.example.finance.clawseed.tools";
    PhoneApp::new(
        "com.example.finance",
        include_bytes!("../../../crates/android/fixtures/tutorial/tutorial.apk"),
    )
    .service(CETP_ACTION, ".clawseed.ToolProviderService")
    .permission(CETP_PERMISSION)
    .provider(ProviderSetup::new(authority, ".clawseed.FinanceToolProvider", never).guarded(CETP_PERMISSION))
}

/// Creates a weather app of the dialect `mcp-a`. An array of strings is printed only as its class.
#[must_use]
pub fn weather() -> PhoneApp {
    let info = |_: &ReceivedCall| {
        ProviderReply::bundle(&[
            ("success", "true"),
            ("tool_name", "get_weather_forecast"),
            ("tool_description", "Gets weather forecast for a location"),
            ("tool_input_schema", r#"{"location": {"type": "string"}}"#),
            ("tool_input_required", "[Ljava.lang.String;@5f2a"),
        ])
    };
    PhoneApp::new("com.example.weather", WEATHER_APK).provider(
        ProviderSetup::new("com.example.weather.mcptool", ".McpToolProvider", info)
            .mime_type("application/vnd.mcp.tool"),
    )
}

/// The APK of [`weather`].
pub const WEATHER_APK: &[u8] = include_bytes!("../../../crates/android/fixtures/weather/weather.apk");
