//! The functions that Java calls, `native` in `dev.toolway.host.Natives`. Each only turns what it is given into what
//! the rest takes. A failure, and a panic, ends here and becomes an exception.
#![allow(unsafe_code, reason = "names that Java finds by their spelling; see the head of the library")]

mod thrown;

use std::sync::Arc;

use jni::EnvUnowned;
use jni::objects::{JByteArray, JClass, JObject, JString};
use jni::sys::{jboolean, jint, jlong};

use crate::codec::Reader;
use crate::host::{self, JniHost};
use crate::running::Running;
use crate::settings::Settings;
use crate::shell::{self, Answer, Shell};
use thrown::{Throw, Thrown};

/// `start`: starts a bridge and gives its number.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_start<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    host: JObject<'local>,
    shell: JObject<'local>,
    settings: JByteArray<'local>,
) -> jlong {
    env.with_env(|env| -> Result<_, Thrown> {
        let said = Reader::new(&env.convert_byte_array(&settings)?).bundle()?;
        let settings = Settings::of(&said)?;
        let host = Arc::new(JniHost::new(env, &host)?);
        let shell = Shell::new(env, &shell)?;
        Ok(Running::start(host, shell, settings)?)
    })
    .resolve::<Throw>()
}

/// `stop`: stops a bridge and waits until it has ended. Whether it ran.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_stop<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    bridge: jlong,
) -> jboolean {
    env.with_env(|_| -> Result<_, Thrown> { Ok(Running::stop(bridge)) }).resolve::<Throw>()
}

/// `rescan`: asks all apps again. Whether the bridge runs.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_rescan<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    bridge: jlong,
) -> jboolean {
    env.with_env(|_| -> Result<_, Thrown> { Ok(Running::rescan(bridge)) }).resolve::<Throw>()
}

/// `authorize`: takes the user to an app that wants to be allowed. Whether that has begun.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_authorize<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    bridge: jlong,
    authority: JString<'local>,
) -> jboolean {
    env.with_env(|env| -> Result<_, Thrown> {
        let authority = authority.try_to_string(env)?;
        Ok(Running::authorize(bridge, authority))
    })
    .resolve::<Throw>()
}

/// `answer`: what the user answers to a question: 0 no, 1 yes, 2 back again. Whether anybody waited for it.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_answer<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    question: jlong,
    answer: jint,
) -> jboolean {
    env.with_env(|_| -> Result<_, Thrown> {
        let answer = match answer {
            1 => Answer::Agreed,
            2 => Answer::Returned,
            _ => Answer::Declined,
        };
        Ok(shell::answered(question, answer))
    })
    .resolve::<Throw>()
}

/// `packageChanged`: tells a listener of a package, or of any where it is null. Whether it listens still.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_packageChanged<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    listener: jlong,
    package: JString<'local>,
) -> jboolean {
    env.with_env(|env| -> Result<_, Thrown> {
        let package = if package.is_null() { None } else { Some(package.try_to_string(env)?) };
        Ok(host::changed(listener, package))
    })
    .resolve::<Throw>()
}
