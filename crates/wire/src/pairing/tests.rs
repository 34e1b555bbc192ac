use super::*;
use proptest::prelude::*;

/// SHA-256 of the empty input.
const PIN: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn pin() -> KeyPin {
    PIN.parse().unwrap()
}

#[test]
fn codes_are_forty_bits_in_crockfords_alphabet() {
    assert_eq!(PairingCode::from_random([0; 5]).to_string(), "0000-0000");
    assert_eq!(PairingCode::from_random([0xFF; 5]).to_string(), "ZZZZ-ZZZZ");
    // 0x0123456789 in groups of five bits: 0 4 17 20 11 7 28 9 (00000 00100 10001 10100 ...).
    assert_eq!(PairingCode::from_random([0x01, 0x23, 0x45, 0x67, 0x89]).secret(), "04HMASW9");
}

#[test]
fn the_key_part_is_the_first_sixty_bits_of_the_pin() {
    // e3b0c44298fc1c1 in base 32, computed with Python's base32 and a translated alphabet.
    assert_eq!(pin().prefix().to_string(), "WERC-8GMR-ZGE1");
    let code = PairingCode::from_random([0; 5]).with_key(&pin());
    assert_eq!(code.to_string(), "0000-0000-WERC-8GMR-ZGE1");
    assert!(code.key().unwrap().matches(&pin()));
    let mut other = *pin().as_bytes();
    other[7] ^= 0x10;
    assert!(!code.key().unwrap().matches(&KeyPin::from_bytes(other)));
    other = *pin().as_bytes();
    other[7] ^= 0x0F;
    assert!(code.key().unwrap().matches(&KeyPin::from_bytes(other)), "bits past the sixtieth do not count");
}

#[test]
fn codes_are_parsed_in_every_common_spelling() {
    let expected: PairingCode = "AB01-1FGH".parse().unwrap();
    for written in ["ab011fgh", " ab 01 1f gh ", "ABOI-LFGH", "aboi–lfgh", "AB-01-1F-GH\n", "abol_ifgh"] {
        assert_eq!(written.parse::<PairingCode>(), Ok(expected.clone()), "{written:?}");
    }
    let with_key: PairingCode = "ab0l1fghwerc8gmrzge1".parse().unwrap();
    assert_eq!(with_key.secret(), "AB011FGH");
    assert!(with_key.key().unwrap().matches(&pin()));
}

#[test]
fn an_invalid_code_is_refused_with_a_reason() {
    assert_eq!("".parse::<PairingCode>(), Err(PairingError::CodeLength(0)));
    assert_eq!("ABCD-EFG".parse::<PairingCode>(), Err(PairingError::CodeLength(7)));
    assert_eq!("ABCD-EFGH-ABCD".parse::<PairingCode>(), Err(PairingError::CodeLength(12)));
    assert_eq!("ABCD-EFGU".parse::<PairingCode>(), Err(PairingError::CodeCharacter('U')));
    assert_eq!("ABCD-EFGé".parse::<PairingCode>(), Err(PairingError::CodeCharacter('é')));
}

#[test]
fn debug_output_contains_no_secret() {
    let code: PairingCode = "ABCD-EFGH".parse().unwrap();
    assert!(!format!("{code:?}").contains("ABCD"));
    let answer = PairResponse { token: "twy_d_secret".into(), ..PairResponse::default() };
    assert!(!format!("{answer:?}").contains("secret"));
}

#[test]
fn a_link_contains_address_code_and_key() {
    let link = PairingLink {
        url: "https://gw.example:7717".into(),
        code: "ABCD-EFGH".parse().unwrap(),
        key: Some(pin()),
    };
    let text = link.to_string();
    assert_eq!(text, format!("toolway://pair?url=https%3A%2F%2Fgw.example%3A7717&code=ABCDEFGH&key={PIN}"));
    assert_eq!(text.parse(), Ok(link.clone()));
    assert_eq!(text.parse(), Ok(PairingInput::Link(link)));
    let code = "abcd-efgh".parse::<PairingInput>();
    assert_eq!(code, Ok(PairingInput::Code("ABCDEFGH".parse().unwrap())));
}

#[test]
fn an_invalid_link_is_refused_with_a_reason() {
    let read = |text: &str| text.parse::<PairingLink>();
    assert_eq!(read("https://gw"), Err(PairingError::NotALink));
    assert_eq!(read("toolway://pair?code=ABCDEFGH"), Err(PairingError::Missing("url")));
    assert_eq!(read("toolway://pair?url=http://a"), Err(PairingError::Missing("code")));
    assert_eq!(read("toolway://pair?url=%zz&code=ABCDEFGH"), Err(PairingError::InvalidEncoding("url")));
    assert_eq!(read("toolway://pair?url=%ff&code=ABCDEFGH"), Err(PairingError::InvalidEncoding("url")));
    assert_eq!(read("toolway://pair?url=a&code=ABCDEFGH&key=sha256:00"), Err(PairingError::InvalidKey));
    assert_eq!(read("toolway://pair?url=a&code=ABC&new=1"), Err(PairingError::CodeLength(3)));
}

proptest! {
    #[test]
    fn codes_and_pins_survive_their_text_form(bits: [u8; 5], hash: [u8; 32]) {
        let pin = KeyPin::from_bytes(hash);
        prop_assert_eq!(pin.to_string().parse(), Ok(pin));
        let code = PairingCode::from_random(bits).with_key(&pin);
        prop_assert_eq!(code.to_string().to_lowercase().parse(), Ok(code));
    }

    #[test]
    fn links_survive_their_text_form(url in "\\PC{1,60}", bits: [u8; 5]) {
        let link = PairingLink { url, code: PairingCode::from_random(bits), key: None };
        prop_assert_eq!(link.to_string().parse(), Ok(link));
    }

    #[test]
    fn parsing_never_panics(text in "(toolway://pair\\?)?.{0,80}") {
        let _ = text.parse::<PairingInput>();
    }
}
