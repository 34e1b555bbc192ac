//! What the app is told: questions to its user, and what becomes of the bridge. All of it goes one way, in order,
//! through one thread that calls `tell` of a Java object (`dev.toolway.host.ToolwayBridge`); what the user answers
//! comes back through [`answered`]. An app that takes its time delays what it is told, and nothing else.

mod event;
mod prompt;
mod questions;

use std::sync::Arc;

use jni::errors::Error;
use jni::objects::{JObject, JValue};
use jni::refs::Global;
use jni::{Env, JavaVM, jni_sig, jni_str};
use tokio::sync::mpsc;

pub(crate) use event::Event;
pub(crate) use questions::{Answer, answered};

/// What the app has not been told yet, at most; who has more to tell waits.
const UNTOLD: usize = 64;

/// The app. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shell {
    events: mpsc::Sender<Event>,
}

impl Shell {
    /// Behind this object, from a thread that Java knows.
    ///
    /// # Errors
    /// Java is out of memory.
    pub fn new(env: &mut Env<'_>, object: &JObject<'_>) -> Result<Self, Error> {
        let object = Arc::new(env.new_global_ref(object)?);
        let vm = env.get_java_vm()?;
        let (events, mut told) = mpsc::channel::<Event>(UNTOLD);
        let telling = std::thread::Builder::new().name("toolway-events".to_owned()).spawn(move || {
            while let Some(event) = told.blocking_recv() {
                if let Err(error) = tell(&vm, &object, &event) {
                    tracing::error!(%error, "the app was not told");
                }
            }
        });
        telling.map_err(|_| Error::JniCall(jni::errors::JniError::NoMemory))?;
        Ok(Self { events })
    }

    /// Tells it, as soon as there is room.
    pub(crate) async fn tell(&self, event: Event) {
        // The thread ends with the last sender, so there is somebody to tell.
        let _ = self.events.send(event).await;
    }

    /// Tells it without waiting. Where there is no room, a task waits in the caller's place.
    pub(crate) fn tell_soon(&self, event: Event) {
        let Err(mpsc::error::TrySendError::Full(event)) = self.events.try_send(event) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let shell = self.clone();
            runtime.spawn(async move { shell.tell(event).await });
        }
    }
}

fn tell(vm: &JavaVM, object: &Global<JObject<'static>>, event: &Event) -> Result<(), Error> {
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
