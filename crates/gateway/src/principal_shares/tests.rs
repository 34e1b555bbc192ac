use toolway_types::Role;

use super::*;

fn principal(id: &str, role: Role) -> Principal {
    Principal { id: id.into(), role, agent: None }
}

#[test]
fn one_principal_takes_only_its_part() {
    let shares = PrincipalShares::new(16);
    let (greedy, modest) = (principal("greedy", Role::Client), principal("modest", Role::Client));
    let held: Vec<_> = (0..4).map(|_| shares.take(&greedy, 4).unwrap()).collect();
    assert_eq!(shares.take(&greedy, 4).unwrap_err(), NoPlace::ShareUsed(4));
    assert!(shares.take(&modest, 4).is_ok());
    drop(held);
    assert!(shares.take(&greedy, 4).is_ok());
    assert!(shares.taken.lock().by_principal.is_empty());
}

#[test]
fn a_quarter_is_kept_for_the_owner() {
    let shares = PrincipalShares::new(16);
    let clients: Vec<_> = (0..4).map(|at| principal(&at.to_string(), Role::Companion)).collect();
    let held: Vec<_> =
        clients.iter().flat_map(|client| (0..3).map(|_| shares.take(client, 4).unwrap())).collect();
    assert_eq!(shares.take(&clients[0], 4).unwrap_err(), NoPlace::Full(12));
    let owner = principal("owner", Role::Owner);
    let owners: Vec<_> = (0..4).map(|_| shares.take(&owner, 4).unwrap()).collect();
    assert_eq!(shares.take(&owner, 4).unwrap_err(), NoPlace::Full(16));
    drop((held, owners));
    let all: Vec<_> = (0..16).map(|_| shares.take(&owner, 4).unwrap()).collect();
    assert_eq!(all.len(), 16, "the owner may take all of them");
}

#[test]
fn a_single_place_is_for_anybody() {
    let shares = PrincipalShares::new(1);
    assert!(shares.take(&principal("a", Role::Client), 4).is_ok());
    assert!(shares.take(&principal("owner", Role::Owner), 4).is_ok());
}
