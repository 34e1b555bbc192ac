//! Compares the computer tools with `/proc` and `/sys`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use toolway_device::{CancellationToken, Code, RawJson, ToolError};

async fn ask_with(name: &str, args: Value) -> Result<Value, ToolError> {
    let tools = toolway_host::tools();
    let tool = tools.iter().find(|tool| tool.name() == name).unwrap();
    let output = tool.run_local(&args, CancellationToken::new(), None).await?;
    let told = output.structured.as_ref().map(RawJson::to_value).unwrap();
    // The result must match the output schema.
    let schema = tool.spec().output_schema.as_ref().unwrap().to_value();
    let problems: Vec<_> = jsonschema::validator_for(&schema)
        .unwrap()
        .iter_errors(&told)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(problems, Vec::<String>::new(), "{told}");
    Ok(told)
}

async fn ask(name: &str) -> Value {
    ask_with(name, json!({})).await.unwrap()
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

/// Parses a file of `name: value` lines.
fn fields(path: &str) -> BTreeMap<String, String> {
    let text = text(path);
    let fields = text.lines().filter_map(|line| line.split_once([':', '=']));
    fields.map(|(name, value)| (name.trim().to_owned(), value.trim().trim_matches('"').to_owned())).collect()
}

fn kib(fields: &BTreeMap<String, String>, name: &str) -> u64 {
    fields[name].trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn device_info_matches_the_kernel() {
    let before: f64 = text("/proc/uptime").split(' ').next().unwrap().parse().unwrap();
    let told = ask("device_info").await;
    let after: f64 = text("/proc/uptime").split(' ').next().unwrap().parse().unwrap();
    assert_eq!(told["host_name"], text("/proc/sys/kernel/hostname"));
    assert_eq!(told["kernel"], text("/proc/sys/kernel/osrelease"));
    let release = fields("/etc/os-release");
    assert_eq!(told["os"], release["NAME"]);
    if let Some(version) = release.get("VERSION_ID") {
        assert_eq!(&told["os_version"], version);
    }
    let cpus = text("/proc/cpuinfo").lines().filter(|line| line.starts_with("processor")).count();
    assert_eq!(told["cpu"]["logical_cores"], cpus);
    if let Some(model) = fields("/proc/cpuinfo").get("model name") {
        assert_eq!(&told["cpu"]["model"], model);
    }
    let memory = fields("/proc/meminfo");
    assert_eq!(told["memory"]["total_bytes"], kib(&memory, "MemTotal"));
    assert_eq!(told["memory"]["swap_total_bytes"], kib(&memory, "SwapTotal"));
    let available = told["memory"]["available_bytes"].as_u64().unwrap();
    assert!(available > 0 && available <= kib(&memory, "MemTotal"), "{available}");
    let uptime = told["uptime_s"].as_f64().unwrap();
    assert!((before.floor()..=after.ceil()).contains(&uptime), "{before} {uptime} {after}");
    assert_eq!(told["architecture"], std::env::consts::ARCH);
    let supplies = fs::read_dir("/sys/class/power_supply").into_iter().flatten().count();
    assert!(supplies > 0 || told.get("battery").is_none(), "{told}");
}

#[tokio::test]
async fn disk_usage_lists_only_mounted_disks() {
    let told = ask("disk_usage").await;
    let mounts = text("/proc/mounts");
    let mounted: BTreeMap<&str, (&str, &str)> = mounts
        .lines()
        .map(|line| {
            let mut fields = line.split(' ');
            let (device, point, kind) =
                (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
            (point, (device, kind))
        })
        .collect();
    for disk in told["disks"].as_array().unwrap() {
        let point = disk["mount_point"].as_str().unwrap();
        let (_, kind) = mounted[point];
        assert_eq!(disk["file_system"], kind, "{point}");
        let (total, free) =
            (disk["total_bytes"].as_u64().unwrap(), disk["available_bytes"].as_u64().unwrap());
        assert!(total > 0 && free <= total, "{disk}");
        let used = disk["used_percent"].as_f64().unwrap();
        assert!((used - (total - free) as f64 / total as f64 * 100.0).abs() < 0.1, "{disk}");
    }
}

#[tokio::test]
async fn processes_lists_this_process_and_respects_the_limit() {
    let told = ask_with("processes", json!({ "sort_by": "memory", "limit": 200 })).await.unwrap();
    let listed = told["processes"].as_array().unwrap();
    let pid = std::process::id();
    let own = listed.iter().find(|process| process["pid"] == pid);
    if let Some(own) = own {
        assert_eq!(own["name"], text("/proc/self/comm"));
        let parent = fields("/proc/self/status")["PPid"].parse::<u32>().unwrap();
        assert_eq!(own["parent"], parent);
    } else {
        assert_eq!(listed.len(), 200, "it is missing only where there are more than are listed");
    }
    let memory: Vec<u64> = listed.iter().map(|process| process["memory_bytes"].as_u64().unwrap()).collect();
    assert!(memory.is_sorted_by(|one, other| one >= other), "{memory:?}");
    let few = ask_with("processes", json!({ "limit": 2 })).await.unwrap();
    let cpu: Vec<f64> =
        few["processes"].as_array().unwrap().iter().map(|it| it["cpu_percent"].as_f64().unwrap()).collect();
    assert!(cpu.len() <= 2 && cpu.is_sorted_by(|one, other| one >= other), "{cpu:?}");
    assert!(few["total"].as_u64().unwrap() >= 2);
    for bad in
        [json!({ "limit": 0 }), json!({ "limit": 201 }), json!({ "sort_by": "age" }), json!({ "x": 1 })]
    {
        let error = ask_with("processes", bad.clone()).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArguments, "{bad}");
    }
}

#[tokio::test]
async fn network_interfaces_match_sys() {
    let told = ask("network_interfaces").await;
    let listed = told["interfaces"].as_array().unwrap();
    let names: Vec<_> = listed.iter().map(|interface| interface["name"].as_str().unwrap()).collect();
    let mut there: Vec<_> = fs::read_dir("/sys/class/net")
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("statistics").is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    there.sort();
    assert_eq!(names, there);
    for interface in listed {
        let name = interface["name"].as_str().unwrap();
        let sys = |what: &str| text(&format!("/sys/class/net/{name}/{what}"));
        assert_eq!(interface["mtu"], sys("mtu").parse::<u64>().unwrap(), "{name}");
        assert_eq!(interface["state"], sys("operstate"), "{name}");
        let mac = sys("address");
        let shown = interface.get("mac").and_then(Value::as_str).unwrap_or("00:00:00:00:00:00");
        assert_eq!(shown, if mac.len() == 17 { mac.as_str() } else { shown }, "{name}");
        let received = interface["received_bytes"].as_u64().unwrap();
        assert!(received <= sys("statistics/rx_bytes").parse().unwrap(), "it only grows: {name}");
        if name == "lo" {
            let addresses = interface["addresses"].as_array().unwrap();
            assert!(addresses.contains(&json!("127.0.0.1/8")), "{addresses:?}");
        }
    }
}

#[tokio::test]
async fn sensors_is_offered_only_if_a_sensor_exists() {
    let offered = toolway_host::tools().iter().any(|tool| tool.name() == "sensors");
    let folder = |path: &str| fs::read_dir(path).into_iter().flatten().count();
    if folder("/sys/class/hwmon") == 0 && folder("/sys/class/thermal") == 0 {
        assert!(!offered);
    }
    if offered {
        let told = ask("sensors").await;
        let celsius = told["sensors"][0]["celsius"].as_f64().unwrap();
        assert!((-100.0..200.0).contains(&celsius), "{told}");
    }
}
