use toolway_types::SpecDocument;

use super::*;

/// Tools as a gateway would show them.
struct FixedCatalogue(Vec<(ToolId, Arc<ToolSpec>)>);

impl ToolCatalogue for FixedCatalogue {
    fn visit(&self, caller: &Caller, each: &mut dyn FnMut(&ToolId, &Arc<ToolSpec>)) {
        for (id, spec) in &self.0 {
            // A rule of the test's own: agents see nothing of the bank.
            if caller.agent().is_none() || id.source.as_str() != "bank" {
                each(id, spec);
            }
        }
    }
}

fn entry(id: &str, description: &str, parameters: Option<&str>) -> (ToolId, Arc<ToolSpec>) {
    let id: ToolId = id.parse().unwrap();
    let document = SpecDocument {
        description: Some(description.to_owned()),
        parameters: parameters.map(|text| RawJson::parse(text).unwrap()),
        ..SpecDocument::named(id.tool.as_str())
    };
    (id, Arc::new(ToolSpec::compile(document).unwrap()))
}

fn titled(id: &str, title: &str) -> (ToolId, Arc<ToolSpec>) {
    let id: ToolId = id.parse().unwrap();
    let document = SpecDocument { title: Some(title.to_owned()), ..SpecDocument::named(id.tool.as_str()) };
    (id, Arc::new(ToolSpec::compile(document).unwrap()))
}

fn shelf() -> FixedCatalogue {
    FixedCatalogue(vec![
        entry("builtin/read_file", "Read the contents of a file from local storage", Some(READ_FILE)),
        entry("builtin/write_file", "Write contents to a file on local storage", None),
        entry("phone/getBatteryLevel", "How full the accumulator is", None),
        entry("phone/take-photo", "Takes a picture with the camera", None),
        entry("laptop/list_processes", "Lists what runs, and its battery use", None),
        entry("bank/transfer", "Transfers money from an account to another", None),
        entry("bank/balance", "The balance of an account", None),
        entry("weather/forecast", "今日の天気予報を調べる", None),
        titled("car/x17", "Battery of the car"),
    ])
}

const READ_FILE: &str = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;

fn ask(shelf: &FixedCatalogue, query: &str, limit: Option<u64>) -> FindToolsResult {
    find(shelf, &Caller::local_owner(), &FindToolsRequest { query: query.to_owned(), limit }).unwrap()
}

fn ids(answer: &FindToolsResult) -> Vec<String> {
    answer.tools.iter().map(|tool| tool.id.to_string()).collect()
}

fn found(query: &str) -> Vec<String> {
    ids(&ask(&shelf(), query, None))
}

#[test]
fn words_in_the_name_count_most() {
    assert_eq!(found("battery"), ["phone/getBatteryLevel", "car/x17", "laptop/list_processes"]);
    assert_eq!(found("read a file").first().unwrap(), "builtin/read_file");
    assert_eq!(found("files"), ["builtin/read_file", "builtin/write_file"]);
    assert_eq!(found("天気"), ["weather/forecast"]);
}

#[test]
fn all_words_count_more_than_some() {
    // "battery" alone is in the name of one; the other has both words, though in lesser places.
    assert_eq!(found("laptop battery").first().unwrap(), "laptop/list_processes");
    assert_eq!(found("phone battery").first().unwrap(), "phone/getBatteryLevel");
    assert_eq!(found("money account"), ["bank/transfer", "bank/balance"]);
}

#[test]
fn fillers_are_not_looked_for_unless_there_is_nothing_else() {
    assert_eq!(found("what is the balance of my account"), ["bank/balance", "bank/transfer"]);
    assert!(!found("the").is_empty());
}

#[test]
fn what_is_found_can_be_called() {
    let answer = serde_json::to_value(ask(&shelf(), "read file", Some(1))).unwrap();
    assert_eq!(
        answer,
        serde_json::json!({
            "tools": [{
                "name": "read_file",
                "id": "builtin/read_file",
                "description": "Read the contents of a file from local storage",
                "parameters": serde_json::from_str::<serde_json::Value>(READ_FILE).unwrap(),
            }],
            "found": 2,
            "note": "1 more match; use more words, or a higher limit.",
        })
    );
    let answer = serde_json::to_value(ask(&shelf(), "photo", None)).unwrap();
    assert_eq!(answer["tools"][0]["name"], "phone__take-photo");
    assert_eq!(answer["tools"][0]["parameters"], serde_json::json!({}));
    assert!(answer.get("note").is_none());
}

#[test]
fn only_what_the_caller_may_use_is_found() {
    let agent = Caller { agent: Some("helper".into()), ..Caller::local_owner() };
    let request = FindToolsRequest { query: "account balance".to_owned(), limit: None };
    let answer = find(&shelf(), &agent, &request).unwrap();
    assert_eq!(ids(&answer), Vec::<String>::new());
    assert_eq!(answer.note.unwrap(), "None of the 7 tools has any of these words; try others.");
}

#[test]
fn a_query_without_words_is_refused() {
    let request = FindToolsRequest { query: "?! …".to_owned(), limit: None };
    let error = find(&shelf(), &Caller::local_owner(), &request).unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments);
}

#[test]
fn long_descriptions_and_schemas_are_cut() {
    let schema = |bytes| format!(r#"{{"type":"object","description":"{}"}}"#, "x".repeat(bytes));
    let (large, small) = (schema(SCHEMA_BYTES), schema(10));
    let shelf = FixedCatalogue(vec![
        entry("a/dig_one", &"ü".repeat(150), Some(&large)),
        entry("b/dig_four", "dig", Some(&large)),
        entry("c/dig_three", "dig", Some(&small)),
    ]);
    let answer = ask(&shelf, "dig", None);
    assert_eq!(ids(&answer), ["a/dig_one", "b/dig_four", "c/dig_three"]);
    let [first, second, third] = answer.tools.as_slice() else { panic!("{answer:?}") };
    assert_eq!(first.description, format!("{}…", "ü".repeat(100)));
    assert_eq!(first.parameters.as_ref().unwrap().get(), large);
    assert!(second.parameters.is_none());
    assert!(third.parameters.is_none(), "the first took all the room");
    assert!(answer.note.unwrap().contains("search for that tool by its name"));
}

#[test]
fn the_order_does_not_depend_on_that_of_the_catalogue() {
    let mut shelf =
        FixedCatalogue((0..100).map(|n| entry(&format!("s{}/t{n}_work", n % 7), "It works", None)).collect());
    let before = ids(&ask(&shelf, "work now", Some(50)));
    shelf.0.reverse();
    assert_eq!(ids(&ask(&shelf, "work now", Some(50))), before);
    assert_eq!(before.len(), 50);
}

#[test]
fn ten_thousand_tools_are_searched_at_once() {
    let spec = |n: usize| {
        let description = "Gets the current value of a sensor in one of the rooms, in the unit that its \
                           owner has set, with the time at which it was read";
        entry(&format!("home-{}/readSensor{n}", n % 300), description, None)
    };
    let shelf = FixedCatalogue((0..10_000).map(spec).collect());
    let started = tokio::time::Instant::now();
    let answer = ask(&shelf, "read the sensor 9999 of the room", None);
    let took = started.elapsed();
    assert_eq!(answer.found, 10_000);
    // Below 50 ms where optimised; tests are not, and share the computer.
    assert!(took.as_millis() < 3_000, "{took:?}");
    println!("searched 10,000 tools in {took:?}");
}
