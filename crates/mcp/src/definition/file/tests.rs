use super::*;

fn parse(text: &str) -> Result<ServersFile, Vec<(usize, String)>> {
    ServersFile::parse(text, Path::new("/d/mcp.toml")).map_err(|problems| {
        for problem in &problems {
            assert!(problem.hint.is_some(), "{problem} has a hint");
            assert_eq!(problem.path, Path::new("/d/mcp.toml"));
        }
        problems.into_iter().map(|problem| (problem.line, problem.message)).collect()
    })
}

#[test]
fn servers_are_read_with_their_lines() {
    let file = parse(
        "\u{feff}# mine\n[servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n\n[servers.docs]\nurl = \
         \"https://docs.example/mcp\"\n[servers.docs.headers]\nX-Key = \"secret:docs\"\n",
    )
    .unwrap();
    let lines: Vec<_> = file.servers.iter().map(|(slug, entry)| (slug.as_str(), entry.line)).collect();
    assert_eq!(lines, [("docs", 6), ("time", 2)]);
    let docs = &file.servers.values().next().unwrap().definition;
    assert_eq!(docs.headers["X-Key"], "secret:docs");
    assert_eq!(parse("").unwrap(), ServersFile::default());
}

#[test]
fn everything_that_is_wrong_is_told_with_its_line() {
    let wrong = parse(
        "[servers.a]\ncommand = \"./x\"\n\n[servers.own]\nurl = \"https://x.example\"\n\n[servers.b]\nurl = \
         \"https://x.example\"\n[servers.b.headers]\nok = \"1\"\nHost = \"x\"\n\n[servers.c]\ncomand = \"x\"\n\n[server.d]\n",
    )
    .unwrap_err();
    let lines: Vec<_> = wrong.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 4, 11, 14, 16], "{wrong:?}");
    assert!(wrong[0].1.starts_with("servers.a: command: "), "{:?}", wrong[0]);
    assert!(wrong[1].1.contains("reserved for Toolway"));
    assert!(wrong[2].1.starts_with("servers.b: headers.Host: "));
    assert!(wrong[3].1.contains("unknown field `comand`"));
    assert!(wrong[4].1.contains("unknown field \"server\""));
}

#[test]
fn what_is_no_toml_is_told_with_its_line() {
    let wrong = parse("[servers.a]\ncommand = npx\n").unwrap_err();
    assert_eq!(wrong.len(), 1);
    assert_eq!(wrong[0].0, 2);
    assert!(wrong[0].1.starts_with("not TOML: "), "{wrong:?}");
    assert!(parse("servers = 5\n").unwrap_err()[0].1.contains("must be a table"));
    assert!(parse("[servers]\na = 5\n").is_err());
}

#[test]
fn there_is_a_bound() {
    let many: String = (0..=MAX_SERVERS).map(|n| format!("[servers.s{n}]\ncommand = \"a\"\n")).collect();
    assert!(parse(&many).unwrap_err()[0].1.contains("the maximum is 256"));
}
