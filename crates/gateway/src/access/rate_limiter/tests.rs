use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_address_has_its_own_bucket_that_refills() {
    let throttle = AddressRateLimiter::new(6);
    let used = |from: &str| (0..100).take_while(|_| throttle.attempt(ip(from)).is_ok()).count();
    assert_eq!(used("203.0.113.1"), 6);
    assert_eq!(used("203.0.113.2"), 6, "another address is not concerned");
    let wait = throttle.attempt(ip("203.0.113.1")).unwrap_err();
    assert_eq!(wait.as_secs(), 10);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(used("203.0.113.1"), 1);
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(used("203.0.113.1"), 6, "never more than a minute's worth");
}

#[tokio::test(start_paused = true)]
async fn addresses_of_one_64_share_a_bucket() {
    let throttle = AddressRateLimiter::new(1);
    assert!(throttle.attempt(ip("2001:db8::1")).is_ok());
    assert!(throttle.attempt(ip("2001:db8::2")).is_err());
    assert!(throttle.attempt(ip("2001:db8:0:1::1")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remembered_addresses_is_limited() {
    let throttle = AddressRateLimiter::new(1);
    for number in 0..20_000u32 {
        let _ = throttle.attempt(IpAddr::from(number.to_be_bytes()));
    }
    assert_eq!(throttle.buckets.lock().len(), MAX_ADDRESSES);
    tokio::time::advance(MINUTE).await;
    assert!(throttle.attempt(ip("203.0.113.1")).is_ok());
    assert_eq!(throttle.buckets.lock().len(), 1, "those at rest are forgotten");
}
