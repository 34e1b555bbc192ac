use super::*;
use crate::provider_kind::ProviderKind;

fn model_url_of(base: &str, model: &str) -> String {
    let config = ProviderConfig::new("mine", ProviderKind::Gemini, base.parse().unwrap());
    model_url(&config, model).to_string()
}

#[test]
fn a_model_has_a_url_below_the_base() {
    const GOOGLE: &str = "https://generativelanguage.googleapis.com";
    let flash = format!("{GOOGLE}/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse");
    for base in [
        GOOGLE,
        "https://generativelanguage.googleapis.com/",
        "https://generativelanguage.googleapis.com/v1beta",
    ] {
        assert_eq!(model_url_of(base, "gemini-3.5-flash"), flash);
        assert_eq!(model_url_of(base, "models/gemini-3.5-flash"), flash);
    }
    assert_eq!(
        model_url_of("http://127.0.0.1:8/proxy/v1/", "tunedModels/mine"),
        "http://127.0.0.1:8/proxy/v1/tunedModels/mine:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        model_url_of("https://example.org/v1?project=p", "m"),
        "https://example.org/v1/models/m:streamGenerateContent?project=p&alt=sse"
    );
}

#[test]
fn no_model_id_leaves_the_base_url() {
    for (id, path) in [
        ("../../files", "/a/v1beta/files:streamGenerateContent"),
        ("x?key=1#", "/a/v1beta/models/x%3Fkey=1%23:streamGenerateContent"),
        ("a/../../..", "/a/v1beta/a/..:streamGenerateContent"),
        ("//h/x", "/a/v1beta///h/x:streamGenerateContent"),
        ("", "/a/v1beta/models/:streamGenerateContent"),
    ] {
        assert_eq!(
            model_url_of("https://example.org/a", id),
            format!("https://example.org{path}?alt=sse"),
            "{id}"
        );
    }
}
