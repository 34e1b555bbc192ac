//! Follows redirects.

use reqwest::header::LOCATION;
use reqwest::{Method, Response, StatusCode, Url};

use super::error::{WebError, WebErrorKind};
use super::header::{strip_body_headers, strip_cross_origin_headers};
use super::host_and_port::host_and_port;
use super::request::{WebRequest, normalize_url, same_origin};

/// Maximum number of redirects.
pub(super) const MAX_REDIRECTS: u32 = 10;

/// Target of a redirect; None if the response is final.
pub(super) fn redirect_target(response: &Response) -> Result<Option<Url>, WebError> {
    let follows = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let Some(location) = response.headers().get(LOCATION).filter(|_| follows) else { return Ok(None) };
    let bad = |why: &str| {
        let from = host_and_port(response.url());
        Err(WebError::new(WebErrorKind::BadRedirect, format!("{from} redirects to an address that {why}")))
    };
    let Ok(location) = std::str::from_utf8(location.as_bytes()) else { return bad("is not UTF-8") };
    let Ok(url) = response.url().join(location) else { return bad("is invalid") };
    match normalize_url(url) {
        Ok(url) => Ok(Some(url)),
        Err(why) => bad(&format!("cannot be followed: {why}")),
    }
}

/// Turns a request into the next one, as browsers do (Fetch, "HTTP-redirect fetch"; RFC 9110, section 15.4),
/// but stricter: another origin receives only harmless headers, and a body is never sent from https to http.
pub(super) fn apply_redirect(request: &mut WebRequest, status: StatusCode, to: Url) -> Result<(), WebError> {
    let becomes_get = match status {
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => request.method == Method::POST,
        StatusCode::SEE_OTHER => !matches!(request.method, Method::GET | Method::HEAD),
        _ => false,
    };
    if becomes_get {
        request.method = Method::GET;
        request.body = None;
        strip_body_headers(&mut request.headers);
    }
    if !same_origin(&request.url, &to) {
        if request.url.scheme() == "https" && to.scheme() == "http" && request.body.is_some() {
            let message = format!(
                "{} redirects to {} without encryption; the request's body was not sent there",
                host_and_port(&request.url),
                host_and_port(&to)
            );
            return Err(WebError::new(WebErrorKind::BadRedirect, message));
        }
        strip_cross_origin_headers(&mut request.headers);
        // The owner chose the first host, but not this one.
        request.own_host = false;
    }
    request.url = to;
    Ok(())
}
