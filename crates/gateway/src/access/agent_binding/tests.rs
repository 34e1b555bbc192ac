use super::*;

#[test]
fn a_bound_token_can_use_only_its_own_agent() {
    let principal =
        |agent: Option<&str>| Principal { id: "me".into(), role: Role::Client, agent: agent.map(Into::into) };
    assert_eq!(check_agent(&principal(None), "home"), Ok(()));
    assert_eq!(check_agent(&principal(Some("home")), "home"), Ok(()));
    let refused = AgentForbidden { bound: "home".to_owned(), asked: "work".to_owned() };
    assert_eq!(check_agent(&principal(Some("home")), "work"), Err(refused));
}

#[test]
fn a_device_token_cannot_be_bound_to_an_agent() {
    assert_eq!(check_binding(Role::Device, Some("home")), Err(AgentWithoutCalls));
    for (role, agent) in [(Role::Device, None), (Role::Client, Some("home")), (Role::Companion, Some("home"))]
    {
        assert_eq!(check_binding(role, agent), Ok(()));
    }
}
