use toolway_types::SystemClock;

use super::*;

const TEN_MINUTES: Duration = Duration::from_secs(600);

fn pairing() -> PairingCodes {
    PairingCodes::new(Arc::new(SystemClock), TEN_MINUTES, 4)
}

fn grant() -> PairingGrant {
    PairingGrant { role: Role::Device, label: None, agent: None }
}

fn issue(pairing: &PairingCodes) -> PairingCode {
    pairing.issue(grant()).unwrap().code
}

/// Returns a code that was never issued. Issued codes are random, and none has had this value so far.
fn wrong(number: u8) -> PairingCode {
    PairingCode::from_random([0, 0, 0, 0, number])
}

#[track_caller]
fn refused(pairing: &PairingCodes, code: &PairingCode) -> PairRefusal {
    pairing.reserve(code).expect_err("refused")
}

#[tokio::test(start_paused = true)]
async fn a_code_is_valid_once() {
    let pairing = pairing();
    let code = issue(&pairing);
    let taken = pairing.reserve(&code).unwrap();
    assert_eq!(taken.grant, grant());
    assert_eq!(refused(&pairing, &code), PairRefusal::AlreadyUsed, "already while it is exchanged");
    taken.redeem();
    assert_eq!(refused(&pairing, &code), PairRefusal::AlreadyUsed);
}

#[tokio::test(start_paused = true)]
async fn the_key_part_and_the_notation_are_ignored() {
    let pairing = pairing();
    let pin = toolway_wire::pairing::KeyPin::from_bytes([7; 32]);
    let shown = issue(&pairing).with_key(&pin).to_string().to_lowercase().replace('-', " ");
    pairing.reserve(&shown.parse().unwrap()).unwrap().redeem();
}

#[tokio::test(start_paused = true)]
async fn a_failed_exchange_leaves_the_code_valid() {
    let pairing = pairing();
    let code = issue(&pairing);
    drop(pairing.reserve(&code).unwrap());
    tokio::time::advance(TEN_MINUTES - Duration::from_millis(1)).await;
    drop(pairing.reserve(&code).unwrap());
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(refused(&pairing, &code), PairRefusal::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_code_expires_and_is_forgotten_later() {
    let pairing = pairing();
    let code = issue(&pairing);
    tokio::time::advance(TEN_MINUTES).await;
    assert_eq!(refused(&pairing, &code), PairRefusal::Expired);
    tokio::time::advance(CLOSED_CODE_TTL).await;
    assert_eq!(refused(&pairing, &code), PairRefusal::Unknown);
}

#[tokio::test(start_paused = true)]
async fn ten_wrong_codes_invalidate_all_pending_codes_but_no_later_ones() {
    let pairing = pairing();
    let (first, second) = (issue(&pairing), issue(&pairing));
    for number in 0..9 {
        assert_eq!(refused(&pairing, &wrong(number)), PairRefusal::Unknown);
    }
    assert_eq!(pairing.pending_count(), 2);
    assert_eq!(refused(&pairing, &wrong(9)), PairRefusal::Unknown);
    assert_eq!(pairing.pending_count(), 0);
    assert_eq!(refused(&pairing, &first), PairRefusal::TooManyAttempts);
    assert_eq!(refused(&pairing, &second), PairRefusal::TooManyAttempts);
    let third = issue(&pairing);
    pairing.reserve(&third).unwrap().redeem();
}

#[tokio::test(start_paused = true)]
async fn retrying_a_spent_pairing_code_does_not_void_other_codes_r17() {
    let pairing = pairing();
    let spent = issue(&pairing);
    pairing.reserve(&spent).unwrap().redeem();
    let other = issue(&pairing);
    for _ in 0..100 {
        assert_eq!(refused(&pairing, &spent), PairRefusal::AlreadyUsed);
    }
    pairing.reserve(&other).unwrap().redeem();
}

#[tokio::test(start_paused = true)]
async fn wrong_codes_without_pending_codes_are_not_counted() {
    let pairing = pairing();
    for number in 0..50 {
        assert_eq!(refused(&pairing, &wrong(number)), PairRefusal::Unknown);
    }
    let code = issue(&pairing);
    assert_eq!(refused(&pairing, &wrong(0)), PairRefusal::Unknown);
    pairing.reserve(&code).unwrap().redeem();
}

#[tokio::test(start_paused = true)]
async fn the_number_of_pending_codes_is_limited() {
    let pairing = pairing();
    for _ in 0..4 {
        issue(&pairing);
    }
    assert_eq!(pairing.issue(grant()).unwrap_err(), PairingCodeError::TooMany(4));
    tokio::time::advance(TEN_MINUTES).await;
    issue(&pairing);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remembered_codes_is_limited() {
    let pairing = pairing();
    for _ in 0..2 * MAX_REMEMBERED_CODES {
        let code = issue(&pairing);
        pairing.reserve(&code).unwrap().redeem();
    }
    assert!(pairing.codes.lock().by_hash.len() <= MAX_REMEMBERED_CODES + 1);
}

#[test]
fn codes_do_not_show_in_logs() {
    let pairing = pairing();
    let issued = pairing.issue(grant()).unwrap();
    let secret = issued.code.secret().to_owned();
    assert!(!format!("{issued:?}{pairing:?}").contains(&secret));
}
