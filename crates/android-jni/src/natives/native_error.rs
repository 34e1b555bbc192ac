//! Converts errors to Java exceptions.

use std::any::Any;

use jni::Env;
use jni::errors::{Error, ErrorPolicy};
use jni::jni_str;
use jni::strings::{JNIStr, JNIString};

use crate::bridge_runtime::BridgeStartError;
use crate::codec::CodecError;
use crate::settings::BadBridgeSettings;

/// Error of a native function.
#[derive(Debug, thiserror::Error)]
pub(super) enum NativeError {
    #[error(transparent)]
    Settings(#[from] BadBridgeSettings),
    #[error(transparent)]
    Malformed(#[from] CodecError),
    #[error(transparent)]
    Start(#[from] BridgeStartError),
    #[error(transparent)]
    Jni(#[from] Error),
}

impl NativeError {
    /// Invalid arguments are a mistake of the app; other errors depend on the state.
    fn class(&self) -> &'static JNIStr {
        match self {
            Self::Settings(_) | Self::Malformed(_) | Self::Start(BridgeStartError::Device(_)) => {
                jni_str!("java/lang/IllegalArgumentException")
            }
            Self::Start(BridgeStartError::Threads(_)) | Self::Jni(_) => {
                jni_str!("java/lang/IllegalStateException")
            }
        }
    }
}

/// Throws errors with their own messages.
#[derive(Debug)]
pub(super) struct ThrowPolicy;

impl<T: Default> ErrorPolicy<T, NativeError> for ThrowPolicy {
    type Captures<'frame: 'method, 'method> = ();

    fn on_error<'frame: 'method, 'method>(
        env: &mut Env<'frame>,
        (): &mut (),
        error: NativeError,
    ) -> Result<T, Error> {
        throw(env, error.class(), &error.to_string());
        Ok(T::default())
    }

    fn on_panic<'frame: 'method, 'method>(
        env: &mut Env<'frame>,
        (): &mut (),
        panic: Box<dyn Any + Send + 'static>,
    ) -> Result<T, Error> {
        let said = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
            (Some(said), _) => said,
            (None, Some(said)) => said.as_str(),
            (None, None) => "no reason was given",
        };
        throw(
            env,
            jni_str!("java/lang/IllegalStateException"),
            &format!("the native library failed: {said}"),
        );
        // Dropping the panic's value could panic again outside of this function.
        std::mem::forget(panic);
        Ok(T::default())
    }
}

/// Throws an exception, unless one is pending already; then Java sees that one.
fn throw(env: &mut Env<'_>, class: &'static JNIStr, message: &str) {
    if !env.exception_check() {
        // It always returns an error, which means that an exception is pending.
        let _ = env.throw_new(class, JNIString::from(message));
    }
}
