//! Measures the overhead of the bridge within a Java virtual machine, compared with direct calls.
//! `dev.toolway.bridge.Figures` of `android/tests` loads it; `scripts/bench-android.sh` prints the table.
#![allow(unsafe_code, reason = "names that Java finds by their spelling, as in the library's own natives")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a measurement that can't be made has no figure")]

use std::sync::Arc;
use std::time::Duration;

use jni::EnvUnowned;
use jni::errors::ThrowRuntimeExAndDefault;
use jni::objects::{JClass, JDoubleArray, JObject, JString};
use jni::sys::jint;
use tokio::runtime::Runtime;
use tokio::time::Instant;
use toolway_android::authorization::NoPrompt;
use toolway_android::bridge::{BridgeDeps, BridgeOverview};
use toolway_android::host::HostCall;
use toolway_android::{BridgeOptions, ProviderBridge, ProviderHost, ProviderNames, ProviderState, cetp};
use toolway_android_jni::JniHost;
use toolway_device::{CancellationToken, ConnectionStatus, Device, DeviceHandle};

/// Calls of one kind before those of the other, so that disturbances of the machine affect both.
const TURN: usize = 50;
const TIMEOUT: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn bridge(host: Arc<dyn ProviderHost>, device: DeviceHandle) -> ProviderBridge {
    ProviderBridge::start(BridgeDeps {
        host,
        device,
        other_tools: Vec::new(),
        prompt: Arc::new(NoPrompt),
        names: ProviderNames::default(),
        save_names: Box::new(|_| Ok(())),
        options: BridgeOptions::default(),
    })
}

fn are_ready(overview: &BridgeOverview, count: usize) -> bool {
    overview.providers.iter().filter(|provider| provider.state == ProviderState::Ready).count() == count
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap()
}

/// Returns the medians, in microseconds, of a call directly through the host and of the same call through the
/// bridge.
fn calls(host: Arc<dyn ProviderHost>, authority: &str, rounds: usize) -> [f64; 2] {
    let runtime = runtime();
    runtime.block_on(async {
        let device = Device::builder("http://127.0.0.1:9").token("none".to_owned()).build().unwrap();
        let bridge = bridge(Arc::clone(&host), device.handle());
        let ready = bridge.overview().wait_for(|overview| are_ready(overview, 1)).await.map(|_| ());
        ready.unwrap();
        let handle = device.handle();
        let tool = handle.tools().first().cloned().unwrap();
        let args = serde_json::json!({});
        let (mut bare, mut bridged) = (Vec::new(), Vec::new());
        while bridged.len() < rounds {
            let (host, authority) = (Arc::clone(&host), authority.to_owned());
            let turn = tokio::task::spawn_blocking(move || {
                let one = || {
                    let extras = cetp::execute_extras("run", "{}", "a call");
                    let call = HostCall {
                        authority: authority.clone(),
                        method: cetp::EXECUTE_TOOL.to_owned(),
                        extras: Some(extras),
                        timeout: TIMEOUT,
                    };
                    let start = Instant::now();
                    host.call(&call).unwrap().unwrap();
                    micros(start.elapsed())
                };
                (0..TURN).map(|_| one()).collect::<Vec<_>>()
            });
            bare.extend(turn.await.unwrap());
            for _ in 0..TURN {
                let start = Instant::now();
                tool.run_local(&args, CancellationToken::new(), Some(TIMEOUT)).await.unwrap();
                bridged.push(micros(start.elapsed()));
            }
        }
        bridge.stop().await;
        // The first calls warm up the virtual machine.
        let warm = |all: Vec<f64>| median(all.into_iter().skip(rounds / 2).collect());
        [warm(bare), warm(bridged)]
    })
}

/// Returns, in microseconds, the time from the start of a bridge until all providers are ready, and from then
/// until the gateway has confirmed their tools. Takes the best of several rounds.
fn scan(host: &Arc<dyn ProviderHost>, url: &str, token: &str, providers: usize, rounds: usize) -> [f64; 2] {
    let runtime = runtime();
    let mut best = [f64::INFINITY; 2];
    for _ in 0..rounds {
        let (scanned, registered) = runtime.block_on(async {
            let device = Device::builder(url).token(token.to_owned()).name("phone").device_id("the phone");
            let device = device.build().unwrap().start();
            let mut status = device.handle().status();
            let connected = |status: &ConnectionStatus| match status {
                ConnectionStatus::Connected(connection) => connection.tools.is_some(),
                _ => false,
            };
            status.wait_for(connected).await.unwrap();
            let start = Instant::now();
            let bridge = bridge(Arc::clone(host), device.handle().clone());
            let mut overview = bridge.overview();
            overview.wait_for(|overview| are_ready(overview, providers)).await.unwrap();
            let scanned = start.elapsed();
            let listed = device.handle().tools().len();
            let live = |status: &ConnectionStatus| match status {
                ConnectionStatus::Connected(connection) => {
                    connection.tools.as_ref().is_some_and(|tools| tools.live == listed)
                }
                _ => false,
            };
            tokio::time::timeout(TIMEOUT, status.wait_for(live)).await.unwrap().unwrap();
            let registered = start.elapsed().saturating_sub(scanned);
            bridge.stop().await;
            let _ = device.stop().await;
            (scanned, registered)
        });
        best = [best[0].min(micros(scanned)), best[1].min(micros(registered))];
    }
    best
}

fn array<'local>(env: &mut jni::Env<'local>, figures: [f64; 2]) -> jni::errors::Result<JDoubleArray<'local>> {
    let array = JDoubleArray::new(env, figures.len())?;
    array.set_region(env, 0, &figures)?;
    Ok(array)
}

/// `calls` of `dev.toolway.bridge.Figures`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_bridge_Figures_calls<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    host: JObject<'local>,
    authority: JString<'local>,
    rounds: jint,
) -> JDoubleArray<'local> {
    env.with_env(|env| -> jni::errors::Result<_> {
        let authority = authority.try_to_string(env)?;
        let figures = calls(Arc::new(JniHost::new(env, &host)?), &authority, rounds.unsigned_abs() as usize);
        array(env, figures)
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}

/// `scan` of `dev.toolway.bridge.Figures`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_dev_toolway_bridge_Figures_scan<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    host: JObject<'local>,
    url: JString<'local>,
    token: JString<'local>,
    providers: jint,
    rounds: jint,
) -> JDoubleArray<'local> {
    env.with_env(|env| -> jni::errors::Result<_> {
        let host: Arc<dyn ProviderHost> = Arc::new(JniHost::new(env, &host)?);
        let (url, token) = (url.try_to_string(env)?, token.try_to_string(env)?);
        let (providers, rounds) = (providers.unsigned_abs() as usize, rounds.unsigned_abs() as usize);
        let figures = scan(&host, &url, &token, providers, rounds);
        array(env, figures)
    })
    .resolve::<ThrowRuntimeExAndDefault>()
}
