//! The `native` functions of `dev.toolway.host.Natives`, which Java calls. Each converts its arguments.
//! Errors and panics become Java exceptions.
#![allow(unsafe_code, reason = "names that Java finds by their spelling; see the head of the library")]

mod native_error;

use std::sync::Arc;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JObject, JString};
use jni::sys::{jboolean, jint, jlong};

use crate::app_channel::{self, AppChannel, UserAnswer};
use crate::bridge_runtime::RunningBridge;
use crate::codec::CodecReader;
use crate::host::{self, JniHost};
use crate::settings::BridgeSettings;
use native_error::{NativeError, ThrowPolicy};

/// `start`: starts a bridge and returns its number.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_start<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    host: JObject<'local>,
    shell: JObject<'local>,
    settings: JByteArray<'local>,
) -> jlong {
    env.with_env(|env| -> Result<_, NativeError> {
        let said = CodecReader::new(&env.convert_byte_array(&settings)?).bundle()?;
        let settings = BridgeSettings::from_bundle(&said)?;
        let host = Arc::new(JniHost::new(env, &host)?);
        let shell = AppChannel::new(env, &shell)?;
        Ok(RunningBridge::start(host, shell, settings)?)
    })
    .resolve::<ThrowPolicy>()
}

/// `stop`: stops a bridge and waits until it has ended. Returns true if it was running.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_stop<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    bridge: jlong,
) -> jboolean {
    env.with_env(|_| -> Result<_, NativeError> { Ok(RunningBridge::stop(bridge)) }).resolve::<ThrowPolicy>()
}

/// `rescan`: lists the tools of all apps again. Returns true if the bridge runs.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_rescan<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    bridge: jlong,
) -> jboolean {
    env.with_env(|_| -> Result<_, NativeError> { Ok(RunningBridge::rescan(bridge)) }).resolve::<ThrowPolicy>()
}

/// `authorize`: takes the user to an app that requires authorization. Returns true if this has started.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_authorize<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    bridge: jlong,
    authority: JString<'local>,
) -> jboolean {
    env.with_env(|env| -> Result<_, NativeError> {
        let authority = authority.try_to_string(env)?;
        Ok(RunningBridge::authorize(bridge, authority))
    })
    .resolve::<ThrowPolicy>()
}

/// `answer`: passes the user's answer to a question: 0 declined, 1 agreed, 2 returned. Returns true if the
/// question was pending.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_answer<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    question: jlong,
    answer: jint,
) -> jboolean {
    env.with_env(|_| -> Result<_, NativeError> {
        let answer = match answer {
            1 => UserAnswer::Agreed,
            2 => UserAnswer::Returned,
            _ => UserAnswer::Declined,
        };
        Ok(app_channel::answer_question(question, answer))
    })
    .resolve::<ThrowPolicy>()
}

/// `packageChanged`: notifies a listener about a package, or about all if it is null. Returns true if the
/// listener is still registered.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_packageChanged<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    listener: jlong,
    package: JString<'local>,
) -> jboolean {
    env.with_env(|env| -> Result<_, NativeError> {
        let package = if package.is_null() { None } else { Some(package.try_to_string(env)?) };
        Ok(host::notify_listener(listener, package))
    })
    .resolve::<ThrowPolicy>()
}
