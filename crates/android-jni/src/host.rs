//! Access to the apps of the phone that this library runs on, through the methods of a Java object
//! (`dev.toolway.host.ToolwayHost`). Each method takes and returns a byte array (see [`crate::codec`]).
//!
//! Methods are looked up on the object itself. On a thread that Rust created, a lookup of the class by name
//! would silently find another class than the app's.

mod listeners;
mod reply;

use jni::errors::Error;
use jni::objects::{JByteArray, JObject, JValue};
use jni::refs::Global;
use jni::strings::JNIStr;
use jni::{Env, JavaVM, jni_sig, jni_str};
use toolway_android::Bundle;
use toolway_android::host::{
    AuthorityOwner, CallFailure, HostCall, HostError, PackageChanges, ProviderDeclaration, ProviderHost,
};

use crate::codec::{CodecError, CodecReader, CodecWriter};

pub(crate) use listeners::notify_listener;

/// A host with a Java object. Its methods may be called on any thread; a thread that is unknown to Java is
/// attached until it ends.
#[derive(Debug)]
pub struct JniHost {
    vm: JavaVM,
    object: Global<JObject<'static>>,
}

/// Reason why Java gave no answer.
#[derive(Debug)]
enum JavaCallError {
    /// The Java method threw, which it never does because of an app.
    Threw {
        class: String,
        message: String,
    },
    Jni(Error),
    Malformed(CodecError),
}

impl From<Error> for JavaCallError {
    fn from(error: Error) -> Self {
        match error {
            // The exception's own text does not include the class.
            Error::CaughtJavaException { name, msg, .. } => Self::Threw { class: name, message: msg },
            other => Self::Jni(other),
        }
    }
}

impl From<CodecError> for JavaCallError {
    fn from(error: CodecError) -> Self {
        Self::Malformed(error)
    }
}

impl From<JavaCallError> for HostError {
    fn from(silence: JavaCallError) -> Self {
        Self::new(match silence {
            JavaCallError::Threw { class, message } => {
                format!("cannot query the phone: {class}: {message}")
            }
            JavaCallError::Jni(error) => format!("cannot call Java: {error}"),
            JavaCallError::Malformed(error) => error.to_string(),
        })
    }
}

impl From<JavaCallError> for CallFailure {
    fn from(silence: JavaCallError) -> Self {
        match silence {
            JavaCallError::Threw { class, message } => Self::Threw { class, message },
            JavaCallError::Malformed(CodecError::Unsendable) => {
                Self::Unsupported(CodecError::Unsendable.to_string())
            }
            other => Self::Host(other.into()),
        }
    }
}

impl JniHost {
    /// Creates a host with this Java object.
    ///
    /// # Errors
    /// [`Error`] if Java is out of memory.
    pub fn new(env: &mut Env<'_>, object: &JObject<'_>) -> Result<Self, Error> {
        Ok(Self { vm: env.get_java_vm()?, object: env.new_global_ref(object)? })
    }

    /// Calls a method with the arguments that `write` encodes, and returns its answer.
    fn call_java(
        &self,
        method: &JNIStr,
        write: impl FnOnce(&mut CodecWriter) -> Result<(), CodecError>,
    ) -> Result<Vec<u8>, JavaCallError> {
        let mut request = CodecWriter::default();
        write(&mut request)?;
        let request = request.into_bytes();
        // References that are created here are freed at the end, and Java exceptions are caught and cleared.
        self.vm.attach_current_thread(|env| {
            let request = env.byte_array_from_slice(&request)?;
            let arguments = [JValue::Object(&request)];
            let answer =
                env.call_method(&self.object, method, jni_sig!((request: byte[]) -> byte[]), &arguments)?;
            let answer = env.cast_local::<JByteArray<'_>>(answer.l()?)?;
            Ok(env.convert_byte_array(&answer)?)
        })
    }

    /// Like [`Self::call_java`], for methods that return a failure of the system or a value for `read`.
    fn call_java_system<T>(
        &self,
        method: &JNIStr,
        write: impl FnOnce(&mut CodecWriter) -> Result<(), CodecError>,
        read: impl FnOnce(&mut CodecReader<'_>) -> Result<T, CodecError>,
    ) -> Result<T, HostError> {
        let answer = self.call_java(method, write)?;
        match reply::read(&answer, read).map_err(JavaCallError::from)? {
            Ok(read) => Ok(read),
            Err(failure) => Err(HostError::new(failure.to_string())),
        }
    }
}

impl ProviderHost for JniHost {
    fn discover(&self, packages: Option<&[String]>) -> Result<Vec<ProviderDeclaration>, HostError> {
        let write = |to: &mut CodecWriter| {
            to.byte(u8::from(packages.is_some()));
            packages.map_or(Ok(()), |packages| to.texts(packages))
        };
        self.call_java_system(jni_str!("discover"), write, |from| from.list(reply::declaration))
    }

    fn resolve(&self, authority: &str) -> Result<Option<AuthorityOwner>, HostError> {
        self.call_java_system(jni_str!("resolve"), |to| to.text(authority), reply::owner)
    }

    fn call(&self, call: &HostCall) -> Result<Option<Bundle>, CallFailure> {
        let write = |to: &mut CodecWriter| {
            to.text(&call.authority)?;
            to.text(&call.method)?;
            to.byte(u8::from(call.extras.is_some()));
            call.extras.as_ref().map_or(Ok(()), |extras| to.bundle(extras))
        };
        let answer = self.call_java(jni_str!("call"), write)?;
        let read = |from: &mut CodecReader<'_>| Ok(if from.flag()? { Some(from.bundle()?) } else { None });
        reply::read(&answer, read).map_err(JavaCallError::from)?
    }

    fn wake(&self, authority: &str) -> Result<bool, HostError> {
        self.call_java_system(jni_str!("wake"), |to| to.text(authority), |from| from.flag())
    }

    fn launch(&self, package: &str) -> Result<bool, HostError> {
        self.call_java_system(jni_str!("launch"), |to| to.text(package), |from| from.flag())
    }

    fn open_authorization(&self, package: &str, action: &str) -> Result<bool, HostError> {
        let write = |to: &mut CodecWriter| {
            to.text(package)?;
            to.text(action)
        };
        self.call_java_system(jni_str!("openAuthorization"), write, |from| from.flag())
    }

    fn watch(&self, changes: PackageChanges) -> Result<(), HostError> {
        let listener = listeners::add_listener(changes);
        let watched = self.call_java_system(
            jni_str!("watch"),
            |to| {
                to.long(listener);
                Ok(())
            },
            |_| Ok(()),
        );
        if watched.is_err() {
            listeners::remove_listener(listener);
        }
        watched
    }
}
