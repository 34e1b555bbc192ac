use toolway_types::SpecDocument;

use super::*;
use crate::dialect::ProviderDialect;
use crate::naming::NameClaim;
use crate::note::ProviderNotes;
use crate::provider::ProviderState;

fn provider(authority: &str, dialect: ProviderDialect, tools: &[&str]) -> ToolProvider {
    ToolProvider {
        package: "com.w".to_owned(),
        label: Some("Weather".to_owned()),
        certificate: Some("1".to_owned()),
        authority: authority.to_owned(),
        dialect,
        version: None,
        permission: None,
        prefix: None,
        tool_prefixes: std::collections::BTreeMap::new(),
        state: ProviderState::Ready,
        info: None,
        tools: tools.iter().map(|name| SpecDocument::named(*name)).collect(),
        notes: ProviderNotes::default(),
    }
}

fn exposed(mut providers: Vec<ToolProvider>) -> Vec<Vec<String>> {
    let mut names = ProviderNames::default();
    let claims: Vec<NameClaim> = providers.iter().map(ToolProvider::claim).collect();
    names.assign(&claims);
    set_prefixes(&names, &mut providers);
    let of = |provider: &ToolProvider| {
        provider.tools.iter().map(|tool| provider.exposed_name(&tool.name).unwrap()).collect()
    };
    providers.iter().map(of).collect()
}

#[test]
fn two_mcp_authorities_of_one_app_have_the_same_prefix() {
    let forecast = provider("com.w.forecast", ProviderDialect::McpA, &["get_forecast"]);
    let alerts = provider("com.w.alerts", ProviderDialect::McpB, &["get_alerts"]);
    assert_eq!(
        exposed(vec![forecast.clone(), alerts.clone()]),
        [["weather__get_forecast"], ["weather__get_alerts"]]
    );
    assert_eq!(exposed(vec![alerts, forecast]), [["weather__get_alerts"], ["weather__get_forecast"]]);
}

#[test]
fn only_tools_that_both_authorities_have_get_a_suffix() {
    let forecast = provider("com.w.forecast", ProviderDialect::McpC, &["get_forecast", "help"]);
    let alerts = provider("com.w.alerts", ProviderDialect::McpC, &["help", "get_alerts"]);
    assert_eq!(
        exposed(vec![forecast, alerts]),
        [["weather__get_forecast", "weather_3790d0__help"], ["weather__help", "weather__get_alerts"]]
    );
}

#[test]
fn tools_that_may_act_never_take_the_prefix_of_tools_that_only_read() {
    let reads = provider("com.w.tools", ProviderDialect::Cetp, &["get_forecast"]);
    let acts = provider("com.w.forecast", ProviderDialect::McpA, &["set_alarm"]);
    assert_eq!(exposed(vec![reads, acts]), [["weather__get_forecast"], ["weather_3790d0__set_alarm"]]);
}

#[test]
fn a_provider_without_a_name_has_no_prefix() {
    let mut providers = vec![provider("com.w.forecast", ProviderDialect::McpA, &["get_forecast"])];
    providers[0].prefix = Some("old".to_owned());
    set_prefixes(&ProviderNames::default(), &mut providers);
    assert_eq!(providers[0].exposed_name("get_forecast"), None);
}
