use super::*;

#[test]
fn references_of_other_programs_are_found() {
    for (text, found) in [
        ("$GITHUB_TOKEN", "$GITHUB_TOKEN"),
        ("$github_token", "$github_token"),
        ("Bearer $TOKEN", "$TOKEN"),
        ("$env:TOKEN", "$env:TOKEN"),
        ("$Env:token", "$Env:token"),
        ("${TOKEN}", "${TOKEN}"),
        ("${env:TOKEN}", "${env:TOKEN}"),
        ("${input:x}", "${input:x}"),
        ("Bearer ${TOKEN:-none}", "${TOKEN:-none}"),
        ("{env:TOKEN}", "{env:TOKEN}"),
        ("Bearer {env:TOKEN}", "{env:TOKEN}"),
        ("{file:~/.token}", "{file:~/.token}"),
        ("%TOKEN%", "%TOKEN%"),
        ("Bearer %Token%", "%Token%"),
        ("%APPDATA%\\npm", "%APPDATA%"),
    ] {
        assert_eq!(reference(text), Some(found), "{text}");
    }
}

#[test]
fn values_with_such_signs_are_no_references() {
    for text in [
        "",
        "$",
        "$5",
        "$ecret",
        "pa$WORD",
        "pa$$word",
        "100%",
        "a%20b%20c",
        "%E4%B8%AD",
        "50% of %",
        "{\"env\":1}",
        "{env}",
        "$HOME/bin",
        "ghp_0123",
    ] {
        assert_eq!(reference(text), None, "{text}");
    }
}
