use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE};

use super::*;

/// Returns bytes that begin like a picture of each format.
fn samples() -> [(PictureFormat, Vec<u8>); 4] {
    // With bytes that have different digits in the two alphabets.
    let rest = [0xFB, 0xEF, 0xFF, 0x3E].repeat(20);
    [
        (PictureFormat::Png, [&b"\x89PNG\r\n\x1a\n"[..], &rest].concat()),
        (PictureFormat::Jpeg, [&b"\xff\xd8\xff\xe0"[..], &rest].concat()),
        (PictureFormat::Gif, [&b"GIF89a"[..], &rest].concat()),
        (PictureFormat::WebP, [&b"RIFF\x10\0\0\0WEBPVP8 "[..], &rest].concat()),
    ]
}

#[test]
fn pictures_are_recognised_by_their_bytes_in_every_usual_encoding() {
    for (format, bytes) in samples() {
        let data = STANDARD.encode(&bytes);
        let lines: Vec<String> =
            data.as_bytes().chunks(76).map(|line| String::from_utf8_lossy(line).into()).collect();
        for text in [
            data.clone(),
            format!(" {data}\n"),
            lines.join("\r\n"),
            URL_SAFE.encode(&bytes),
            STANDARD_NO_PAD.encode(&bytes),
            format!("data:image/png;base64,{data}"),
            format!("DATA:application/octet-stream;charset=x;BASE64,{data}"),
        ] {
            let found = EncodedPicture::recognise(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (found.format, found.data.as_str(), found.len()),
                (format, data.as_str(), bytes.len())
            );
        }
        assert_eq!(PictureFormat::of_base64(&data), Some(format));
        assert_eq!(PictureFormat::of_bytes(&bytes), Some(format));
    }
}

#[test]
fn other_texts_are_no_pictures() {
    let html = STANDARD.encode("<!doctype html><title>Not found</title>".repeat(3));
    let png = STANDARD.encode(&samples()[0].1);
    for text in [
        "",
        "iVBORw0KGgo=",
        "/9j/a/path/to/a/file",
        "Hello. This is a text that is long enough for a picture.",
        &html,
        &format!("data:image/png;base64,{html}"),
        &format!("data:image/png,{png}"),
        &format!("{png} and more!"),
        &format!("{png}===="),
        &format!("{png}=A"),
        &format!("see {png}"),
        "data:image/png;base64,",
        "🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀",
    ] {
        assert_eq!(EncodedPicture::recognise(text), None, "{text}");
    }
    assert_eq!(PictureFormat::of_base64("no base64!"), None);
    assert_eq!(PictureFormat::of_base64("iVBORw0="), Some(PictureFormat::Png), "a short one");
}
