use super::*;

async fn captured(keep: CaptureEnd, text: &str) -> OutputCapture {
    let mut capture = OutputCapture::new(10, keep);
    capture.read_from(Some(text.as_bytes())).await;
    capture
}

#[tokio::test]
async fn a_long_output_is_truncated_at_one_end_and_marked() {
    let whole = captured(CaptureEnd::Start, "0123456789").await;
    assert_eq!((whole.text().as_str(), whole.is_truncated()), ("0123456789", false));
    assert_eq!(captured(CaptureEnd::Start, "0123456789abc").await.text(), "0123456789\n[3 bytes cut]");
    assert_eq!(captured(CaptureEnd::End, "0123456789abc").await.text(), "[3 bytes cut]\n3456789abc");
    let long = "x".repeat(50_000) + "end";
    assert_eq!(captured(CaptureEnd::End, &long).await.text(), "[49993 bytes cut]\nxxxxxxxend");
}

#[tokio::test]
async fn invalid_utf8_is_replaced() {
    let mut capture = OutputCapture::new(10, CaptureEnd::Start);
    capture.read_from(Some(&b"a\xFFb"[..])).await;
    assert_eq!(capture.text(), "a\u{FFFD}b");
}
