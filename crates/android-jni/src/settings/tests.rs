use std::time::Duration;

use secrecy::ExposeSecret;
use toolway_android::{BridgeOptions, Bundle, BundleValue, ProviderNames};
use toolway_device::GatewayTrust;

use super::{BadBridgeSettings, BridgeSettings};

fn least() -> Bundle {
    Bundle::new().with("url", "http://127.0.0.1:7717").with("token", "tw_device_1").with("name", "Phone")
}

#[test]
fn missing_options_have_defaults() {
    let settings = BridgeSettings::from_bundle(&least()).unwrap();
    assert_eq!(settings.url, "http://127.0.0.1:7717");
    assert_eq!(settings.token.expose_secret(), "tw_device_1");
    assert_eq!(settings.name, "Phone");
    assert_eq!(settings.trust, GatewayTrust::default());
    assert_eq!(settings.names, ProviderNames::default());
    assert_eq!(settings.options, BridgeOptions::default());
    assert!(!settings.insecure);
}

#[test]
fn given_options_are_used() {
    let pin = format!("sha256:{}", "ab".repeat(32));
    let said = least()
        .with("key", pin.as_str())
        .with("names", r#"{"finance":{"package":"com.example.finance","authority":"a","certificate":"c"}}"#)
        .with("settle_ms", BundleValue::Long(20))
        .with("launch_apps", true);
    let settings = BridgeSettings::from_bundle(&said).unwrap();
    assert_eq!(settings.trust, GatewayTrust::Key(pin.parse().unwrap()));
    assert_ne!(settings.names, ProviderNames::default());
    assert_eq!(settings.options.settle, Duration::from_millis(20));
    assert!(settings.options.launch_apps);
}

#[test]
fn invalid_options_are_named() {
    let refused = |said: Bundle| BridgeSettings::from_bundle(&said).unwrap_err().to_string();
    assert_eq!(BridgeSettings::from_bundle(&Bundle::new()).unwrap_err(), BadBridgeSettings::Missing("url"));
    assert_eq!(refused(least().with("name", 5)), "name is an int, and should be a string");
    assert_eq!(refused(least().with("insecure", "yes")), "insecure is a string, and should be a boolean");
    assert_eq!(
        refused(least().with("settle_ms", BundleValue::Long(-1))),
        "settle_ms is a long, and should be a long of 0 or more"
    );
    assert!(refused(least().with("key", "sha256:00")).starts_with("the gateway's key can't be read: "));
    assert!(refused(least().with("names", "{")).starts_with("the names that were kept can't be read: "));
}

#[test]
fn the_token_is_not_printed() {
    assert!(!format!("{:?}", BridgeSettings::from_bundle(&least()).unwrap()).contains("tw_device_1"));
}
