use super::*;

#[test]
fn a_lifetime_has_one_second_to_ten_years() {
    assert_eq!(Lifetime::from_seconds(1).unwrap().end_ms(500), 1500);
    assert_eq!(Lifetime::from_seconds(MAX_LIFETIME_S).unwrap().end_ms(0), 315_360_000_000);
    for seconds in [0, -1, MAX_LIFETIME_S + 1, i64::MAX] {
        assert_eq!(Lifetime::from_seconds(seconds), Err(InvalidLifetime(seconds)));
    }
    assert_eq!(Lifetime::from_seconds(1).unwrap().end_ms(i64::MAX), i64::MAX);
}
