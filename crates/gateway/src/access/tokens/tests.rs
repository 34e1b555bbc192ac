use std::path::Path;
use std::time::Duration;

use toolway_store::StoreOptions;

use super::*;
use crate::access::OWNER_TOKEN_FILE;
use crate::testing::ManualClock;

struct TokensHarness {
    tokens: AccessTokens,
    clock: ManualClock,
    store: Store,
    dir: tempfile::TempDir,
}

impl TokensHarness {
    async fn new() -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), ManualClock::new(1_000_000)).await
    }

    async fn in_folder(dir: tempfile::TempDir, clock: ManualClock) -> Self {
        let store = Store::open(dir.path(), Arc::new(clock.clone()), StoreOptions::default()).await.unwrap();
        let tokens = open(dir.path(), &store, &clock).await.unwrap();
        Self { tokens, clock, store, dir }
    }

    /// Simulates a restart of the gateway.
    async fn restarted(self) -> Self {
        self.store.close().await;
        let Self { clock, dir, .. } = self;
        Self::in_folder(dir, clock).await
    }

    async fn create_client(&self, expires_ms: Option<i64>) -> (SecretString, Arc<TokenState>) {
        self.tokens.create(client(expires_ms)).await.unwrap()
    }

    fn owner_file(&self) -> String {
        std::fs::read_to_string(self.dir.path().join(OWNER_TOKEN_FILE)).unwrap().trim().to_owned()
    }

    #[track_caller]
    fn refused(&self, text: &SecretString) -> AuthRejection {
        self.tokens.find(text.expose_secret()).expect_err("refused")
    }
}

async fn open(dir: &Path, store: &Store, clock: &ManualClock) -> Result<AccessTokens, AccessError> {
    let tokens =
        AccessTokens::load(store.clone(), Arc::new(clock.clone()), OwnerTokenFile::in_folder(dir)).await?;
    tokens.ensure_owner().await?;
    Ok(tokens)
}

fn client(expires_ms: Option<i64>) -> NewToken {
    let device = DeviceBinding { id: Some("d".to_owned()), name: None, platform: Some("p".to_owned()) };
    NewToken {
        role: Role::Client,
        label: Some("script".to_owned()),
        agent: Some("home".to_owned()),
        device,
        lifetime: expires_ms.map(|at| Lifetime::from_millis(at - 1_000_000)),
    }
}

#[tokio::test]
async fn a_token_has_the_same_principal_after_a_restart() {
    let bench = TokensHarness::new().await;
    let (text, made) = bench.create_client(None).await;
    assert!(text.expose_secret().starts_with("twy_c_"));
    assert_eq!(text.expose_secret().len(), "twy_c_".len() + 43);
    let bench = bench.restarted().await;
    let found = bench.tokens.find(text.expose_secret()).unwrap();
    assert_eq!(found.principal, made.principal);
    assert_eq!(found.role(), Role::Client);
    assert_eq!(found.principal.agent.as_deref(), Some("home"));
    assert_eq!(found.device.id.as_deref(), Some("d"));
    assert_eq!(found.label, "script");
}

#[tokio::test]
async fn unknown_revoked_and_expired_tokens_have_different_errors_after_a_restart() {
    let bench = TokensHarness::new().await;
    let (revoked, _) = bench.create_client(None).await;
    let (expiring, state) = bench.create_client(Some(2_000_000)).await;
    bench.tokens.revoke(bench.tokens.find(revoked.expose_secret()).unwrap().id()).await.unwrap();
    bench.clock.set(1_999_999);
    assert_eq!(bench.tokens.find(expiring.expose_secret()).unwrap().id(), state.id());
    bench.clock.set(2_000_000);
    assert_eq!(bench.refused(&revoked), AuthRejection::Revoked);
    assert_eq!(bench.refused(&expiring), AuthRejection::Expired);
    assert_eq!(bench.refused(&"twy_c_x".into()), AuthRejection::Unknown);
    assert_eq!(bench.refused(&"".into()), AuthRejection::Unknown);
    let bench = bench.restarted().await;
    assert_eq!(bench.refused(&revoked), AuthRejection::Revoked);
    assert_eq!(bench.refused(&expiring), AuthRejection::Expired);
}

#[tokio::test]
async fn a_clock_set_back_does_not_revive_tokens() {
    let bench = TokensHarness::new().await;
    let (text, _) = bench.create_client(Some(2_000_000)).await;
    bench.clock.set(2_000_000);
    assert_eq!(bench.refused(&text), AuthRejection::Expired);
    bench.clock.set(1_000_000);
    assert_eq!(bench.refused(&text), AuthRejection::Expired);
}

#[tokio::test]
async fn users_of_a_token_are_notified_of_its_revocation() {
    let bench = TokensHarness::new().await;
    let (_, state) = bench.create_client(None).await;
    let user = tokio::spawn({
        let state = state.clone();
        async move { state.wait_until_ended().await }
    });
    tokio::task::yield_now().await;
    assert!(!user.is_finished());
    bench.tokens.revoke(state.id()).await.unwrap();
    assert_eq!(user.await.unwrap(), TokenEndReason::Revoked);
    assert_eq!(state.wait_until_ended().await, TokenEndReason::Revoked);
}

#[tokio::test]
async fn users_of_a_token_are_notified_of_its_expiry() {
    let bench = TokensHarness::new().await;
    let (_, state) = bench.create_client(Some(1_000_050)).await;
    let clock = bench.clock.clone();
    // The wall clock does not move, so waiting is not enough.
    let early = tokio::time::timeout(Duration::from_millis(120), state.wait_until_ended()).await;
    assert!(early.is_err());
    clock.set(1_000_050);
    assert_eq!(state.wait_until_ended().await, TokenEndReason::Expired);
}

#[tokio::test]
async fn revoking_is_final_and_idempotent() {
    let bench = TokensHarness::new().await;
    let (_, state) = bench.create_client(None).await;
    let first = bench.tokens.revoke(state.id()).await.unwrap();
    assert_eq!(first.revoked_ms, Some(1_000_000));
    bench.clock.set(1_500_000);
    let again = bench.tokens.revoke(state.id()).await.unwrap();
    assert_eq!(again.revoked_ms, Some(1_000_000));
    assert!(bench.tokens.by_id(state.id()).is_none());
    let error = bench.tokens.revoke("nobody").await.unwrap_err();
    assert!(matches!(error, AccessError::NotFound(id) if id == "nobody"));
}

#[tokio::test]
async fn the_gateways_own_tokens_cannot_be_revoked() {
    let bench = TokensHarness::new().await;
    for id in [OWNER_ID, LOCAL_DEVICE_ID] {
        let error = bench.tokens.revoke(id).await.unwrap_err();
        assert!(matches!(error, AccessError::Protected { .. }), "{id}");
    }
}

#[tokio::test]
async fn the_token_in_the_owner_file_is_the_owner() {
    let bench = TokensHarness::new().await;
    let text = bench.owner_file();
    let owner = bench.tokens.find(&text).unwrap();
    assert_eq!((owner.id(), owner.role()), (OWNER_ID, Role::Owner));
    let bench = bench.restarted().await;
    assert_eq!(bench.owner_file(), text, "kept");
    bench.tokens.find(&text).unwrap();

    // A restored file, or one from elsewhere, is valid.
    let other = secret::new_token(Role::Owner).unwrap();
    std::fs::write(bench.dir.path().join(OWNER_TOKEN_FILE), other.expose_secret()).unwrap();
    let bench = bench.restarted().await;
    assert_eq!(bench.tokens.find(other.expose_secret()).unwrap().id(), OWNER_ID);
    assert_eq!(bench.refused(&text.into()), AuthRejection::Revoked);

    // A missing file is created again.
    std::fs::remove_file(bench.dir.path().join(OWNER_TOKEN_FILE)).unwrap();
    let bench = bench.restarted().await;
    bench.tokens.find(&bench.owner_file()).unwrap();
    assert_eq!(bench.refused(&other), AuthRejection::Revoked);
}

#[tokio::test]
async fn a_file_with_other_content_is_not_overwritten() {
    let bench = TokensHarness::new().await;
    let path = bench.dir.path().join(OWNER_TOKEN_FILE);
    std::fs::write(&path, "my own password\n").unwrap();
    let error = open(bench.dir.path(), &bench.store, &bench.clock).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(OWNER_TOKEN_FILE) && text.contains("no token"), "{text}");
    assert!(!text.contains("password"), "{text}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my own password\n");
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_owner_file() {
    use std::os::unix::fs::PermissionsExt;
    let bench = TokensHarness::new().await;
    bench.tokens.rotate_owner().await.unwrap();
    let mode = std::fs::metadata(bench.dir.path().join(OWNER_TOKEN_FILE)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn rotating_the_owners_token_ends_the_old_one() {
    let bench = TokensHarness::new().await;
    let old: SecretString = bench.owner_file().into();
    let state = bench.tokens.find(old.expose_secret()).unwrap();
    let new = bench.tokens.rotate_owner().await.unwrap();
    assert_eq!(bench.owner_file(), new.expose_secret());
    assert_eq!(state.end_reason(), Some(TokenEndReason::Revoked));
    assert_eq!(bench.refused(&old), AuthRejection::Revoked);
    assert_eq!(bench.tokens.find(new.expose_secret()).unwrap().id(), OWNER_ID);
    let bench = bench.restarted().await;
    bench.tokens.find(new.expose_secret()).unwrap();
}

#[tokio::test]
async fn a_failed_rotation_keeps_the_old_token() {
    let bench = TokensHarness::new().await;
    let old = bench.owner_file();
    bench.store.close().await;
    bench.tokens.rotate_owner().await.unwrap_err();
    assert_eq!(bench.owner_file(), old);
    bench.tokens.find(&old).unwrap();
    bench.tokens.create(client(None)).await.unwrap_err();
}

#[tokio::test]
async fn the_local_device_has_a_new_secret_and_the_same_id_each_time() {
    let bench = TokensHarness::new().await;
    let first = bench.tokens.issue_local_device().await.unwrap();
    let state = bench.tokens.find(first.expose_secret()).unwrap();
    assert_eq!((state.id(), state.role()), (LOCAL_DEVICE_ID, Role::Device));
    let bench = bench.restarted().await;
    let second = bench.tokens.issue_local_device().await.unwrap();
    assert_eq!(bench.refused(&first), AuthRejection::Revoked);
    assert_eq!(bench.tokens.find(second.expose_secret()).unwrap().id(), LOCAL_DEVICE_ID);
    let listed = bench.tokens.list().await.unwrap();
    assert_eq!(listed.iter().filter(|record| record.id == LOCAL_DEVICE_ID).count(), 1);
}

#[tokio::test]
async fn the_last_use_is_listed_and_outlives_a_restart() {
    let bench = TokensHarness::new().await;
    let (text, state) = bench.create_client(None).await;
    let used = async |bench: &TokensHarness| {
        let listed = bench.tokens.list().await.unwrap();
        listed.into_iter().find(|record| record.id == state.id()).unwrap().last_used_ms
    };
    assert_eq!(used(&bench).await, None);
    bench.clock.set(1_200_000);
    bench.tokens.find(text.expose_secret()).unwrap();
    assert_eq!(used(&bench).await, Some(1_200_000));
    let bench = bench.restarted().await;
    assert_eq!(used(&bench).await, Some(1_200_000));
}

#[tokio::test]
async fn debug_output_contains_no_secret() {
    let bench = TokensHarness::new().await;
    let (text, state) = bench.create_client(None).await;
    let shown = format!("{text:?} {state:?} {:?}", bench.tokens.find(text.expose_secret()).unwrap());
    assert!(!shown.contains(text.expose_secret()), "{shown}");
    let database = std::fs::read(bench.store.path()).unwrap();
    let needle = text.expose_secret().as_bytes();
    assert!(!database.windows(needle.len()).any(|window| window == needle));
}

#[tokio::test]
async fn a_token_without_a_name_gets_the_one_of_its_device_or_its_role() {
    let bench = TokensHarness::new().await;
    for (label, name, expected) in
        [(Some("script"), Some("pixel"), "script"), (None, Some("pixel"), "pixel"), (None, None, "client")]
    {
        let device = DeviceBinding { name: name.map(str::to_owned), ..DeviceBinding::default() };
        let new = NewToken { label: label.map(str::to_owned), device, ..client(None) };
        assert_eq!(bench.tokens.create(new).await.unwrap().1.label, expected);
    }
}

#[tokio::test]
async fn a_device_token_cannot_have_an_agent() {
    let bench = TokensHarness::new().await;
    let refused = bench.tokens.create(NewToken { role: Role::Device, ..client(None) }).await;
    assert!(matches!(refused, Err(AccessError::Agent(_))), "{refused:?}");
    let device = NewToken { role: Role::Device, agent: None, ..client(None) };
    bench.tokens.create(device).await.unwrap();
}
