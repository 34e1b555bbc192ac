use super::*;

#[test]
fn where_a_server_hears_of_progress_and_tasks_is_not_told_its_clients() {
    let given = json!({"message": "m", "_meta": {"progressToken": 7, "example.com/a": 1}});
    assert_eq!(without_hop_meta(given), Some(json!({"message": "m", "_meta": {"example.com/a": 1}})));
    let task = json!({"taskId": "t"});
    let given =
        json!({"message": "m", "_meta": {"progressToken": 7, "io.modelcontextprotocol/related-task": task}});
    assert_eq!(without_hop_meta(given), Some(json!({"message": "m"})));
    assert_eq!(without_hop_meta(json!({"_meta": {"progressToken": 7}})), None);
    assert_eq!(without_hop_meta(json!("odd")), Some(json!("odd")));
}
