use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::*;

/// Returns the location as the secret, and records it.
#[derive(Default)]
struct EchoSecretReader(Mutex<Vec<SecretLocation>>);

impl SecretReader for EchoSecretReader {
    fn read(&self, location: &SecretLocation) -> Result<SecretString, SecretError> {
        self.0.lock().push(location.clone());
        match location {
            SecretLocation::Env(name) if name == "UNSET" => Err(SecretError::Unreadable {
                location: location.clone(),
                problem: "it is not set".to_owned(),
            }),
            other => Ok(other.to_string().into()),
        }
    }
}

#[track_caller]
fn read(secrets: &NamedSecrets, location: SecretLocation) -> String {
    match secrets.read(&location) {
        Ok(secret) => secret.expose_secret().to_owned(),
        Err(error) => format!("no key in {location}: {}", error.problem_in(&location)),
    }
}

fn env(name: &str) -> NamedSecretLocation {
    NamedSecretLocation::Env(name.to_owned())
}

#[test]
fn a_secret_is_read_from_its_location() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("openai"), "x").unwrap();
    let named = BTreeMap::from([("set".to_owned(), env("SET"))]);
    let secrets = NamedSecrets::new(&named, dir.path().to_owned(), Arc::<EchoSecretReader>::default());
    assert_eq!(read(&secrets, SecretLocation::Env("KEY".to_owned())), "the environment variable KEY");
    assert_eq!(read(&secrets, SecretLocation::File("/k".into())), "the file /k");
    assert_eq!(
        read(&secrets, SecretLocation::Keyring("toolway".to_owned())),
        "the entry toolway of the keyring"
    );
    // A secret by its name: where the settings say, else in the data folder.
    assert_eq!(read(&secrets, SecretLocation::Secret("set".to_owned())), "the environment variable SET");
    let file = dir.path().join("openai");
    assert_eq!(
        read(&secrets, SecretLocation::Secret("openai".to_owned())),
        format!("the file {}", file.display())
    );
}

#[test]
fn errors_name_the_location() {
    let dir = tempfile::tempdir().unwrap();
    let named = BTreeMap::from([("gone".to_owned(), env("UNSET"))]);
    let secrets = NamedSecrets::new(&named, dir.path().to_owned(), Arc::<EchoSecretReader>::default());
    assert_eq!(
        read(&secrets, SecretLocation::Env("UNSET".to_owned())),
        "no key in the environment variable UNSET: it is not set"
    );
    assert_eq!(
        read(&secrets, SecretLocation::Secret("../owner.token".to_owned())),
        "no key in the secret ../owner.token: there is no secret named \"../owner.token\""
    );
    assert_eq!(
        read(&secrets, SecretLocation::Secret("gone".to_owned())),
        "no key in the secret gone: no secret in the environment variable UNSET: it is not set"
    );
}

#[test]
fn new_settings_apply_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let secrets =
        NamedSecrets::new(&BTreeMap::new(), dir.path().to_owned(), Arc::<EchoSecretReader>::default());
    secrets.set_locations(&BTreeMap::from([("set".to_owned(), env("SET"))]));
    assert_eq!(read(&secrets, SecretLocation::Secret("set".to_owned())), "the environment variable SET");
}

#[test]
fn a_name_is_no_way_to_another_file() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("secrets");
    std::fs::create_dir(&folder).unwrap();
    for name in ["weather", "both", ".hidden", "with space"] {
        std::fs::write(folder.join(name), "x").unwrap();
    }
    std::fs::write(dir.path().join("owner.token"), "x").unwrap();
    let reader = Arc::<EchoSecretReader>::default();
    let named = BTreeMap::from([("both".to_owned(), env("BOTH")), ("env".to_owned(), env("E"))]);
    let secrets = NamedSecrets::new(&named, folder.clone(), reader.clone());
    for name in ["both", "env", "weather"] {
        assert!(secrets.read_named(name).is_ok());
    }
    let asked = [
        SecretLocation::Env("BOTH".to_owned()),
        SecretLocation::Env("E".to_owned()),
        SecretLocation::File(folder.join("weather")),
    ];
    assert_eq!(*reader.0.lock(), asked);
    for name in [
        "../owner.token",
        "..",
        ".",
        "",
        ".hidden",
        "with space",
        "none",
        "/etc/hostname",
        "weather/",
        "wéather",
    ] {
        let unknown = secrets.read_named(name).map(drop);
        assert_eq!(unknown, Err(SecretError::Unknown(name.to_owned())), "{name}");
    }
    assert_eq!(reader.0.lock().len(), 3);
    assert!(!format!("{secrets:?}").contains("BOTH"));
}

#[test]
fn a_reader_without_secrets_says_so() {
    let said = |location: &SecretLocation| NoSecrets.read(location).unwrap_err().to_string();
    let place = SecretLocation::Env("KEY".to_owned());
    assert_eq!(said(&place), "no secret in the environment variable KEY: secrets are not available here");
    assert_eq!(said(&SecretLocation::Secret("KEY".to_owned())), "there is no secret named \"KEY\"");
}

#[test]
fn an_unknown_location_is_refused() {
    for bad in [json!({}), json!({ "env": "A", "file": "b" }), json!({ "value": "s3cret" }), json!("s3cret")]
    {
        assert!(serde_json::from_value::<SecretLocation>(bad.clone()).is_err(), "{bad}");
        assert!(serde_json::from_value::<NamedSecretLocation>(bad.clone()).is_err(), "{bad}");
    }
    // The settings give a name to a secret at another place. A name of a name would lead in a circle.
    for bad in [json!({ "secret": "a" }), json!({ "keyring": "a" })] {
        assert!(serde_json::from_value::<NamedSecretLocation>(bad.clone()).is_err(), "{bad}");
    }
}
