use super::*;

fn list(entries: &[&str]) -> AllowList {
    AllowList::parse(entries).unwrap()
}

#[track_caller]
fn refused(entry: &str) -> String {
    AllowList::parse(&[entry]).unwrap_err().to_string()
}

fn opens(list: &AllowList, address: &str, port: u16) -> bool {
    list.allows_address(address.parse().unwrap(), port)
}

#[test]
fn a_host_is_allowed_by_its_full_name() {
    let list = list(&["NAS.home.arpa", "büro.example", "printer:8080"]);
    assert_eq!(list.match_name("nas.home.arpa", 80), NameMatch::Exact);
    assert_eq!(list.match_name("xn--bro-hoa.example", 443), NameMatch::Exact);
    assert_eq!(list.match_name("a.nas.home.arpa", 80), NameMatch::NoMatch);
    assert_eq!(list.match_name("evilnas.home.arpa", 80), NameMatch::NoMatch);
    assert_eq!(list.match_name("printer", 8080), NameMatch::Exact);
    assert_eq!(list.match_name("printer", 80), NameMatch::NoMatch);
}

#[test]
fn a_star_allows_subdomains_but_not_the_domain() {
    let list = list(&["*.home.arpa", "*.lab.example:8443", "x.home.arpa"]);
    assert_eq!(list.match_name("nas.home.arpa", 80), NameMatch::Subdomain);
    assert_eq!(list.match_name("a.nas.home.arpa", 80), NameMatch::Subdomain);
    assert_eq!(list.match_name("x.home.arpa", 80), NameMatch::Exact);
    assert_eq!(list.match_name("home.arpa", 80), NameMatch::NoMatch);
    assert_eq!(list.match_name("evilhome.arpa", 80), NameMatch::NoMatch);
    assert_eq!(list.match_name("a.lab.example", 8443), NameMatch::Subdomain);
    assert_eq!(list.match_name("a.lab.example", 443), NameMatch::NoMatch);
}

#[test]
fn addresses_and_networks_match_in_every_spelling() {
    let list =
        list(&["10.1.0.9/16", "192.168.1.10:8080", "fd00::10", "[fd00::20]:81", "::ffff:172.16.0.0/108"]);
    assert!(opens(&list, "10.1.255.255", 1) && !opens(&list, "10.2.0.0", 1));
    assert!(opens(&list, "::ffff:10.1.2.3", 80), "the same address");
    assert!(!opens(&list, "64:ff9b::10.1.2.3", 80), "another one");
    assert!(opens(&list, "192.168.1.10", 8080) && !opens(&list, "192.168.1.10", 80));
    assert!(opens(&list, "fd00::10", 443) && !opens(&list, "fd00::11", 443));
    assert!(opens(&list, "fd00::20", 81) && !opens(&list, "fd00::20", 80));
    assert!(
        opens(&list, "172.16.9.9", 80) && opens(&list, "172.31.0.1", 80) && !opens(&list, "172.32.0.1", 80)
    );
    assert!(opens(&AllowList::parse(&["0x7f.1"]).unwrap(), "127.0.0.1", 80));
    assert!(!opens(&AllowList::default(), "127.0.0.1", 80));
}

#[test]
fn an_invalid_entry_is_refused_with_the_reason() {
    let said = refused("10.0.0.0/33");
    assert_eq!(
        said,
        "\"10.0.0.0/33\" in the list of allowed hosts is neither a host nor a network (write example.org, \
         192.168.1.10 or 10.0.0.0/8)"
    );
    for entry in [
        "",
        "*",
        "*.",
        "a.*.example",
        "*example.org",
        "*.10.0.0.1",
        "http://a.example",
        "a.example/path",
        "a.example:0",
        "a.example:",
        "a.example:http",
        "a.example:70000",
        "user@a.example",
        "a b",
        "[::1",
        "?",
        "a.example..",
    ] {
        assert!(refused(entry).contains("in the list of allowed hosts"), "{entry:?}");
    }
}

#[test]
fn the_list_is_deserialized_from_settings() {
    let list: AllowList = serde_json::from_str(r#"["nas.home.arpa", "10.0.0.0/8"]"#).unwrap();
    assert_eq!(list, AllowList::parse(&["nas.home.arpa", "10.0.0.0/8"]).unwrap());
    let error = serde_json::from_str::<AllowList>(r#"["*"]"#).unwrap_err().to_string();
    assert!(error.contains("\"*\" in the list of allowed hosts has a star"), "{error}");
}
