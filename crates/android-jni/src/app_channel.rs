//! What the app is told: questions to its user, and what becomes of the bridge. All of it goes one way, in order,
//! through one thread that calls `tell` of a Java object (`dev.toolway.host.ToolwayBridge`); what the user answers
//! comes back through [`answered`]. An app that takes its time delays what it is told, and nothing else.

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

/// What the app has not been told yet, at most; who has more to tell waits.
const QUEUE_CAPACITY: usize = 64;
/// Tasks that wait in the place of somebody who can't, at most. What comes after is not told: an app that is so far
/// behind shows nothing of it anyway.
const MAX_WAITING_TASKS: usize = 64;

/// What goes to the thread that tells.
#[derive(Debug)]
enum AppChannelMessage {
    Event(AppEvent),
    /// All before it has been told.
    Flush(oneshot::Sender<()>),
}

/// The app. Cheap to clone.
#[derive(Debug, Clone)]
pub struct AppChannel {
    messages: mpsc::Sender<AppChannelMessage>,
    capacity: Arc<Semaphore>,
}

impl AppChannel {
    /// Behind this object, from a thread that Java knows.
    ///
    /// # Errors
    /// Java is out of memory.
    pub fn new(env: &mut Env<'_>, object: &JObject<'_>) -> Result<Self, Error> {
        let object = Arc::new(env.new_global_ref(object)?);
        let vm = env.get_java_vm()?;
        let telling = Self::with_callback(move |event| {
            if let Err(error) = tell(&vm, &object, event) {
                tracing::error!(%error, "the app was not told");
            }
        });
        telling.map_err(|_| Error::JniCall(jni::errors::JniError::NoMemory))
    }

    /// With this in Java's place.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn with_callback(mut tell: impl FnMut(&AppEvent) + Send + 'static) -> io::Result<Self> {
        let (messages, mut untold) = mpsc::channel(QUEUE_CAPACITY);
        std::thread::Builder::new().name("toolway-events".to_owned()).spawn(move || {
            while let Some(message) = untold.blocking_recv() {
                match message {
                    AppChannelMessage::Event(event) => tell(&event),
                    // Who wanted to know may have given up.
                    AppChannelMessage::Flush(reached) => drop(reached.send(())),
                }
            }
        })?;
        Ok(Self { messages, capacity: Arc::new(Semaphore::new(MAX_WAITING_TASKS)) })
    }

    /// Tells it, as soon as there is room.
    pub(crate) async fn send(&self, event: AppEvent) {
        // The thread ends with the last sender, so there is somebody to tell.
        let _ = self.messages.send(AppChannelMessage::Event(event)).await;
    }

    /// Waits until it has been told all that there was room for before.
    pub(crate) async fn flush(&self) {
        let (mark, reached) = oneshot::channel();
        let _ = self.messages.send(AppChannelMessage::Flush(mark)).await;
        let _ = reached.await;
    }

    /// Tells it without waiting. Where there is no room, a task waits in the caller's place; where too many wait
    /// already, it is not told.
    pub(crate) fn send_detached(&self, event: AppEvent) {
        let Err(mpsc::error::TrySendError::Full(message)) =
            self.messages.try_send(AppChannelMessage::Event(event))
        else {
            return;
        };
        let (Ok(runtime), Ok(place)) =
            (Handle::try_current(), Arc::clone(&self.capacity).try_acquire_owned())
        else {
            tracing::warn!("the app is far behind with what it is told, and is not told all");
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
    // What is made in here is freed when it ends, and what Java threw is caught.
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
