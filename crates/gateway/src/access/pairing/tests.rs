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

/// A code that was never issued (all in use are random; none of these has come up).
fn wrong(number: u8) -> PairingCode {
    PairingCode::from_random([0, 0, 0, 0, number])
}

#[track_caller]
fn refused(pairing: &PairingCodes, code: &PairingCode) -> PairRefusal {
    pairing.reserve(code).expect_err("refused")
}

#[tokio::test(start_paused = true)]
async fn a_code_is_good_once() {
    let pairing = pairing();
    let code = issue(&pairing);
    let taken = pairing.reserve(&code).unwrap();
    assert_eq!(taken.grant, grant());
    assert_eq!(refused(&pairing, &code), PairRefusal::AlreadyUsed, "already while it is exchanged");
    taken.redeem();
    assert_eq!(refused(&pairing, &code), PairRefusal::AlreadyUsed);
}

#[tokio::test(start_paused = true)]
async fn the_key_part_and_the_form_do_not_matter() {
    let pairing = pairing();
    let pin = toolway_wire::pairing::KeyPin::from_bytes([7; 32]);
    let shown = issue(&pairing).with_key(&pin).to_string().to_lowercase().replace('-', " ");
    pairing.reserve(&shown.parse().unwrap()).unwrap().redeem();
}

#[tokio::test(start_paused = true)]
async fn a_code_that_could_not_be_exchanged_waits_again() {
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
async fn ten_wrong_tries_void_all_that_wait_and_no_later_one() {
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
async fn guesses_while_nothing_waits_are_not_held_against_later_codes() {
    let pairing = pairing();
    for number in 0..50 {
        assert_eq!(refused(&pairing, &wrong(number)), PairRefusal::Unknown);
    }
    let code = issue(&pairing);
    assert_eq!(refused(&pairing, &wrong(0)), PairRefusal::Unknown);
    pairing.reserve(&code).unwrap().redeem();
}

#[tokio::test(start_paused = true)]
async fn so_many_wait_at_a_time() {
    let pairing = pairing();
    for _ in 0..4 {
        issue(&pairing);
    }
    assert_eq!(pairing.issue(grant()).unwrap_err(), PairingCodeError::TooMany(4));
    tokio::time::advance(TEN_MINUTES).await;
    issue(&pairing);
}

#[tokio::test(start_paused = true)]
async fn what_is_gone_is_remembered_within_a_bound() {
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
