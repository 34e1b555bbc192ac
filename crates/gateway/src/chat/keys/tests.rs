use secrecy::ExposeSecret as _;

use super::*;

/// Returns the location that it was asked to read.
struct EchoSecretReader;

impl SecretReader for EchoSecretReader {
    fn read(&self, source: &SecretLocation) -> Result<SecretString, SecretError> {
        match source {
            SecretLocation::Env(name) if name == "UNSET" => {
                Err(SecretError::Unreadable { place: source.clone(), problem: "it is not set".to_owned() })
            }
            SecretLocation::Env(name) => Ok(format!("env {name}").into()),
            SecretLocation::File(path) => Ok(format!("file {}", path.display()).into()),
        }
    }

    fn keyring(&self, name: &str) -> Result<SecretString, String> {
        Ok(format!("keyring {name}").into())
    }
}

#[track_caller]
fn read(keys: &ProviderKeys, place: KeyLocation) -> String {
    match keys.read(&place) {
        Ok(key) => key.expose_secret().to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_key_is_read_from_its_location() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("secrets")).unwrap();
    std::fs::write(dir.path().join("secrets/openai"), "x").unwrap();
    let named = BTreeMap::from([("set".to_owned(), SecretLocation::Env("SET".to_owned()))]);
    let keys = ProviderKeys::new(&named, dir.path(), Arc::new(EchoSecretReader));
    assert_eq!(read(&keys, KeyLocation::Env("KEY".to_owned())), "env KEY");
    assert_eq!(read(&keys, KeyLocation::File("/k".into())), "file /k");
    assert_eq!(read(&keys, KeyLocation::Keyring("toolway".to_owned())), "keyring toolway");
    // A named secret: the location in the settings, or the data folder.
    assert_eq!(read(&keys, KeyLocation::Secret("set".to_owned())), "env SET");
    let file = dir.path().join("secrets/openai");
    assert_eq!(read(&keys, KeyLocation::Secret("openai".to_owned())), format!("file {}", file.display()));
}

#[test]
fn errors_name_the_location() {
    let dir = tempfile::tempdir().unwrap();
    let keys = ProviderKeys::new(&BTreeMap::new(), dir.path(), Arc::new(EchoSecretReader));
    assert_eq!(
        read(&keys, KeyLocation::Env("UNSET".to_owned())),
        "no key in the environment variable UNSET: it is not set"
    );
    assert_eq!(
        read(&keys, KeyLocation::Secret("../owner.token".to_owned())),
        "no key in the secret ../owner.token: there is no secret named \"../owner.token\""
    );
}

#[test]
fn new_settings_apply_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let keys = ProviderKeys::new(&BTreeMap::new(), dir.path(), Arc::new(EchoSecretReader));
    let named = BTreeMap::from([("set".to_owned(), SecretLocation::Env("SET".to_owned()))]);
    keys.set(&named);
    assert_eq!(read(&keys, KeyLocation::Secret("set".to_owned())), "env SET");
}
