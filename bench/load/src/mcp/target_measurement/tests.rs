use super::*;

fn report(rounds: &[(f64, f64)]) -> McpTargetReport {
    let rounds =
        rounds.iter().map(|&(calls_per_s, p50_us)| McpRoundMetrics { calls_per_s, p50_us }).collect();
    McpTargetReport {
        name: "x",
        era: ProtocolEra::Modern,
        in_flight: 1,
        calls: 1,
        errors: 0,
        calls_per_s: 0.0,
        p50_us: 0.0,
        p90_us: 0.0,
        p99_us: 0.0,
        max_us: 0.0,
        cpu_us_per_call: 0.0,
        error_kinds: BTreeMap::new(),
        rounds,
    }
}

#[test]
fn sides_are_compared_round_by_round() {
    let direct = report(&[(100.0, 10.0), (50.0, 20.0), (100.0, 10.0)]);
    let gateway = report(&[(60.0, 17.0), (25.0, 45.0), (55.0, 19.0)]);
    assert_eq!(gateway.throughput_ratio(&direct), [0.55, 0.5, 0.6]);
    assert_eq!(gateway.added_latency(&direct), [9.0, 7.0, 25.0]);
}

#[test]
fn without_rounds_nothing_is_compared() {
    assert_eq!(report(&[]).throughput_ratio(&report(&[])), [0.0; 3]);
}
