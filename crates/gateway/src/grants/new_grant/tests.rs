use super::*;

fn grant(tool: &str, principal: Option<&str>, agent: Option<&str>) -> Result<Grant, InvalidGrant> {
    let new = NewGrant {
        tool: tool.to_owned(),
        permission: None,
        principal: principal.map(str::to_owned),
        agent: agent.map(str::to_owned),
        verdict: GrantVerdict::Granted,
        lifetime: Some(Lifetime::from_seconds(60).unwrap()),
    };
    new.build(PrincipalId::from("owner"), 1000)
}

#[test]
fn a_grant_is_for_all_or_one_principal_or_one_agent() {
    let made = grant("pixel-8/*", None, None).unwrap();
    assert_eq!((made.subject, made.created_ms, made.expires_ms), (GrantSubject::Anyone, 1000, Some(61_000)));
    let principal = grant("pixel-8/*", Some("me"), None).unwrap().subject;
    assert_eq!(principal, GrantSubject::Principal(PrincipalId::from("me")));
    assert_eq!(grant("pixel-8/*", None, Some("home")).unwrap().subject, GrantSubject::Agent("home".into()));
    assert_eq!(grant("pixel-8/*", Some("me"), Some("home")).unwrap_err(), InvalidGrant::TwoSubjects);
}

#[test]
fn a_grant_requires_a_source() {
    assert_eq!(grant("camera", None, None).unwrap_err(), InvalidGrant::NoSource("camera".to_owned()));
    assert_eq!(&*grant("*/camera", None, None).unwrap().tool, "*/camera");
}
