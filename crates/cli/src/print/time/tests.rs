use super::*;

fn moments() -> TimeFormatter {
    let now = "2026-09-01T12:00:00Z".parse::<Timestamp>().unwrap();
    TimeFormatter::new(now.as_millisecond(), TimeZone::fixed(jiff::tz::offset(2)))
}

#[test]
fn times_are_local_and_relative() {
    let moments = moments();
    let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
    assert_eq!(moments.format_local_and_ago(at("2026-09-01T11:59:57Z")), "2026-09-01 13:59:57 (3 s ago)");
    for (then, said) in [
        ("2026-09-01T12:00:00Z", "now"),
        ("2026-09-01T11:55:00Z", "5 min ago"),
        ("2026-09-01T09:59:00Z", "2 h ago"),
        ("2026-08-20T12:00:00Z", "12 d ago"),
        ("2026-09-01T12:10:00Z", "in 10 min"),
    ] {
        assert_eq!(moments.format_ago(at(then)), said);
    }
    assert_eq!(moments.format_local(i64::MAX), format!("{} ms", i64::MAX), "nothing can make it fail");
    assert!(moments.format_ago(i64::MIN).ends_with("d ago"));
}

#[test]
fn durations_have_a_suitable_unit() {
    for (ms, said) in [
        (0.0, "0 ms"),
        (0.42, "0.4 ms"),
        (9.99, "10 ms"),
        (12.3, "12 ms"),
        (999.7, "1.0 s"),
        (1234.0, "1.2 s"),
        (59_960.0, "1 min 0 s"),
        (185_000.0, "3 min 5 s"),
        (f64::NAN, "?"),
    ] {
        assert_eq!(format_duration(ms), said, "{ms}");
    }
}

#[test]
fn bytes_have_binary_units() {
    for (count, said) in [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (16 << 20, "16 MiB"),
        (1 << 40, "1 TiB"),
    ] {
        assert_eq!(format_bytes(count), said);
    }
}
