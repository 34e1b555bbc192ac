use secrecy::ExposeSecret;
use serde_json::json;

use super::*;

struct TestSecretReader;

impl SecretReader for TestSecretReader {
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError> {
        match source {
            SecretLocation::Env(name) if name == "KEY" => Ok("s3cret".to_owned().into()),
            _ => Err(SecretError::Unreadable { place: source.clone(), problem: "it is not set".to_owned() }),
        }
    }
}

#[test]
fn a_secret_is_read_from_its_location() {
    let sources = json!({ "weather": { "env": "KEY" }, "absent": { "file": "/run/absent" } });
    let secrets =
        ConfiguredSecrets::new(serde_json::from_value(sources).unwrap(), Arc::new(TestSecretReader));
    assert_eq!(secrets.get("weather").unwrap().expose_secret(), "s3cret");
    let told = |name: &str| secrets.get(name).unwrap_err().to_string();
    assert_eq!(told("absent"), "no secret in the file /run/absent: it is not set");
    assert_eq!(told("KEY"), "there is no secret named \"KEY\"");
    assert!(!format!("{secrets:?}").contains("s3cret"));
}

#[test]
fn an_unknown_location_is_refused() {
    for bad in [json!({}), json!({ "env": "A", "file": "b" }), json!({ "value": "s3cret" }), json!("s3cret")]
    {
        assert!(serde_json::from_value::<SecretLocation>(bad.clone()).is_err(), "{bad}");
    }
}
