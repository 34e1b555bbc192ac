//! Picking the tools of an agent, with a server in the gateway's place; the rest about agents is in `conversations`.

use serde_json::{Value, json};

use crate::loopback::{Loopback, Reply};
use crate::support::Folder;
use crate::terminal::Terminal;

const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

/// The tools of the feature's own description, and one that needs a permission.
fn server() -> Loopback {
    Loopback::start(|request| match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/api/agents/cook") => Reply::Json(
            200,
            json!({"name": "cook", "tools": ["builtin/*", "!builtin/http_request"], "origin": {"kind": "database"}}),
        ),
        ("GET", "/api/tools") => {
            let tool = |id: &str, name: &str, description: &str, permissions: Value| json!({"id": id, "name": name, "source": "builtin", "description": description, "permissions": permissions});
            Reply::Json(
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
        ("PUT", "/api/agents/cook") => Reply::Json(200, json!({"name": "cook"})),
        (method, path) => {
            Reply::Json(404, json!({"error": {"code": "not_found", "message": format!("{method} {path}")}}))
        }
    })
}

fn pick(server: &Loopback, folder: &Folder, size: (u16, u16)) -> Terminal {
    let flags = server.flags(folder);
    let arguments: Vec<&str> =
        ["agents", "pick", "cook"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    Terminal::start_sized(folder, &arguments, &[("NO_COLOR", "1")], size)
}

#[test]
fn tools_are_ticked_with_keys() {
    let (folder, server) = (Folder::new(), server());
    let mut pick = pick(&server, &folder, (80, 24));
    pick.says("Tools of cook: 3 of 5 ticked");
    for line in [
        "> [x] get_current_time - Get the current date and time",
        "  [x] read_file - Read the contents of a file from local storage",
        "  [x] write_file - Write contents to a file on local storage",
        "  [ ] http_request - Make an HTTP request to a URL\r\n",
        "  [ ] pixel-8__camera - Take a photo\\u{1b}[2J  ! needs device.camera",
    ] {
        pick.says(line);
    }
    pick.presses(&format!("{DOWN} "));
    pick.says("2 of 5 ticked");
    pick.presses("/camera");
    pick.says("/camera_");
    pick.presses("\ra");
    pick.says("3 of 5 ticked");
    pick.presses("\r");
    let (code, shown) = pick.end();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("cook may use 3 of 5 tools"), "{shown}");
    let put = server.seen("PUT", "/api/agents/cook").json();
    assert_eq!(
        put["tools"],
        json!(["!builtin/http_request", "builtin/get_current_time", "builtin/write_file", "pixel-8/camera"])
    );
}

#[test]
fn a_small_terminal_does() {
    let (folder, server) = (Folder::new(), server());
    let mut pick = pick(&server, &folder, (30, 5));
    pick.says("> [x] get_current_time - Get …");
    pick.says("1/5  space tick");
    pick.presses(DOWN);
    pick.presses(DOWN);
    pick.says("> [x] write_file");
    pick.presses(ESCAPE);
    let (code, shown) = pick.end();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("nothing was changed"), "{shown}");
}

#[test]
fn without_a_terminal_a_line_says_which() {
    let (folder, server) = (Folder::new(), server());
    let flags = server.flags(&folder);
    let arguments: Vec<&str> =
        ["agents", "pick", "cook"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let ended = folder.run_with_input(&arguments, "1, 4-5\n").done();
    assert!(
        ended.stderr.contains("5 [ ] pixel-8__camera - Take a photo\\u{1b}[2J  ! needs device.camera\n"),
        "{ended:?}"
    );
    assert_eq!(ended.stdout, "cook may use 3 of 5 tools\n");
    let put = server.seen("PUT", "/api/agents/cook").json();
    assert_eq!(put["tools"], json!(["builtin/get_current_time", "builtin/http_request", "pixel-8/camera"]));
    folder.run_with_input(&arguments, "9\n").failed(2, "is no number from 1 to 5");
    folder.run(&arguments).failed(1, "nothing was changed");
}
