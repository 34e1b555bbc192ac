//! The functions that Java calls, `native` in `dev.toolway.host.Natives`. Each only turns what it is given into what
//! the rest takes. A panic ends here, and becomes an exception.
#![allow(unsafe_code, reason = "names that Java finds by their spelling; see the head of the library")]

use jni::EnvUnowned;
use jni::errors::ThrowRuntimeExAndDefault;
use jni::objects::{JClass, JString};
use jni::sys::{jboolean, jlong};

use crate::host;

/// `packageChanged`: tells a listener of a package, or of any where it is null. Whether it listens still.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_host_Natives_packageChanged<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    listener: jlong,
    package: JString<'local>,
) -> jboolean {
    env.with_env(|env| -> jni::errors::Result<_> {
        let package = if package.is_null() { None } else { Some(package.try_to_string(env)?) };
        Ok(host::changed(listener, package))
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}
