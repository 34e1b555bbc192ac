use futures_util::FutureExt as _;

use super::*;

const MIB: usize = 1 << 20;

/// Size of a reservation of which an account's budget counts this many MiB.
fn mib(count: usize) -> usize {
    count * MIB + (16 << 10)
}

fn principal(id: &str, role: Role) -> Principal {
    Principal { id: id.into(), role, agent: None }
}

fn budget() -> Arc<MemoryBudget> {
    MemoryBudget::new(256 << 20, 4 << 20)
}

#[test]
fn memory_is_counted_while_it_is_reserved() {
    let budget = budget();
    let account = budget.open(&principal("phone", Role::Device));
    let small = account.reserve(16 << 10).unwrap();
    assert_eq!(budget.usage().used, 0, "ordinary traffic takes no lock");
    let mut large = account.reserve(MIB).unwrap();
    assert_eq!(budget.usage().used, MIB as u64);
    large.resize(2 * MIB).unwrap();
    assert_eq!(budget.usage().used, 2 * MIB as u64);
    large.resize(100).unwrap();
    assert_eq!(budget.usage().used, 16 << 10, "in units");
    drop((small, large));
    assert_eq!(budget.usage().used, 0);
    assert!(budget.state.lock().principals.is_empty());
}

#[test]
fn a_share_is_smaller_for_devices_and_does_not_grow_with_connections() {
    let budget = budget();
    for (role, share) in [(Role::Device, 32 * MIB), (Role::Client, 128 * MIB), (Role::Companion, 128 * MIB)] {
        let peer = principal("peer", role);
        let mut held = Vec::new();
        let refusal = loop {
            // Each on a connection of its own.
            match budget.open(&peer).reserve(mib(1)) {
                Ok(reservation) => held.push(reservation),
                Err(refusal) => break refusal,
            }
        };
        assert_eq!((held.len(), refusal), (share / MIB, OverBudget::Share(share as u64)), "{role}");
    }
    let anonymous: Vec<_> = (0..16).map(|_| budget.open_anonymous().reserve(mib(1)).unwrap()).collect();
    assert_eq!(budget.open_anonymous().reserve(MIB).unwrap_err(), OverBudget::Share(16 << 20));
    drop(anonymous);
    assert_eq!(budget.usage(), MemoryUse { used: 0, total: 256 << 20, closed: 0 });
}

#[test]
fn every_share_has_room_for_two_of_the_largest_frames() {
    let small = MemoryBudget::new(64 << 20, 16 << 20);
    let device = small.open(&principal("phone", Role::Device));
    assert!(device.reserve(32 * MIB).is_ok());
}

#[tokio::test]
async fn the_connection_of_the_largest_principal_is_closed_first() {
    let budget = budget();
    let open = |id: &str| budget.open(&principal(id, Role::Client));
    let greedy: Vec<_> = [60, 40, 20]
        .into_iter()
        .map(|size| {
            let account = open("greedy");
            let reservation = account.reserve(mib(size)).unwrap();
            (account, reservation)
        })
        .collect();
    let (modest, other) = (open("modest"), open("other"));
    let _modest = modest.reserve(mib(100)).unwrap();
    // 220 of 224 MiB are in use.
    let _other = other.reserve(mib(10)).unwrap();
    greedy[0].0.closed().await;
    assert_eq!(budget.usage(), MemoryUse { used: 170 << 20, total: 256 << 20, closed: 1 });
    assert!(greedy[1].0.closed().now_or_never().is_none() && modest.closed().now_or_never().is_none());
    assert_eq!(greedy[0].0.reserve(MIB).unwrap_err(), OverBudget::Closed);
    // Its end frees nothing twice.
    drop(greedy);
    assert_eq!(budget.usage().used, 110 << 20);
}

#[test]
fn the_largest_principal_is_refused_itself() {
    let budget = budget();
    let greedy = budget.open(&principal("greedy", Role::Client));
    let modest = budget.open(&principal("modest", Role::Client));
    let _held = (greedy.reserve(mib(120)).unwrap(), modest.reserve(mib(100)).unwrap());
    assert_eq!(greedy.reserve(mib(6)).unwrap_err(), OverBudget::Total(256 << 20));
    assert_eq!(budget.usage().closed, 0);
}

#[test]
fn a_part_is_kept_for_the_owner() {
    let budget = budget();
    let owner = budget.open(&principal("owner", Role::Owner));
    let held: Vec<_> = (0..7)
        .map(|at| budget.open(&principal(&at.to_string(), Role::Client)).reserve(mib(32)).unwrap())
        .collect();
    let small = budget.open(&principal("late", Role::Device));
    assert!(small.reserve(MIB).is_ok(), "a larger one is closed for it");
    assert_eq!(budget.usage().closed, 1);
    drop(held);
    // The owner may use all, and is never closed.
    let _all = owner.reserve(250 * MIB).unwrap();
    let client = budget.open(&principal("client", Role::Client));
    assert_eq!(client.reserve(10 * MIB).unwrap_err(), OverBudget::Total(256 << 20));
}

#[test]
fn memory_that_no_connection_holds_counts_half_of_a_share_at_most_and_is_never_closed() {
    let budget = budget();
    let lasting = LastingMemory(Arc::clone(&budget));
    let client = principal("client", Role::Client);
    // A conversation of 500 MiB continues. It counts half of 128 MiB, without the first 16 KiB.
    let first = lasting.reserve(&client, 500 * MIB).unwrap();
    assert_eq!(budget.usage().used, (64 << 20) - (16 << 10));
    let second = lasting.reserve(&client, 500 * MIB).unwrap();
    assert!(lasting.reserve(&client, MIB).is_none(), "the share is used");
    let other = budget.open(&principal("other", Role::Client));
    let _held = other.reserve(mib(90)).unwrap();
    assert_eq!(other.reserve(mib(20)).unwrap_err(), OverBudget::Total(256 << 20));
    assert_eq!(budget.usage().closed, 0);
    drop((first, second));
    assert_eq!(budget.usage().used, 90 << 20);
}
