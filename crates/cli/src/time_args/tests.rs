use super::*;

#[test]
fn durations_are_parsed() {
    for (text, ms) in [
        ("500ms", 500),
        ("90s", 90_000),
        ("1.5 h", 5_400_000),
        ("15m", 900_000),
        ("30d", 2_592_000_000),
        ("2w", 1_209_600_000),
        ("10", 10_000),
        ("0", 0),
    ] {
        assert_eq!(text.parse(), Ok(DurationArg(ms)), "{text}");
    }
    for text in ["", "h", "1y", "-3s", "1e99d", "9999999999999w", "1.2.3s", "soon"] {
        assert!(text.parse::<DurationArg>().is_err(), "{text}");
    }
    assert_eq!(
        (DurationArg(1).seconds(), DurationArg(1000).seconds(), DurationArg(1001).seconds()),
        (1, 1, 2)
    );
}

#[test]
fn times_are_parsed() {
    let zone = TimeZone::fixed(jiff::tz::offset(2));
    let now = "2026-09-01T12:00:00Z".parse::<Timestamp>().unwrap().as_millisecond();
    let past = |text: &str| {
        let ms = text.parse::<TimeArg>().unwrap().past_ms(now, &zone);
        Timestamp::from_millisecond(ms).unwrap().to_string()
    };
    assert_eq!(past("2h"), "2026-09-01T10:00:00Z");
    assert_eq!(past("2026-08-01"), "2026-07-31T22:00:00Z", "midnight where this person is");
    assert_eq!(past("2026-08-01T14:30"), "2026-08-01T12:30:00Z");
    assert_eq!(past("2026-08-01T14:30:00Z"), "2026-08-01T14:30:00Z");
    assert_eq!("2h".parse::<TimeArg>().unwrap().future_ms(now, &zone), now + 7_200_000);
    for text in ["", "yesterday", "2026-13-01", "2026-08"] {
        assert!(text.parse::<TimeArg>().unwrap_err().contains("neither a duration nor a date"), "{text}");
    }
}
