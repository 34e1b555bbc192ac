use super::*;

/// 1 795 832 055 s. By hand: 2026-01-01T00:00Z is day 20 454 of the epoch (56 years of 365 days and 14 leap
/// days), 28 November is day 331 of the year, counted from 0: (20 454 + 331) × 86 400 = 1 795 824 000. To it
/// 2 h 14 min 15 s = 8 055 s.
const NOV_28_02_14_15_UTC: i64 = 1_795_832_055_000;
/// By hand: 1 July is day 181 of a common year counted from 0; (20 454 + 181) × 86 400 = 1 782 864 000, to it
/// 12 h = 43 200 s.
const JUL_1_NOON_UTC: i64 = 1_782_907_200_000;

#[derive(Debug)]
struct ClockAt(i64);

impl Clock for ClockAt {
    fn now_ms(&self) -> i64 {
        self.0
    }
}

fn berlin() -> TimeZone {
    TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap()
}

fn ask(at: i64, timezone: Option<&str>, format: Option<&str>) -> Result<String, ToolError> {
    let request =
        CurrentTimeRequest { timezone: timezone.map(str::to_owned), format: format.map(str::to_owned) };
    format_current_time(&ClockAt(at), berlin(), &TimeZoneDatabase::bundled(), &request)
}

#[track_caller]
fn refusal(timezone: Option<&str>, format: Option<&str>) -> String {
    let error = ask(JUL_1_NOON_UTC, timezone, format).unwrap_err();
    assert_eq!(error.code, Code::InvalidArguments, "{error:?}");
    error.message
}

#[test]
fn the_default_is_the_computers_zone_and_iso_8601() {
    assert_eq!(ask(NOV_28_02_14_15_UTC, None, None).unwrap(), "2026-11-28T03:14:15+01:00");
    assert_eq!(ask(JUL_1_NOON_UTC, None, None).unwrap(), "2026-07-01T14:00:00+02:00");
    // What models send for "not given".
    assert_eq!(ask(JUL_1_NOON_UTC, Some(""), Some("")).unwrap(), "2026-07-01T14:00:00+02:00");
}

#[test]
fn a_named_zone_is_used_with_its_summer_time() {
    let cases = [
        ("America/New_York", "2026-11-27T21:14:15-05:00", "2026-07-01T08:00:00-04:00"),
        ("america/new_york", "2026-11-27T21:14:15-05:00", "2026-07-01T08:00:00-04:00"),
        ("Asia/Kolkata", "2026-11-28T07:44:15+05:30", "2026-07-01T17:30:00+05:30"),
        ("Asia/Kathmandu", "2026-11-28T07:59:15+05:45", "2026-07-01T17:45:00+05:45"),
        ("Australia/Sydney", "2026-11-28T13:14:15+11:00", "2026-07-01T22:00:00+10:00"),
        ("Pacific/Kiritimati", "2026-11-28T16:14:15+14:00", "2026-07-02T02:00:00+14:00"),
        ("UTC", "2026-11-28T02:14:15+00:00", "2026-07-01T12:00:00+00:00"),
        ("+05:30", "2026-11-28T07:44:15+05:30", "2026-07-01T17:30:00+05:30"),
        ("UTC-3", "2026-11-27T23:14:15-03:00", "2026-07-01T09:00:00-03:00"),
        ("gmt+0200", "2026-11-28T04:14:15+02:00", "2026-07-01T14:00:00+02:00"),
        ("Z", "2026-11-28T02:14:15+00:00", "2026-07-01T12:00:00+00:00"),
        // In the database, where the sign is the other way round.
        ("Etc/GMT+3", "2026-11-27T23:14:15-03:00", "2026-07-01T09:00:00-03:00"),
    ];
    for (zone, winter, summer) in cases {
        assert_eq!(ask(NOV_28_02_14_15_UTC, Some(zone), None).unwrap(), winter, "{zone}");
        assert_eq!(ask(JUL_1_NOON_UTC, Some(zone), Some("ISO8601")).unwrap(), summer, "{zone}");
    }
}

#[test]
fn the_clocks_change_at_the_right_second() {
    // In 2026 summer time ends in the EU on Sunday 25 October at 01:00 UTC: day 297 counted from 0,
    // (20 454 + 297) × 86 400 + 3 600.
    let change = 1_792_890_000_000;
    assert_eq!(ask(change - 1000, None, None).unwrap(), "2026-10-25T02:59:59+02:00");
    assert_eq!(ask(change, None, None).unwrap(), "2026-10-25T02:00:00+01:00");
}

#[test]
fn for_people_there_are_names() {
    let human = Some("human_readable");
    let cases = [
        (None, "Saturday, 28 November 2026, 03:14:15 CET (UTC+01:00)"),
        (Some("America/New_York"), "Friday, 27 November 2026, 21:14:15 EST (UTC-05:00)"),
        // Its abbreviation is "-03".
        (Some("America/Sao_Paulo"), "Friday, 27 November 2026, 23:14:15 (UTC-03:00)"),
        (Some("UTC"), "Saturday, 28 November 2026, 02:14:15 UTC (UTC+00:00)"),
        (Some("+02:00"), "Saturday, 28 November 2026, 04:14:15 (UTC+02:00)"),
    ];
    for (zone, told) in cases {
        assert_eq!(ask(NOV_28_02_14_15_UTC, zone, human).unwrap(), told);
    }
    let summer = ask(JUL_1_NOON_UTC, None, human).unwrap();
    assert_eq!(summer, "Wednesday, 1 July 2026, 14:00:00 CEST (UTC+02:00)");
}

#[test]
fn the_formats_case_and_joints_do_not_matter() {
    for name in ["ISO8601", "iso8601", "ISO-8601", "iso 8601", "ISO"] {
        assert_eq!(TimeFormat::parse(Some(name)).unwrap(), TimeFormat::Iso8601, "{name}");
    }
    for name in ["human_readable", "Human-Readable", "HumanReadable", "human"] {
        assert_eq!(TimeFormat::parse(Some(name)).unwrap(), TimeFormat::HumanReadable, "{name}");
    }
    assert_eq!(
        refusal(None, Some("rfc2822")),
        "Unknown format \"rfc2822\". The formats are ISO8601 and human_readable"
    );
}

#[test]
fn an_unknown_zone_is_refused_with_close_names() {
    let cases = [
        ("New York", "America/New_York"),
        ("US/NewYork", "America/New_York"),
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("europe/munich/berlin", "Europe/Berlin"),
        ("Asia/Tokio", "Asia/Tokyo"),
        ("los-angeles", "America/Los_Angeles"),
        ("PST", "PST8PDT"),
    ];
    for (wrong, right) in cases {
        let message = refusal(Some(wrong), None);
        assert!(message.starts_with(&format!("Unknown timezone {wrong:?}. Did you mean ")), "{message}");
        assert!(message.contains(right), "{message}");
    }
    for wrong in ["Xyzzyqqq", "🦀", "+25:00", "+1:2", "UTC+", "+-3", "../../etc/passwd", "zzz"] {
        let message = refusal(Some(wrong), None);
        assert!(message.starts_with(&format!("Unknown timezone {wrong:?}.")), "{message}");
    }
}

#[test]
fn a_clock_out_of_range_does_no_harm() {
    assert_eq!(ask(i64::MAX, Some("UTC"), None).unwrap(), "1970-01-01T00:00:00+00:00");
    assert_eq!(ask(-1, Some("UTC"), None).unwrap(), "1969-12-31T23:59:59+00:00");
}
