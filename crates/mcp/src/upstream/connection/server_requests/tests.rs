use super::*;

#[test]
fn where_a_server_hears_of_progress_is_not_told_its_clients() {
    let given = json!({"message": "m", "_meta": {"progressToken": 7, "example.com/a": 1}});
    assert_eq!(without_progress(given), Some(json!({"message": "m", "_meta": {"example.com/a": 1}})));
    let given = json!({"message": "m", "_meta": {"progressToken": 7}});
    assert_eq!(without_progress(given), Some(json!({"message": "m"})));
    assert_eq!(without_progress(json!({"_meta": {"progressToken": 7}})), None);
    assert_eq!(without_progress(json!("odd")), Some(json!("odd")));
}
