use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn invented_addresses_do_not_cause_repeated_listing() {
    let listed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&listed);
    let interfaces = InterfaceAddresses::new(move || {
        // The second address appears later.
        match count.fetch_add(1, Ordering::SeqCst) {
            0 => BTreeSet::from([ip("10.0.0.1")]),
            _ => BTreeSet::from([ip("10.0.0.1"), ip("10.0.0.2")]),
        }
    });
    assert!(interfaces.contains(ip("10.0.0.1")).await);
    for _ in 0..100 {
        assert!(!interfaces.contains(ip("10.0.0.2")).await);
    }
    assert_eq!(listed.load(Ordering::SeqCst), 1);
    tokio::time::advance(MISS_TTL).await;
    assert!(interfaces.contains(ip("10.0.0.2")).await, "found once it may look again");
    assert_eq!(listed.load(Ordering::SeqCst), 2);
}

#[test]
fn this_machine_has_its_loopback_address() {
    assert!(own_addresses().contains(&ip("127.0.0.1")));
}

#[test]
fn the_external_address_is_never_loopback_or_link_local() {
    let pick = |list: &[&str]| most_likely(list.iter().map(|it| ip(it)).collect());
    assert_eq!(pick(&["127.0.0.1", "::1", "fe80::1", "169.254.1.1"]), None);
    assert_eq!(pick(&["127.0.0.1", "172.17.0.1", "192.168.1.5", "2001:db8::1"]), Some(ip("192.168.1.5")));
    assert_eq!(pick(&["203.0.113.9", "172.17.0.1"]), Some(ip("172.17.0.1")));
    assert_eq!(pick(&["2001:db8::1"]), Some(ip("2001:db8::1")));
}
