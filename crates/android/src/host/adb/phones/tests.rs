use super::{adb_error, choose};

fn chosen(rows: &str, wanted: Option<&str>) -> Result<String, (String, String)> {
    let text = format!("* daemon not running; starting now at tcp:5037\nList of devices attached\n{rows}\n");
    choose(&text, wanted).map_err(|error| (error.message, error.hint.unwrap_or_default()))
}

const PIXEL: &str = "8A1X0001       device usb:1-2 product:shiba model:Pixel_8 device:shiba transport_id:1\n";
const EMULATOR: &str = "emulator-5554  device product:sdk model:sdk_gphone64 device:emu64 transport_id:2\n";

#[test]
fn the_only_phone_is_selected() {
    assert_eq!(chosen(PIXEL, None), Ok("8A1X0001".to_owned()));
    assert_eq!(chosen("X\toffline\n8A1X0001\tdevice\n", None), Ok("8A1X0001".to_owned()));
}

#[test]
fn with_several_phones_the_error_names_them() {
    let both = format!("{PIXEL}{EMULATOR}");
    let (message, hint) = chosen(&both, None).unwrap_err();
    assert_eq!(message, "several phones are connected: 8A1X0001 (Pixel 8), emulator-5554 (sdk gphone64)");
    assert_eq!(hint, "select one with --serial SERIAL");
    assert_eq!(chosen(&both, Some("emulator-5554")), Ok("emulator-5554".to_owned()));
    let (message, _) = chosen(&both, Some("Y")).unwrap_err();
    assert_eq!(
        message,
        "the phone Y is not connected; connected: 8A1X0001 (Pixel 8), emulator-5554 (sdk gphone64)"
    );
}

#[test]
fn an_unusable_phone_is_reported_with_the_reason() {
    let why = |row: &str| chosen(row, None).unwrap_err();
    assert_eq!(why("").0, "no phone is connected");
    let (message, hint) = why("8A1X0001 unauthorized usb:1-2 transport_id:1");
    assert_eq!(message, "the phone 8A1X0001 has not allowed this computer yet (unauthorized)");
    assert_eq!(hint, "unlock the phone and allow USB debugging in the dialog");
    assert_eq!(why("8A1X0001 offline").0, "the phone 8A1X0001 does not answer (offline)");
    assert_eq!(
        why("8A1X0001 no permissions (missing udev rules? user is in the plugdev group); see [http://x] usb:1-2").0,
        "no permission for the USB device 8A1X0001"
    );
    assert_eq!(
        why("8A1X0001 recovery").0,
        "the phone 8A1X0001 is in the state recovery; apps do not run in it"
    );
    assert_eq!(why("A offline\nB unauthorized").0, "no phone can be used: A (offline), B (unauthorized)");
    assert_eq!(chosen("", Some("A")).unwrap_err().0, "the phone A is not connected");
}

#[test]
fn errors_of_adb_have_the_same_messages() {
    let said = |stderr: &str| adb_error(stderr, "A").message;
    assert_eq!(said("adb: device 'A' not found\n"), "the phone A is no longer connected");
    assert_eq!(said("error: device offline\n"), "the phone A does not answer (offline)");
    assert_eq!(
        said("error: device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n"),
        "the phone A has not allowed this computer yet (unauthorized)"
    );
    assert_eq!(said("error: no devices/emulators found"), "the phone A is no longer connected");
    assert_eq!(said("* daemon started successfully\nerror: closed\n"), "adb: closed");
}
