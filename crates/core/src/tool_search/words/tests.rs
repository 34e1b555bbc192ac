use super::*;

#[test]
fn names_are_parted_into_words() {
    let parted = |text| words(text).collect::<Vec<_>>();
    assert_eq!(parted("read_file"), ["read", "file"]);
    assert_eq!(parted("getBatteryLevel"), ["get", "Battery", "Level"]);
    assert_eq!(parted("HTTPServer-start"), ["HTTP", "Server", "start"]);
    assert_eq!(parted("parseJSON2Text"), ["parse", "JSON2Text"]);
    assert_eq!(parted("  Écrire, «naïve»  "), ["Écrire", "naïve"]);
    assert_eq!(parted("今日の天気"), ["今日の天気"]);
    assert_eq!(parted("--- !"), Vec::<&str>::new());
}

#[test]
fn a_word_fits_its_plural_and_what_begins_with_it() {
    let fit = |wanted, word| SearchWord::new(wanted).match_word(word);
    assert_eq!(fit("files", "File"), WordMatch::Whole);
    assert_eq!(fit("file", "FILES"), WordMatch::Whole);
    assert_eq!(fit("batteries", "battery"), WordMatch::Whole);
    assert_eq!(fit("battery", "Batteries"), WordMatch::Whole);
    assert_eq!(fit("boxes", "box"), WordMatch::Whole);
    assert_eq!(fit("photo", "photograph"), WordMatch::Partial);
    assert_eq!(fit("p", "photo"), WordMatch::None);
    assert_eq!(fit("graph", "photograph"), WordMatch::None);
    assert_eq!(fit("address", "addres"), WordMatch::None);
    assert_eq!(fit("天気", "今日の天気予報"), WordMatch::Partial);
    assert_eq!(fit("écrire", "ÉCRIRE"), WordMatch::Whole);
}
