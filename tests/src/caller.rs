//! Who calls tools, on `/ws/chat`: many calls at a time, every answer kept.

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

use crate::socket::{Socket, open};
use crate::within;

/// An answer, and when it came.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The whole `call_result`.
    pub result: Value,
    /// When it came.
    pub at: Instant,
}

/// What was heard so far.
#[derive(Debug, Default)]
struct Heard {
    answers: Mutex<HashMap<String, Vec<Answer>>>,
    /// How many answers there are, and whether the connection has ended.
    news: watch::Sender<(usize, bool)>,
}

/// A connection that calls tools.
#[derive(Debug)]
pub struct Caller {
    sink: tokio::sync::Mutex<SplitSink<Socket, Message>>,
    heard: Arc<Heard>,
    next: AtomicU64,
    reading: JoinHandle<()>,
}

impl Caller {
    /// Connects.
    pub async fn connect(address: SocketAddr, token: &str) -> Self {
        let (sink, stream) = open(address, "/ws/chat", token, Some("toolway.v2")).await.split();
        let heard = Arc::new(Heard::default());
        let reading = tokio::spawn(read(stream, Arc::clone(&heard)));
        Self { sink: tokio::sync::Mutex::new(sink), heard, next: AtomicU64::new(1), reading }
    }

    /// Sends a call; gives its id. That the connection is gone shows in its answer.
    pub async fn start(&self, name: &str, args: Value) -> String {
        let id = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let message = json!({"type": "call_tool", "id": id, "name": name, "args": args});
        let mut sink = self.sink.lock().await;
        let _ = within("room to send a call", sink.send(Message::text(message.to_string()))).await;
        id
    }

    /// The answer to a call; nothing where the connection was lost before there was one.
    pub async fn answer(&self, id: &str) -> Option<Value> {
        let mut news = self.heard.news.subscribe();
        within("an answer to a call", async {
            loop {
                let ended = news.borrow_and_update().1;
                if let Some(answers) = self.heard.answers.lock().get(id) {
                    return answers.first().map(|it| it.result.clone());
                }
                if ended || news.changed().await.is_err() {
                    return None;
                }
            }
        })
        .await
    }

    /// Calls and waits.
    ///
    /// # Panics
    /// Where the connection is lost.
    pub async fn call(&self, name: &str, args: Value) -> Value {
        let id = self.start(name, args).await;
        self.answer(&id).await.expect("an answer")
    }

    /// How many answers there are so far.
    #[must_use]
    pub fn answered(&self) -> usize {
        self.heard.news.borrow().0
    }

    /// Waits until the connection has ended.
    pub async fn lost(&self) {
        let mut news = self.heard.news.subscribe();
        within("the end of a connection", news.wait_for(|(_, ended)| *ended)).await.unwrap();
    }

    /// Everything that was answered, by the ids of the calls.
    #[must_use]
    pub fn answers(&self) -> HashMap<String, Vec<Answer>> {
        self.heard.answers.lock().clone()
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

async fn read(mut stream: SplitStream<Socket>, heard: Arc<Heard>) {
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        let result: Value = serde_json::from_str(&text).unwrap();
        if result["type"] != "call_result" {
            continue;
        }
        let id = result["id"].as_str().unwrap().to_owned();
        heard.answers.lock().entry(id).or_default().push(Answer { result, at: Instant::now() });
        heard.news.send_modify(|(answers, _)| *answers += 1);
    }
    heard.news.send_modify(|(_, ended)| *ended = true);
}
