//! `sensors`: temperatures. Offered only where there are any.

use schemars::JsonSchema;
use serde::Serialize;
use sysinfo::Components;
use toolway_device::{Json, NoArguments, Tool, ToolError};

#[derive(Debug, Serialize, JsonSchema)]
struct TemperatureReadings {
    /// Sorted by name.
    sensors: Vec<TemperatureSensor>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct TemperatureSensor {
    name: String,
    /// Degrees Celsius.
    celsius: f64,
    /// The highest that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    highest_celsius: Option<f64>,
    /// At which the computer protects itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    critical_celsius: Option<f64>,
}

/// The tool, where this computer has a temperature to tell.
pub(super) fn tool() -> Option<Tool> {
    let found = read().is_ok_and(|told| !told.sensors.is_empty());
    found.then(|| {
        Tool::typed("sensors", "Tells the temperatures of this computer's parts", |_: NoArguments, _| async {
            super::query_system(read).await.map(Json)
        })
        .title("Sensors")
        .read_only()
        .output_schema_of::<TemperatureReadings>()
    })
}

fn read() -> Result<TemperatureReadings, ToolError> {
    let components =
        Components::new_with_refreshed_list().map_err(super::unavailable_error("its temperatures"))?;
    let mut sensors: Vec<TemperatureSensor> = components.iter().filter_map(sensor).collect();
    sensors.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(TemperatureReadings { sensors })
}

fn sensor(component: &sysinfo::Component) -> Option<TemperatureSensor> {
    // A sensor may be there and tell nothing, or nonsense.
    let usable = |value: Option<f32>| value.filter(|value| value.is_finite()).map(super::rounded);
    Some(TemperatureSensor {
        name: component.label().trim().to_owned(),
        celsius: usable(component.temperature())?,
        highest_celsius: usable(component.max()),
        critical_celsius: usable(component.critical()),
    })
}
