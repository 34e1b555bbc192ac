use http_body_util::BodyExt as _;
use toolway_types::{Principal, Role};

use super::*;
use crate::memory_budget::MemoryBudget;

#[tokio::test]
async fn a_counted_body_comes_in_parts_and_holds_its_memory_until_the_last() {
    let budget = MemoryBudget::new(256 << 20, 1 << 20);
    let principal = Principal { id: "a".into(), role: Role::Client, agent: None };
    let text: Vec<u8> = (0..200_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    let memory = budget.open(&principal).reserve(text.len()).unwrap();
    let mut body = CountedBody { body: Body::from(text.clone()), rest: Bytes::new(), _memory: memory };
    assert_eq!(body.size_hint().exact(), Some(200_000));
    let mut arrived = Vec::new();
    while let Some(frame) = body.frame().await {
        let part = frame.unwrap().into_data().unwrap();
        assert!(part.len() <= PART);
        arrived.extend_from_slice(&part);
        assert_eq!(body.size_hint().exact(), Some((text.len() - arrived.len()) as u64));
        assert!(budget.usage().used > 0);
    }
    assert_eq!(arrived, text);
    drop(body);
    assert_eq!(budget.usage().used, 0);
}
