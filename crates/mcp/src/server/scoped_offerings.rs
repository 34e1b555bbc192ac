//! Features of upstreams beyond tools in the scope of one client: of a single upstream under its own names, of
//! several under qualified names.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, Reference, ResourceContents,
    ServerCapabilities,
};
use toolway_core::Engine;
use toolway_types::Slug;

use super::client_scope::{ClientScope, EndpointScope, PROMPTS_FEATURE, RESOURCES_FEATURE};
use super::naming;
use crate::client_link::RequestingClient;
use crate::offering::{OfferingRegistry, ServerOffering};
use crate::protocol_era::ProtocolEra;

/// Timeout for one upstream's list when all are listed. A slower upstream is left out.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of pages to combine from one upstream.
const MAX_PAGES: usize = 64;

/// One upstream and its source.
pub(crate) struct SourceOffering {
    pub(crate) source: Slug,
    pub(crate) offering: Arc<dyn ServerOffering>,
    /// True if its names are not qualified.
    pub(crate) uses_own_names: bool,
}

impl SourceOffering {
    pub(crate) fn exposed_uri(&self, uri: &str) -> String {
        if self.uses_own_names { uri.to_owned() } else { naming::qualify_uri(&self.source, uri) }
    }

    fn exposed_prompt(&self, name: &str) -> String {
        if self.uses_own_names { name.to_owned() } else { naming::qualify_prompt(&self.source, name) }
    }
}

/// The upstreams in the scope of one client.
pub(crate) struct ScopedOfferings<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) offerings: &'a dyn OfferingRegistry,
    pub(crate) scope: &'a ClientScope,
    /// The era in which the client reaches servers of both.
    pub(crate) era: ProtocolEra,
}

impl ScopedOfferings<'_> {
    /// The upstreams of which the client may use this feature.
    pub(crate) fn permitted(&self, what: &str) -> Vec<SourceOffering> {
        let named = match &self.scope.scope {
            EndpointScope::Source(source) => {
                let offering = self.offerings.offering(source, self.era);
                offering.map(|offering| (source.clone(), offering, true)).into_iter().collect::<Vec<_>>()
            }
            EndpointScope::Everything => self
                .offerings
                .all(self.era)
                .into_iter()
                .map(|(source, offering)| (source, offering, false))
                .collect(),
        };
        named
            .into_iter()
            .filter(|(source, ..)| self.scope.can_use_feature(self.engine, source, what))
            .map(|(source, offering, is_alone)| SourceOffering { source, offering, uses_own_names: is_alone })
            .collect()
    }

    /// The upstream of the endpoint, if the endpoint shows a single source.
    pub(crate) fn single_upstream(&self) -> Option<Arc<dyn ServerOffering>> {
        match &self.scope.scope {
            EndpointScope::Source(source) => self.offerings.offering(source, self.era),
            EndpointScope::Everything => None,
        }
    }

    /// The combined capabilities of the upstreams beyond tools.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        let mut all = ServerCapabilities::default();
        for named in self.permitted(RESOURCES_FEATURE) {
            let Some(facts) = named.offering.facts() else { continue };
            if let Some(theirs) = &facts.capabilities.resources {
                let ours = all.resources.get_or_insert_with(Default::default);
                ours.subscribe = ours.subscribe.max(theirs.subscribe);
                ours.list_changed = ours.list_changed.max(theirs.list_changed);
            }
            if facts.capabilities.logging.is_some() {
                all.logging.get_or_insert_with(Default::default);
            }
            if facts.capabilities.completions.is_some() {
                all.completions.get_or_insert_with(Default::default);
            }
        }
        for named in self.permitted(PROMPTS_FEATURE) {
            let Some(facts) = named.offering.facts() else { continue };
            if let Some(theirs) = &facts.capabilities.prompts {
                let ours = all.prompts.get_or_insert_with(Default::default);
                ours.list_changed = ours.list_changed.max(theirs.list_changed);
            }
            if facts.capabilities.completions.is_some() {
                all.completions.get_or_insert_with(Default::default);
            }
        }
        all
    }

    /// The server info of the single upstream, as JSON.
    pub(crate) fn server_info_json(&self) -> Option<String> {
        serde_json::to_string(&self.single_upstream()?.facts()?.info).ok()
    }

    /// The server info and instructions of the single upstream.
    pub(crate) fn server_identity(&self) -> Option<(Implementation, Option<String>)> {
        let facts = self.single_upstream()?.facts()?;
        Some((facts.info.clone(), facts.instructions.clone()))
    }

    /// Resolves a URI to its upstream and the upstream's own URI.
    pub(crate) fn resolve_resource<'u>(&self, uri: &'u str) -> Option<(SourceOffering, &'u str)> {
        let mut all = self.permitted(RESOURCES_FEATURE);
        match &self.scope.scope {
            EndpointScope::Source(_) => all.pop().map(|named| (named, uri)),
            EndpointScope::Everything => {
                let (source, own) = naming::split_uri(uri)?;
                all.into_iter().find(|named| named.source == source).map(|named| (named, own))
            }
        }
    }

    fn resolve_prompt<'n>(&self, name: &'n str) -> Option<(SourceOffering, &'n str)> {
        let mut all = self.permitted(PROMPTS_FEATURE);
        match &self.scope.scope {
            EndpointScope::Source(_) => all.pop().map(|named| (named, name)),
            EndpointScope::Everything => {
                let (source, own) = naming::split_prompt(name)?;
                all.into_iter().find(|named| named.source == source).map(|named| (named, own))
            }
        }
    }

    pub(crate) async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if let Some(alone) = self.permitted_single_upstream(RESOURCES_FEATURE) {
            return alone.list_resources(page).await;
        }
        let lists = self.permitted(RESOURCES_FEATURE).into_iter().map(|named| async move {
            let all =
                list_all_pages(|page| named.offering.list_resources(page), |list| list.next_cursor.take())
                    .await;
            let mut resources: Vec<_> = all.into_iter().flat_map(|list| list.resources).collect();
            for resource in &mut resources {
                resource.uri = named.exposed_uri(&resource.uri);
            }
            resources
        });
        Ok(ListResourcesResult::with_all_items(join_lists(lists).await))
    }

    pub(crate) async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if let Some(alone) = self.permitted_single_upstream(RESOURCES_FEATURE) {
            return alone.list_resource_templates(page).await;
        }
        let lists = self.permitted(RESOURCES_FEATURE).into_iter().map(|named| async move {
            let all = list_all_pages(
                |page| named.offering.list_resource_templates(page),
                |list| list.next_cursor.take(),
            )
            .await;
            let mut templates: Vec<_> = all.into_iter().flat_map(|list| list.resource_templates).collect();
            for template in &mut templates {
                template.uri_template = named.exposed_uri(&template.uri_template);
            }
            templates
        });
        Ok(ListResourceTemplatesResult::with_all_items(join_lists(lists).await))
    }

    pub(crate) async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if let Some(alone) = self.permitted_single_upstream(PROMPTS_FEATURE) {
            return alone.list_prompts(page).await;
        }
        let lists = self.permitted(PROMPTS_FEATURE).into_iter().map(|named| async move {
            let all =
                list_all_pages(|page| named.offering.list_prompts(page), |list| list.next_cursor.take())
                    .await;
            let mut prompts: Vec<_> = all.into_iter().flat_map(|list| list.prompts).collect();
            for prompt in &mut prompts {
                prompt.name = named.exposed_prompt(&prompt.name);
            }
            prompts
        });
        Ok(ListPromptsResult::with_all_items(join_lists(lists).await))
    }

    /// The single upstream, if the client may use this feature of it.
    fn permitted_single_upstream(&self, what: &str) -> Option<Arc<dyn ServerOffering>> {
        self.permitted(what).into_iter().find(|named| named.uses_own_names).map(|named| named.offering)
    }

    pub(crate) async fn complete(
        &self,
        mut request: CompleteRequestParams,
    ) -> Result<CompleteResult, ErrorData> {
        let named = match &mut request.r#ref {
            Reference::Prompt(prompt) => {
                let found = self.resolve_prompt(&prompt.name).map(|(named, own)| (named, own.to_owned()));
                found.map(|(named, own)| {
                    prompt.name = own;
                    named
                })
            }
            Reference::Resource(resource) => {
                let found = self.resolve_resource(&resource.uri).map(|(named, own)| (named, own.to_owned()));
                found.map(|(named, own)| {
                    resource.uri = own;
                    named
                })
            }
            _ => None,
        };
        match named {
            Some(named) => named.offering.complete(request).await,
            None => Err(ErrorData::invalid_params(
                "there is no prompt and no resource template of this name",
                None,
            )),
        }
    }

    /// Finds the upstream of a prompt, and the request for it.
    pub(crate) fn route_prompt(
        &self,
        mut request: GetPromptRequestParams,
    ) -> Result<(SourceOffering, GetPromptRequestParams), ErrorData> {
        let found = self.resolve_prompt(&request.name).map(|(named, own)| (named, own.to_owned()));
        let (named, own) = found.ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no prompt {:?}", request.name), None)
        })?;
        request.name = own;
        Ok((named, request))
    }

    /// Finds the upstream of a resource, and the request for it.
    pub(crate) fn route_resource(
        &self,
        mut request: ReadResourceRequestParams,
    ) -> Result<(SourceOffering, ReadResourceRequestParams), ErrorData> {
        let found = self.resolve_resource(&request.uri).map(|(named, own)| (named, own.to_owned()));
        let (named, own) = found.ok_or_else(|| resource_not_found(&request.uri))?;
        request.uri = own;
        Ok((named, request))
    }
}

/// Reads a resource, and qualifies the URIs of its contents.
pub(crate) async fn read_resource(
    named: SourceOffering,
    request: ReadResourceRequestParams,
    client: Arc<dyn RequestingClient>,
) -> Result<ReadResourceResponse, ErrorData> {
    let mut response = named.offering.read_resource(request, client).await?;
    if let ReadResourceResponse::Complete(result) = &mut response {
        for part in &mut result.contents {
            match part {
                ResourceContents::TextResourceContents { uri, .. }
                | ResourceContents::BlobResourceContents { uri, .. } => *uri = named.exposed_uri(uri),
                _ => {}
            }
        }
    }
    Ok(response)
}

/// Gets a prompt.
pub(crate) async fn get_prompt(
    named: SourceOffering,
    request: GetPromptRequestParams,
    client: Arc<dyn RequestingClient>,
) -> Result<GetPromptResponse, ErrorData> {
    named.offering.get_prompt(request, client).await
}

pub(crate) fn resource_not_found(uri: &str) -> ErrorData {
    let data = serde_json::json!({"uri": uri});
    ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, format!("there is no resource {uri:?}"), Some(data))
}

/// Collects all pages of a list up to the first failure.
async fn list_all_pages<T, F>(
    mut list: impl FnMut(Option<PaginatedRequestParams>) -> F,
    next: impl Fn(&mut T) -> Option<String>,
) -> Vec<T>
where
    F: Future<Output = Result<T, ErrorData>>,
{
    let mut all = Vec::new();
    let mut cursor = None;
    while all.len() < MAX_PAGES {
        let page = cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
        let Ok(mut list) = list(page).await else { break };
        cursor = next(&mut list);
        all.push(list);
        if cursor.is_none() {
            break;
        }
    }
    all
}

/// Requests all lists in parallel, and keeps their order. A list that takes too long is left out.
async fn join_lists<T, F: Future<Output = Vec<T>>>(lists: impl Iterator<Item = F>) -> Vec<T> {
    let bounded =
        lists.map(|list| async { tokio::time::timeout(LIST_TIMEOUT, list).await.unwrap_or_default() });
    futures_util::future::join_all(bounded).await.into_iter().flatten().collect()
}
