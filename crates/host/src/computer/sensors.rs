//! `sensors`: temperatures. Offered only if the computer has a temperature sensor.

use schemars::JsonSchema;
use serde::Serialize;
use sysinfo::Components;
use toolway_device::{Json, NoArguments, Tool, ToolError};

#[derive(Debug, Serialize, JsonSchema)]
struct TemperatureReadings {
    /// Sensors, sorted by name.
    sensors: Vec<TemperatureSensor>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
struct TemperatureSensor {
    name: String,
    /// Temperature in degrees Celsius.
    celsius: f64,
    /// Highest measured temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    highest_celsius: Option<f64>,
    /// Temperature at which the computer throttles or shuts down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    critical_celsius: Option<f64>,
}

/// Creates the tool if this computer has a usable temperature sensor.
pub(super) fn tool() -> Option<Tool> {
    let found = read().is_ok_and(|told| !told.sensors.is_empty());
    found.then(|| {
        Tool::typed(
            "sensors",
            "Reports the temperatures of this computer's components",
            |_: NoArguments, _| async { super::query_system(read).await.map(Json) },
        )
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
    // A sensor may exist and report nothing, or an invalid value.
    let usable = |value: Option<f32>| value.filter(|value| value.is_finite()).map(super::rounded);
    Some(TemperatureSensor {
        name: component.label().trim().to_owned(),
        celsius: usable(component.temperature())?,
        highest_celsius: usable(component.max()),
        critical_celsius: usable(component.critical()),
    })
}
