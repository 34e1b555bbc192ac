//! Calls tools on `/ws/chat`: many calls at a time, with all answers recorded.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::socket::{TestSocket, open_socket};
use crate::with_timeout;

/// An answer with its time.
#[derive(Debug, Clone)]
pub struct TimedAnswer {
    /// The whole `call_result`.
    pub result: Value,
    /// Time of arrival.
    pub at: Instant,
}

/// Received answers.
#[derive(Debug, Default)]
struct ReceivedAnswers {
    answers: Mutex<HashMap<String, Vec<TimedAnswer>>>,
    /// Number of answers, and true once the connection has ended.
    updates: watch::Sender<(usize, bool)>,
}

/// A connection that calls tools.
#[derive(Debug)]
pub struct ChatCaller {
    sink: tokio::sync::Mutex<SplitSink<TestSocket, Message>>,
    received: Arc<ReceivedAnswers>,
    next_id: AtomicU64,
    read_task: JoinHandle<()>,
}

impl ChatCaller {
    /// Opens the connection.
    pub async fn connect(address: SocketAddr, token: &str) -> Self {
        let (sink, stream) = open_socket(address, "/ws/chat", token, Some("toolway.v2")).await.split();
        let heard = Arc::new(ReceivedAnswers::default());
        let reading = tokio::spawn(read_answers(stream, Arc::clone(&heard)));
        Self {
            sink: tokio::sync::Mutex::new(sink),
            received: heard,
            next_id: AtomicU64::new(1),
            read_task: reading,
        }
    }

    /// Sends a call and returns its id. A lost connection shows in the answer.
    pub async fn send_call(&self, name: &str, args: Value) -> String {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed).to_string();
        let message = json!({"type": "call_tool", "id": id, "name": name, "args": args});
        let mut sink = self.sink.lock().await;
        let _ = with_timeout("room to send a call", sink.send(Message::text(message.to_string()))).await;
        id
    }

    /// Waits for the answer to a call; `None` if the connection was lost before.
    pub async fn wait_for_answer(&self, id: &str) -> Option<Value> {
        let mut news = self.received.updates.subscribe();
        with_timeout("an answer to a call", async {
            loop {
                let ended = news.borrow_and_update().1;
                if let Some(answers) = self.received.answers.lock().get(id) {
                    return answers.first().map(|it| it.result.clone());
                }
                if ended || news.changed().await.is_err() {
                    return None;
                }
            }
        })
        .await
    }

    /// Makes a call and waits for the answer.
    ///
    /// # Panics
    /// If the connection is lost.
    pub async fn call(&self, name: &str, args: Value) -> Value {
        let id = self.send_call(name, args).await;
        self.wait_for_answer(&id).await.expect("an answer")
    }

    /// Returns the number of answers so far.
    #[must_use]
    pub fn answer_count(&self) -> usize {
        self.received.updates.borrow().0
    }

    /// Waits until the connection has ended.
    pub async fn wait_closed(&self) {
        let mut news = self.received.updates.subscribe();
        with_timeout("the end of a connection", news.wait_for(|(_, ended)| *ended)).await.unwrap();
    }

    /// Returns all answers, by call id.
    #[must_use]
    pub fn answers(&self) -> HashMap<String, Vec<TimedAnswer>> {
        self.received.answers.lock().clone()
    }
}

impl Drop for ChatCaller {
    fn drop(&mut self) {
        self.read_task.abort();
    }
}

async fn read_answers(mut stream: SplitStream<TestSocket>, heard: Arc<ReceivedAnswers>) {
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        let result: Value = serde_json::from_str(&text).unwrap();
        if result["type"] != "call_result" {
            continue;
        }
        let id = result["id"].as_str().unwrap().to_owned();
        heard.answers.lock().entry(id).or_default().push(TimedAnswer { result, at: Instant::now() });
        heard.updates.send_modify(|(answers, _)| *answers += 1);
    }
    heard.updates.send_modify(|(_, ended)| *ended = true);
}
