//! Tests of picking an agent's tools against a scripted server. `conversations` has the other tests of agents.

use serde_json::{Value, json};

use crate::loopback::{CannedReply, FakeGateway};
use crate::support::CliHarness;
use crate::terminal::TerminalHarness;

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

/// Tools from the feature's description, and one that needs a permission.
fn server() -> FakeGateway {
    FakeGateway::start(|request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/api/agents/cook") => CannedReply::Json(
            200,
            json!({"name": "cook", "tools": ["builtin/*", "!builtin/http_request"], "origin": {"kind": "database"}}),
        ),
        ("GET", "/api/tools") => {
            let tool = |id: &str, name: &str, description: &str, permissions: Value| json!({"id": id, "name": name, "source": "builtin", "description": description, "permissions": permissions});
            CannedReply::Json(
                200,
                json!({"tools": [
                    tool("builtin/get_current_time", "get_current_time", "Get the current date and time", json!([])),
                    tool("builtin/read_file", "read_file", "Read the contents of a file from local storage", json!([])),
                    tool("builtin/write_file", "write_file", "Write contents to a file on local storage", json!([])),
                    tool("builtin/http_request", "http_request", "Make an HTTP request to a URL\nand more", json!([])),
                    tool("pixel-8/camera", "pixel-8__camera", "Take a photo\u{1b}[2J", json!(["device.camera"])),
                ]}),
            )
        }
        ("PUT", "/api/agents/cook") => CannedReply::Json(200, json!({"name": "cook"})),
        (method, path) => CannedReply::Json(
            404,
            json!({"error": {"code": "not_found", "message": format!("{method} {path}")}}),
        ),
    })
}

fn pick(server: &FakeGateway, folder: &CliHarness, size: (u16, u16)) -> TerminalHarness {
    let flags = server.connect_flags(folder);
    let arguments: Vec<&str> =
        ["agents", "pick", "cook"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    TerminalHarness::start_sized(folder, &arguments, &[("NO_COLOR", "1")], size)
}

#[test]
fn tools_are_ticked_with_keys() {
    let (folder, server) = (CliHarness::new(), server());
    let mut pick = pick(&server, &folder, (80, 24));
    pick.wait_for_text("Tools of cook: 3 of 5 ticked");
    for line in [
        "> [x] get_current_time - Get the current date and time",
        "  [x] read_file - Read the contents of a file from local storage",
        "  [x] write_file - Write contents to a file on local storage",
        "  [ ] http_request - Make an HTTP request to a URL\r\n",
        "  [ ] pixel-8__camera - Take a photo\\u{1b}[2J  ! needs device.camera",
    ] {
        pick.wait_for_text(line);
    }
    pick.press_keys(&format!("{DOWN} "));
    pick.wait_for_text("2 of 5 ticked");
    pick.press_keys("/camera");
    pick.wait_for_text("/camera_");
    pick.press_keys("\ra");
    pick.wait_for_text("3 of 5 ticked");
    pick.press_keys("\r");
    let (code, shown) = pick.wait_for_exit();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("cook may use 3 of 5 tools"), "{shown}");
    let put = server.wait_for_request("PUT", "/api/agents/cook").json();
    assert_eq!(
        put["tools"],
        json!(["!builtin/http_request", "builtin/get_current_time", "builtin/write_file", "pixel-8/camera"])
    );
}

#[test]
fn a_small_terminal_does() {
    let (folder, server) = (CliHarness::new(), server());
    let mut pick = pick(&server, &folder, (30, 5));
    pick.wait_for_text("> [x] get_current_time - Get …");
    pick.wait_for_text("1/5  space tick");
    pick.press_keys(DOWN);
    pick.press_keys(DOWN);
    pick.wait_for_text("> [x] write_file");
    pick.press_keys(ESCAPE);
    let (code, shown) = pick.wait_for_exit();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("nothing was changed"), "{shown}");
}

#[test]
fn without_a_terminal_a_line_says_which() {
    let (folder, server) = (CliHarness::new(), server());
    let flags = server.connect_flags(&folder);
    let arguments: Vec<&str> =
        ["agents", "pick", "cook"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let ended = folder.run_with_input(&arguments, "1, 4-5\n").assert_success();
    assert!(
        ended.stderr.contains("5 [ ] pixel-8__camera - Take a photo\\u{1b}[2J  ! needs device.camera\n"),
        "{ended:?}"
    );
    assert_eq!(ended.stdout, "cook may use 3 of 5 tools\n");
    let put = server.wait_for_request("PUT", "/api/agents/cook").json();
    assert_eq!(put["tools"], json!(["builtin/get_current_time", "builtin/http_request", "pixel-8/camera"]));
    folder.run_with_input(&arguments, "9\n").assert_failure(2, "is not a number from 1 to 5");
    folder.run(&arguments).assert_failure(1, "nothing was changed");
}
