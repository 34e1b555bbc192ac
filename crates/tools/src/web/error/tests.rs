use super::*;

/// An error that wraps another, as in libraries.
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
fn each_failure_has_its_own_message() {
    use io::ErrorKind as Kind;
    let table = [
        (
            of_kind(Kind::ConnectionRefused, true),
            WebErrorKind::ConnectionRefused,
            "a.example:81 refused the connection; no server listens there",
        ),
        (
            of_kind(Kind::HostUnreachable, true),
            WebErrorKind::Unreachable,
            "a.example:81 is unreachable: host unreachable",
        ),
        (
            of_kind(Kind::NetworkUnreachable, true),
            WebErrorKind::Unreachable,
            "a.example:81 is unreachable: network unreachable",
        ),
        (
            of_kind(Kind::TimedOut, true),
            WebErrorKind::ConnectTimeout,
            "The connection to a.example:81 timed out",
        ),
        (
            of_kind(Kind::UnexpectedEof, true),
            WebErrorKind::Tls,
            "TLS with a.example:81 failed: the server closed the connection",
        ),
        (
            of_kind(Kind::ConnectionReset, false),
            WebErrorKind::Reset,
            "The connection to a.example:81 failed: connection reset",
        ),
        (
            of_kind(Kind::TimedOut, false),
            WebErrorKind::Reset,
            "The connection to a.example:81 failed: timed out",
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
    assert_eq!(other.message, "The connection to a.example:81 failed: something else");
}

#[test]
fn certificate_errors_have_a_reason() {
    let certificate = |why| of(io::Error::other(rustls::Error::InvalidCertificate(why)), true);
    for (why, words) in [
        (CertificateError::Expired, "has expired"),
        (CertificateError::NotValidYet, "is not valid yet"),
        (CertificateError::NotValidForName, "is for another name"),
        (CertificateError::UnknownIssuer, "was issued by an unknown authority"),
        (CertificateError::Revoked, "was revoked"),
        (CertificateError::BadSignature, "is not trusted (BadSignature)"),
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
fn each_failure_has_a_code_for_the_caller() {
    let code = |kind| ToolError::from(WebError::new(kind, "x")).code;
    assert_eq!(code(WebErrorKind::BadRequest), Code::InvalidArguments);
    assert_eq!(code(WebErrorKind::Refused), Code::Denied);
    assert_eq!(code(WebErrorKind::Dns), Code::Network);
    assert_eq!(code(WebErrorKind::TooManyRedirects), Code::Network);
    let sent = ToolError::from(WebError::new(WebErrorKind::Reset, "x").with_hint("y").mark_sent());
    assert!(sent.dispatched && sent.retryable);
    assert_eq!(sent.hint.as_deref(), Some("y"));
}
