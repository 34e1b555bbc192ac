//! Sends events to the app: questions for its user and the state of the bridge. One thread calls `tell` of a
//! Java object (`dev.toolway.host.ToolwayBridge`) for each event, in order. The user's answers come back
//! through [`answer_question`]. A slow app delays its own events and nothing else.

mod event;
mod prompt;
mod questions;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use jni::errors::Error;
use jni::objects::{JObject, JValue};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot};

pub(crate) use event::AppEvent;
pub(crate) use questions::{UserAnswer, answer_question};

/// Maximum number of queued events; senders wait while the queue is full.
const QUEUE_CAPACITY: usize = 64;
/// Maximum number of tasks that wait on behalf of senders that can't wait. Further events are dropped: an app
/// that is so slow shows nothing of them anyway.
const MAX_WAITING_TASKS: usize = 64;

/// Message to the thread that calls Java.
#[derive(Debug)]
enum AppChannelMessage {
    Event(AppEvent),
    /// Signals when all earlier events have been delivered.
    Flush(oneshot::Sender<()>),
}

/// The channel to the app. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AppChannel {
    messages: mpsc::Sender<AppChannelMessage>,
    capacity: Arc<Semaphore>,
}

impl AppChannel {
    /// Creates a channel to this Java object.
    ///
    /// # Errors
    /// [`Error`] if Java is out of memory.
    pub fn new(env: &mut Env<'_>, object: &JObject<'_>) -> Result<Self, Error> {
        let object = Arc::new(env.new_global_ref(object)?);
        let vm = env.get_java_vm()?;
        let telling = Self::with_callback(move |event| {
            if let Err(error) = tell(&vm, &object, event) {
                tracing::error!(%error, "cannot send an event to the app");
            }
        });
        telling.map_err(|_| Error::JniCall(jni::errors::JniError::NoMemory))
    }

    /// Creates a channel with a Rust callback instead of Java.
    ///
    /// # Errors
    /// [`io::Error`] if the system can't start a thread.
    pub(crate) fn with_callback(mut tell: impl FnMut(&AppEvent) + Send + 'static) -> io::Result<Self> {
        let (messages, mut untold) = mpsc::channel(QUEUE_CAPACITY);
        std::thread::Builder::new().name("toolway-events".to_owned()).spawn(move || {
            while let Some(message) = untold.blocking_recv() {
                match message {
                    AppChannelMessage::Event(event) => tell(&event),
                    // The receiver may have been dropped.
                    AppChannelMessage::Flush(reached) => drop(reached.send(())),
                }
            }
        })?;
        Ok(Self { messages, capacity: Arc::new(Semaphore::new(MAX_WAITING_TASKS)) })
    }

    /// Sends an event, and waits for space in the queue.
    pub(crate) async fn send(&self, event: AppEvent) {
        // The thread ends with the last sender, so it is still running.
        let _ = self.messages.send(AppChannelMessage::Event(event)).await;
    }

    /// Waits until all queued events have been delivered.
    pub(crate) async fn flush(&self) {
        let (mark, reached) = oneshot::channel();
        let _ = self.messages.send(AppChannelMessage::Flush(mark)).await;
        let _ = reached.await;
    }

    /// Sends an event without waiting. If the queue is full, a task waits on behalf of the caller. If too
    /// many tasks wait already, the event is dropped.
    pub(crate) fn send_detached(&self, event: AppEvent) {
        let Err(mpsc::error::TrySendError::Full(message)) =
            self.messages.try_send(AppChannelMessage::Event(event))
        else {
            return;
        };
        let (Ok(runtime), Ok(place)) =
            (Handle::try_current(), Arc::clone(&self.capacity).try_acquire_owned())
        else {
            tracing::warn!("the app is too slow and misses events");
            return;
        };
        let messages = self.messages.clone();
        runtime.spawn(async move {
            let _ = messages.send(message).await;
            drop(place);
        });
    }
}

fn tell(vm: &JavaVM, object: &Global<JObject<'static>>, event: &AppEvent) -> Result<(), Error> {
    let Ok(event) = event.to_bytes() else { return Ok(()) };
    // References that are created here are freed at the end, and Java exceptions are caught.
    vm.attach_current_thread(|env| {
        let event = env.byte_array_from_slice(&event)?;
        env.call_method(
            object,
            jni_str!("tell"),
            jni_sig!((event: byte[]) -> void),
            &[JValue::Object(&event)],
        )?;
        Ok(())
    })
}
