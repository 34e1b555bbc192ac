use super::*;

fn known() -> PrincipalList {
    let token = |id: &str, label: &str, status: &str| TokenSummary {
        id: id.to_owned(),
        label: label.to_owned(),
        status: status.to_owned(),
        ..TokenSummary::default()
    };
    PrincipalList(vec![
        token("01", "phone", "active"),
        token("02", "phone", "revoked"),
        token("03", "script", "active"),
        token("04", "script", "active"),
        token("05", "01", "active"),
        token("06", "", "active"),
    ])
}

#[test]
fn ids_and_labels_that_are_unique_are_found() {
    for (meant, id) in [("owner", "owner"), ("01", "01"), ("02", "02"), ("phone", "01"), ("03", "03")] {
        assert_eq!(known().find(meant).unwrap(), id, "{meant}");
    }
}

#[test]
fn an_ambiguous_label_is_an_error() {
    let said = known().find("script").unwrap_err().render_text(false);
    assert_eq!(said, "error: 2 tokens have the label \"script\"\nhint: use the id: 03, 04\n");
    let unknown = known().find("nobody").unwrap_err();
    assert_eq!(unknown.code(), "token_not_found");
}
