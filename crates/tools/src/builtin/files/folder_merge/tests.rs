use std::collections::BTreeMap;
use std::fs;

use super::*;

fn write(data: &Path, path: &str, text: &str) {
    let path = data.join(FILES).join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns all files below `files`, with their texts.
fn all(data: &Path) -> BTreeMap<String, String> {
    let (root, mut found) = (data.join(FILES), BTreeMap::new());
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read_to_string(path).unwrap());
                }
            }
        }
    }
    found
}

fn texts(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn files_of_agents_move_to_the_shared_folder_and_none_is_lost() {
    let data = tempfile::tempdir().unwrap();
    write(data.path(), "shared/notes.txt", "of nobody");
    write(data.path(), "shared/trips/rome.txt", "Rome");
    write(data.path(), "default/notes.txt", "of default");
    write(data.path(), "default/list.txt", "milk");
    write(data.path(), "default/trips/rome.txt", "Roma");
    write(data.path(), "default/trips/oslo.txt", "Oslo");
    write(data.path(), "cook/notes.txt", "of cook");
    write(data.path(), "private/notes.txt", "of private");
    write(data.path(), "a-command/output.txt", "of a program");
    let own = AgentFolders::new(["private"]);
    let agents = ["default", "cook", "private", "never-wrote"];
    let merged = merge_agent_folders(data.path(), &own, agents).unwrap();
    let merged: Vec<_> = merged.iter().map(|it| (it.agent.as_str(), it.moved, it.renamed)).collect();
    assert_eq!(merged, [("default", 4, 2), ("cook", 1, 1)]);
    let expected = texts(&[
        ("shared/notes.txt", "of nobody"),
        ("shared/notes (default).txt", "of default"),
        ("shared/notes (cook).txt", "of cook"),
        ("shared/list.txt", "milk"),
        ("shared/trips/rome.txt", "Rome"),
        ("shared/trips/rome (default).txt", "Roma"),
        ("shared/trips/oslo.txt", "Oslo"),
        ("private/notes.txt", "of private"),
        ("a-command/output.txt", "of a program"),
    ]);
    assert_eq!(all(data.path()), expected);
    assert!(!data.path().join("files/default").exists());
    // Again, nothing changes.
    assert_eq!(merge_agent_folders(data.path(), &own, agents).unwrap(), []);
    assert_eq!(all(data.path()), expected);
}

#[test]
fn without_files_nothing_is_created() {
    let data = tempfile::tempdir().unwrap();
    let merged = merge_agent_folders(data.path(), &AgentFolders::default(), ["default"]).unwrap();
    assert_eq!(merged, []);
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}
