use super::*;

/// An error around another, as libraries have them.
#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct WrappedError(#[source] Box<dyn Error + Send + Sync>);

fn of(inner: impl Into<Box<dyn Error + Send + Sync>>, connecting: bool) -> WebError {
    error_from_causes("a.example:81", &WrappedError(inner.into()), connecting)
}

fn of_kind(kind: io::ErrorKind, connecting: bool) -> (WebErrorKind, String) {
    let error = of(io::Error::from(kind), connecting);
    (error.kind, error.message)
}

#[test]
fn each_way_to_fail_has_its_own_words() {
    use io::ErrorKind as Kind;
    let table = [
        (
            of_kind(Kind::ConnectionRefused, true),
            WebErrorKind::ConnectionRefused,
            "a.example:81 refused the connection: nothing listens there",
        ),
        (
            of_kind(Kind::HostUnreachable, true),
            WebErrorKind::Unreachable,
            "a.example:81 can't be reached: host unreachable",
        ),
        (
            of_kind(Kind::NetworkUnreachable, true),
            WebErrorKind::Unreachable,
            "a.example:81 can't be reached: network unreachable",
        ),
        (
            of_kind(Kind::TimedOut, true),
            WebErrorKind::ConnectTimeout,
            "a.example:81 did not take the connection in time",
        ),
        (
            of_kind(Kind::UnexpectedEof, true),
            WebErrorKind::Tls,
            "TLS with a.example:81 failed: the server closed the connection",
        ),
        (
            of_kind(Kind::ConnectionReset, false),
            WebErrorKind::Reset,
            "The connection to a.example:81 broke off: connection reset",
        ),
        (
            of_kind(Kind::TimedOut, false),
            WebErrorKind::Reset,
            "The connection to a.example:81 broke off: timed out",
        ),
    ];
    for ((kind, message), expected, words) in table {
        assert_eq!((kind, message.as_str()), (expected, words));
    }
    let denied = of(io::Error::from_raw_os_error(13), true);
    assert_eq!(denied.kind, WebErrorKind::Unreachable, "{denied}");
    let other = of("something else", true);
    assert_eq!(other.message, "No connection to a.example:81: something else");
    let other = of("something else", false);
    assert_eq!(other.message, "The connection to a.example:81 broke off: something else");
}

#[test]
fn tls_says_what_is_wrong_with_the_other_side() {
    let certificate = |why| of(io::Error::other(rustls::Error::InvalidCertificate(why)), true);
    for (why, words) in [
        (CertificateError::Expired, "has expired"),
        (CertificateError::NotValidYet, "is not valid yet"),
        (CertificateError::NotValidForName, "is for another name"),
        (CertificateError::UnknownIssuer, "comes from an authority that is not known here"),
        (CertificateError::Revoked, "was revoked"),
        (CertificateError::BadSignature, "can't be trusted (BadSignature)"),
    ] {
        let error = certificate(why);
        assert_eq!(error.kind, WebErrorKind::Certificate);
        assert_eq!(error.message, format!("No secure connection to a.example:81: its certificate {words}"));
        assert!(!ToolError::from(error).retryable);
    }
    let other = of(rustls::Error::HandshakeNotComplete, true);
    assert_eq!(
        (other.kind, other.message.starts_with("TLS with a.example:81 failed: ")),
        (WebErrorKind::Tls, true)
    );
}

#[test]
fn codes_for_the_caller() {
    let code = |kind| ToolError::from(WebError::new(kind, "x")).code;
    assert_eq!(code(WebErrorKind::BadRequest), Code::InvalidArguments);
    assert_eq!(code(WebErrorKind::Refused), Code::Denied);
    assert_eq!(code(WebErrorKind::Dns), Code::Network);
    assert_eq!(code(WebErrorKind::TooManyRedirects), Code::Network);
    let sent = ToolError::from(WebError::new(WebErrorKind::Reset, "x").with_hint("y").mark_sent());
    assert!(sent.dispatched && sent.retryable);
    assert_eq!(sent.hint.as_deref(), Some("y"));
}
