use toolway_types::Role;

use super::*;

fn principal(role: Role) -> Principal {
    Principal { id: PrincipalId::from("me"), role, agent: None }
}

#[test]
fn the_owner_sees_and_removes_all_records() {
    let owner = principal(Role::Owner);
    let access = RecordAccess::of(&owner);
    assert!(access.may_see(&PrincipalId::from("other")) && access.sees_owner_fields());
    assert_eq!(access.caller_filter(None), Ok(None));
    assert_eq!(access.caller_filter(Some("other".to_owned())), Ok(Some("other".to_owned())));
    assert_eq!(access.check_removal(), Ok(()));
}

#[test]
fn others_see_only_their_own_records() {
    for role in [Role::Client, Role::Companion, Role::Device] {
        let me = principal(role);
        let access = RecordAccess::of(&me);
        assert!(access.may_see(&PrincipalId::from("me")) && !access.may_see(&PrincipalId::from("other")));
        assert!(!access.sees_owner_fields());
        for asked in [None, Some("me".to_owned())] {
            assert_eq!(access.caller_filter(asked), Ok(Some("me".to_owned())));
        }
        assert_eq!(access.caller_filter(Some("other".to_owned())), Err(RecordAccessDenied::OthersRecords));
        assert_eq!(access.check_removal(), Err(RecordAccessDenied::Removal));
    }
}
