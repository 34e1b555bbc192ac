//! Failures as the exceptions that Java sees.

use std::any::Any;

use jni::Env;
use jni::errors::{Error, ErrorPolicy};
use jni::jni_str;
use jni::strings::{JNIStr, JNIString};

use crate::bridge_runtime::BridgeStartError;
use crate::codec::CodecError;
use crate::settings::BadBridgeSettings;

/// Why a function failed.
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
    /// What the app gave is its mistake; the rest is the state of something else.
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

/// Throws them, with their own words.
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
            (None, None) => "it did not say why",
        };
        throw(
            env,
            jni_str!("java/lang/IllegalStateException"),
            &format!("the native library failed: {said}"),
        );
        // What panics when it is dropped must not do so outside of this.
        std::mem::forget(panic);
        Ok(T::default())
    }
}

/// Throws, unless something has been thrown already, which Java sees then.
fn throw(env: &mut Env<'_>, class: &'static JNIStr, message: &str) {
    if !env.exception_check() {
        // It always "fails", with word that an exception is on its way.
        let _ = env.throw_new(class, JNIString::from(message));
    }
}
