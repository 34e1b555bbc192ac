//! Tests of tools that have changed since they were accepted.

use serde_json::json;

use crate::support::{CliHarness, RunningProcess, wait_until};

/// Definition of one command tool with this description.
fn tool(description: &str) -> String {
    let description = serde_json::to_string(description).unwrap();
    format!(
        "[[tool]]\nname = \"hello\"\ndescription = {description}\nprogram = \"/bin/echo\"\nargs = [\"hello\"]\n"
    )
}

fn device(folder: &CliHarness, description: &str, more: &[&str]) -> RunningProcess {
    let file = folder.sibling_path("tools.toml");
    std::fs::write(&file, tool(description)).unwrap();
    let arguments = ["--json", "device", "--name", "box", "--tools", file.to_str().unwrap()];
    let mut device = folder.start(arguments.iter().chain(more));
    device.wait_for_event("connected");
    device
}

#[test]
fn a_changed_tool_is_flagged_compared_and_accepted() {
    let (here, there) = (CliHarness::new(), CliHarness::new());
    let gateway = here.serve_without_event(&[]);
    let code = here.json(&["pair"])["code"].as_str().unwrap().to_owned();
    device(&there, "Says hello", &["--gateway", &gateway.url(), "--pair", &code]).stop();
    // The description moves the cursor, hides a word and reverses the text direction.
    let _device = device(&there, "Says hello\u{1b}[1A\u{200b}\u{202e}sdrawkcab", &[]);
    let listed = wait_until(|| {
        let listed = here.run(["tools", "list"]).assert_success().stdout;
        listed.contains("changed").then_some(listed)
    });
    assert!(listed.contains("Says hello\\u{1b}[1A\\u{200b}\\u{202e}sdrawkcab"), "{listed}");
    assert!(listed.contains("invisible characters"), "{listed}");

    let diff = here.run(["tools", "diff", "box__hello"]).assert_success();
    for (start, part) in [("-", "Says hello"), ("+", "Says hello\\u001b[1A\\u{200b}\\u{202e}sdrawkcab")] {
        let found = diff.stdout.lines().any(|line| line.starts_with(start) && line.contains(part));
        assert!(found, "{start}{part} is not in {diff:#?}");
    }
    let odd = diff.stdout.chars().filter(|c| *c != '\n').any(toolway_types::name::is_invisible);
    assert!(!odd, "{diff:#?}");
    let fingerprint = here.json(&["tools", "diff", "hello"])["fingerprint"].as_str().unwrap().to_owned();
    assert!(
        diff.stderr.contains(&format!("toolway tools accept box__hello --fingerprint {fingerprint}")),
        "{diff:#?}"
    );

    let other = "0".repeat(64);
    here.run(["tools", "accept", "box__hello", "--fingerprint", &other])
        .assert_failure(1, "has changed again");
    here.run(["tools", "accept", "box__hello", "--fingerprint", "no"]).assert_failure(1, "not a SHA-256");
    here.run(["tools", "accept", "box__hello", "--fingerprint", &fingerprint]).assert_success();
    let shown = here.json(&["tools", "show", "box__hello"]);
    assert_eq!(shown["flags"], json!(["invisible_characters"]));
    let same = here.run(["tools", "diff", "box__hello"]).assert_success();
    assert!(same.stdout.is_empty() && same.stderr.contains("has not changed"), "{same:#?}");
    here.run(["tools", "diff", "nothing"]).assert_failure(1, "Tool nothing is not available");
}
