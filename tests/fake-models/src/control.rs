//! The functions of [`FakeModels`](crate::FakeModels) over HTTP, for tests in other languages.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::received_request::ReceivedRequest;
use crate::script::{ResponseScript, ScriptLine};
use crate::state::{FakeModelsState, ResponseEnd};

pub(crate) fn routes() -> Router<Arc<FakeModelsState>> {
    Router::new()
        .route("/control/script", put(script))
        .route("/control/lines", post(lines))
        .route("/control/requests", get(requests))
        .route("/control/requests/{number}", get(request))
        .route("/control/requests/{number}/end", get(end))
        .route("/control/unused", get(unused))
        .route("/control/gates/{name}/open", post(open))
        .route("/control/gates/{name}/admit", post(admit))
        .route("/control/gates/{name}/reached", get(reached))
}

#[derive(Debug, Deserialize)]
struct GateCountQuery {
    #[serde(default = "one")]
    count: u64,
}

fn one() -> u64 {
    1
}

async fn script(
    State(shared): State<Arc<FakeModelsState>>,
    Json(script): Json<ResponseScript>,
) -> Json<Value> {
    shared.script(script);
    Json(json!({}))
}

async fn lines(
    State(shared): State<Arc<FakeModelsState>>,
    Json(lines): Json<Vec<ScriptLine>>,
) -> Json<Value> {
    for line in lines {
        shared.line(line);
    }
    Json(json!({}))
}

async fn requests(State(shared): State<Arc<FakeModelsState>>) -> Json<Vec<ReceivedRequest>> {
    Json(shared.requests())
}

async fn request(
    State(shared): State<Arc<FakeModelsState>>,
    Path(number): Path<usize>,
) -> Json<ReceivedRequest> {
    Json(shared.request(number).await)
}

async fn end(State(shared): State<Arc<FakeModelsState>>, Path(number): Path<usize>) -> Json<ResponseEnd> {
    Json(shared.end(number).await)
}

async fn unused(State(shared): State<Arc<FakeModelsState>>) -> Json<usize> {
    Json(shared.unused())
}

async fn open(State(shared): State<Arc<FakeModelsState>>, Path(name): Path<String>) -> Json<Value> {
    shared.gates.open(&name);
    Json(json!({}))
}

async fn admit(
    State(shared): State<Arc<FakeModelsState>>,
    Path(name): Path<String>,
    Query(count): Query<GateCountQuery>,
) -> Json<Value> {
    shared.gates.admit(&name, count.count);
    Json(json!({}))
}

async fn reached(
    State(shared): State<Arc<FakeModelsState>>,
    Path(name): Path<String>,
    Query(count): Query<GateCountQuery>,
) -> Json<Value> {
    shared.gates.wait_for_arrivals(&name, count.count).await;
    Json(json!({}))
}
