//! The data folder is out of reach for the file tools under any name, even if the owner lists a folder that
//! contains it.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use toolway_tests::caller::ChatCaller;
use toolway_tests::process::{GatewayProcess, TestFolder};

use crate::support::{
    call_as_owner, create_client, listed_tools, path_text, toml_string, write_settings, write_sibling_file,
};

/// Files that must be neither read nor changed.
const PROTECTED_FILES: &[&str] = &[
    "owner.token",
    "toolway.db",
    "toolway.db-wal",
    "gateway.json",
    "gateway.lock",
    "toolway.toml",
    "tools/mine.toml",
    "secrets/key",
    "files/other/diary.txt",
];

const SECRET: &str = "correct horse battery staple";

struct DataFolderHarness {
    folder: TestFolder,
    gateway: GatewayProcess,
    chat: ChatCaller,
}

impl DataFolderHarness {
    /// A gateway that lists the folder around its own data, with secrets in it, and with every kind of link.
    async fn new() -> Self {
        let folder = TestFolder::new();
        let around = folder.sibling_path("around");
        let around = around.parent().unwrap();
        write_settings(
            &folder,
            &format!(
                "[tools.files]\nfolders = [{{ name = \"all\", path = {}, write = true }}]\n",
                toml_string(path_text(around))
            ),
        );
        let data = folder.data_path();
        for name in ["tools", "secrets", "files/other", "files/shared"] {
            std::fs::create_dir_all(data.join(name)).unwrap();
        }
        std::fs::write(data.join("tools/mine.toml"), format!("# {SECRET}\n")).unwrap();
        std::fs::write(data.join("secrets/key"), SECRET).unwrap();
        std::fs::write(data.join("files/other/diary.txt"), SECRET).unwrap();
        let gateway = folder.serve(&[]).await;
        write_sibling_file(&folder, "harmless.txt", "harmless");
        let shared = data.join("files/shared");
        for (link, to) in [
            (shared.join("up"), "../..".into()),
            (shared.join("whole"), data.clone()),
            (shared.join("root"), "/".into()),
            (shared.join("file"), data.join("owner.token")),
            (shared.join("round"), shared.join("whole")),
            (around.join("into"), data.clone()),
            (around.join("into-file"), data.join("owner.token")),
            (around.join("sideways"), "data/secrets".into()),
        ] {
            symlink(to, link).unwrap();
        }
        // A hard link is not a link that could be followed.
        std::fs::hard_link(data.join("secrets/key"), around.join("second-name")).unwrap();
        std::fs::hard_link(data.join("owner.token"), shared.join("second-name")).unwrap();
        let somebody = create_client(&gateway, "assistant").await;
        let chat = ChatCaller::connect(gateway.address(), &somebody.token).await;
        Self { folder, gateway, chat }
    }

    /// Returns many ways to write the path of one of the files.
    fn paths_to(&self, name: &str) -> Vec<String> {
        let data = self.folder.data_path();
        let data = path_text(&data);
        let (folder, file) = name.rsplit_once('/').map_or(("", name), |(folder, file)| (folder, file));
        let mut ways: Vec<String> = [
            "../",
            "../../",
            "./../../",
            "x/../../../",
            "../../../data/",
            "up/",
            "whole/",
            "round/",
            "./whole/",
            "whole/files/shared/../../",
            "all/data/",
            "all/./data/",
            "all//data/",
            "all/../data/",
            "all/data/../data/",
            "all/data/files/shared/../../",
            "all/into/",
            "all/into/./",
            "all/../all/data/",
            "ALL/data/",
            "all/DATA/",
            "documents/../all/data/",
            "all\\data\\",
            "..\\..\\",
            "%2e%2e/%2e%2e/",
            "all/%64ata/",
            "．．/．．/",
            "‥/",
            "all/data\u{200b}/",
            " ../../",
            "~/",
            "/proc/self/cwd/",
            "file:///",
            "all:data/",
            "\\\\?\\",
            "/",
        ]
        .into_iter()
        .map(|start| format!("{start}{name}"))
        .collect();
        for start in ["", "root", "/proc/self/root", "/proc/1/root", "/.", "file://", "all", "all/../../.."] {
            ways.push(format!("{start}{data}/{name}"));
        }
        ways.extend([
            format!("{data}/./{name}"),
            format!("{data}//{name}"),
            format!("{data}/files/shared/../../{name}"),
            format!("{data}/files/shared/whole/{name}"),
            format!("{data}/{folder}/../{folder}/{file}"),
            format!("all/data/{name}/"),
            format!("all/data/{name}/."),
            format!("all/data/{name}\0.txt"),
            format!("all/data/{}", name.to_uppercase()),
            format!("{}../../{name}", "x/../".repeat(50)),
            format!("all/sideways/{file}"),
            format!("all/sideways/../{name}"),
        ]);
        ways
    }

    fn protected_contents(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let data = self.folder.data_path();
        // The gateway itself may change the database at any time.
        let still = PROTECTED_FILES.iter().filter(|name| !name.starts_with("toolway.db"));
        still.map(|name| ((*name).to_owned(), std::fs::read(data.join(name)).ok())).collect()
    }

    /// Returns every name in the data folder outside of the part that the tools may access.
    fn data_folder_names(&self) -> Vec<String> {
        fn walk(folder: &std::path::Path, names: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_name() == "shared" {
                    continue;
                }
                names.push(path_text(&entry.path()).to_owned());
                if entry.file_type().unwrap().is_dir() {
                    walk(&entry.path(), names);
                }
            }
        }
        let mut names = Vec::new();
        walk(&self.folder.data_path(), &mut names);
        names.sort();
        names
    }

    fn assert_reveals_nothing(&self, path: &str, answer: &Value) {
        let said = answer.to_string();
        for secret in [self.gateway.token.as_str(), SECRET, "SQLite format"] {
            assert!(!said.contains(secret), "{path:?} gave {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_path_reaches_the_data_folder_e10() {
    let place = DataFolderHarness::new().await;
    let before = (place.protected_contents(), place.data_folder_names());
    // Proves that other files are accessible.
    let harmless = place.chat.call("read_file", json!({"path": "all/harmless.txt"})).await;
    assert_eq!(harmless["result"], "harmless");
    let straight = place.chat.call("read_file", json!({"path": "all/data/owner.token"})).await;
    assert_eq!((&straight["error_type"], &straight["code"]), (&json!("permission_denied"), &json!("denied")));
    assert!(straight["message"].as_str().unwrap().contains("Toolway's own data"), "{straight}");

    let mut ways: Vec<String> = PROTECTED_FILES.iter().flat_map(|name| place.paths_to(name)).collect();
    ways.extend(
        [
            "file",
            "all/into-file",
            "second-name",
            "all/second-name",
            "/dev/fd/0",
            "/proc/self/environ",
            "/proc/self/maps",
        ]
        .map(str::to_owned),
    );
    for path in &ways {
        let read = place.chat.call("read_file", json!({"path": path})).await;
        assert_eq!(read["status"], "error", "{path:?} was read: {read}");
        place.assert_reveals_nothing(path, &read);
    }
    for path in [
        "..",
        "../..",
        "up",
        "whole",
        "root",
        "round",
        "all/data",
        "all/into",
        "all/sideways",
        "all/data/secrets",
        "/",
        "/proc/self/root",
        path_text(&place.folder.data_path()),
        path_text(&place.folder.data_path().join("files")),
        "../other",
        "all",
        ".",
    ] {
        let list =
            place.chat.call("list_files", json!({"path": path, "recursive": true, "limit": 2000})).await;
        let said = list.to_string();
        for name in ["owner.token", "toolway.db", "toolway.toml", "diary.txt", "mine.toml"] {
            assert!(!said.contains(name), "{path:?} lists {name}: {said}");
        }
    }
    // Some of these are valid names of new files in the tools' own folder; none changes anything else.
    for path in &ways {
        for mode in ["overwrite", "append"] {
            let write = json!({"path": path, "content": "mine now", "mode": mode});
            let written = place.chat.call("write_file", write).await;
            place.assert_reveals_nothing(path, &written);
        }
    }
    for name in ["new.toml", "tools/new.toml", "secrets/new", "files/other/new.txt", "files/new/new.txt"] {
        for path in place.paths_to(name) {
            place.chat.call("write_file", json!({"path": path, "content": "mine now"})).await;
        }
    }
    let after = (place.protected_contents(), place.data_folder_names());
    assert_eq!(after.0, before.0, "what is kept is as it was");
    let fresh: Vec<_> = after.1.iter().filter(|name| !before.1.contains(name)).collect();
    assert!(fresh.is_empty(), "new in the data folder: {fresh:?}");

    // The call records do not contain it either, and everything still works.
    let calls = place.folder.run(["calls", "export"]).await.expect_success().stdout;
    assert!(!calls.contains(&place.gateway.token) && !calls.contains(SECRET));
    assert!(listed_tools(&place.gateway, &place.gateway.token).await.contains(&"read_file".to_owned()));
    assert_eq!(call_as_owner(&place.gateway, "get_current_time", json!({})).await["status"], "success");
}
