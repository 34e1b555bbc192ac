//! Devices that connect, register their tools and disconnect while calls are measured. They are additional
//! devices, not those that are called, so that the harness never causes a failed call.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::caller::CallTally;
use crate::device::{BenchDevice, BenchDeviceIdentity};
use crate::error::Result;
use crate::gateway::{BenchGateway, SOURCES_PER_TOKEN};

/// Number of different devices, which are used in turn.
const DEVICES: usize = 64;
/// Duration of a connection.
const CONNECTED_FOR: Duration = Duration::from_millis(50);

/// Devices that connect and disconnect.
#[derive(Debug)]
pub(crate) struct DeviceChurn {
    authority: String,
    identities: Vec<BenchDeviceIdentity>,
    per_s: f64,
    frame: Utf8Bytes,
    tally: Arc<Mutex<CallTally>>,
}

impl DeviceChurn {
    /// Creates `per_s` devices per second at `gateway`, each with the tools of `frame`.
    pub(crate) async fn new(gateway: &BenchGateway, per_s: f64, frame: Utf8Bytes) -> Result<Self> {
        let tokens = gateway.create_device_tokens(DEVICES).await?;
        let identities = (0..DEVICES)
            .filter_map(|number| {
                let token = tokens.get(number / SOURCES_PER_TOKEN)?.clone();
                Some(BenchDeviceIdentity { token, id: format!("churn-{number}") })
            })
            .collect();
        let authority = gateway.authority.clone();
        Ok(Self { authority, identities, per_s, frame, tally: Arc::default() })
    }

    /// Runs until `until`, and waits until the last device has disconnected.
    pub(crate) async fn run(&self, until: Instant) {
        let mut ticks = interval(Duration::from_secs_f64(1.0 / self.per_s.max(0.001)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut present = JoinSet::new();
        for identity in self.identities.iter().cycle() {
            ticks.tick().await;
            if Instant::now() >= until {
                break;
            }
            let (authority, identity) = (self.authority.clone(), identity.clone());
            let (frame, came) = (self.frame.clone(), self.tally.clone());
            present.spawn(async move {
                let arrived = Instant::now();
                let visit = async {
                    let device = BenchDevice::join(&authority, &identity, frame).await?;
                    let joined = arrived.elapsed();
                    sleep(CONNECTED_FOR).await;
                    device.leave().await?;
                    Result::Ok(joined)
                };
                match visit.await {
                    Ok(joined) => came.lock().latencies.record(joined),
                    Err(failure) => came.lock().count_error(format!("reconnecting: {failure}")),
                }
            });
        }
        while present.join_next().await.is_some() {}
    }

    /// Returns the times from connecting to registered, and the errors.
    pub(crate) fn take_tally(&self) -> CallTally {
        std::mem::take(&mut *self.tally.lock())
    }
}
