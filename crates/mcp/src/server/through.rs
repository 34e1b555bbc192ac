//! What upstreams offer beyond tools, for one visitor: of one upstream under its own names, of all of them under
//! names that say whose they are.

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

use super::naming;
use super::visitor::{PROMPTS, RESOURCES, Scope, Visitor};
use crate::link::Client;
use crate::offering::{Offering, Offerings};

/// How long an upstream may take to list where those of all are listed; one that takes longer is left out.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most pages of one upstream that are put together.
const PAGES: usize = 64;

/// One upstream, and what stands before its names.
pub(crate) struct Named {
    pub(crate) source: Slug,
    pub(crate) offering: Arc<dyn Offering>,
    /// Whether its names are its own.
    pub(crate) is_alone: bool,
}

impl Named {
    pub(crate) fn uri(&self, uri: &str) -> String {
        if self.is_alone { uri.to_owned() } else { naming::uri(&self.source, uri) }
    }

    fn prompt(&self, name: &str) -> String {
        if self.is_alone { name.to_owned() } else { naming::prompt(&self.source, name) }
    }
}

/// What one visitor can reach.
pub(crate) struct Through<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) offerings: &'a dyn Offerings,
    pub(crate) visitor: &'a Visitor,
}

impl Through<'_> {
    /// The upstreams of which the visitor may have this.
    pub(crate) fn all(&self, what: &str) -> Vec<Named> {
        let named = match &self.visitor.scope {
            Scope::Source(source) => {
                let offering = self.offerings.of(source);
                offering.map(|offering| (source.clone(), offering, true)).into_iter().collect::<Vec<_>>()
            }
            Scope::Everything => {
                self.offerings.all().into_iter().map(|(source, offering)| (source, offering, false)).collect()
            }
        };
        named
            .into_iter()
            .filter(|(source, ..)| self.visitor.may_have(self.engine, source, what))
            .map(|(source, offering, is_alone)| Named { source, offering, is_alone })
            .collect()
    }

    /// The one upstream, where the visitor looks at one.
    pub(crate) fn alone(&self) -> Option<Arc<dyn Offering>> {
        match &self.visitor.scope {
            Scope::Source(source) => self.offerings.of(source),
            Scope::Everything => None,
        }
    }

    /// What the upstreams can do beyond tools, all together.
    pub(crate) fn capabilities(&self) -> ServerCapabilities {
        let mut all = ServerCapabilities::default();
        for named in self.all(RESOURCES) {
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
        for named in self.all(PROMPTS) {
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

    /// How the upstream that stands alone introduces itself, as JSON.
    pub(crate) fn introduced(&self) -> Option<String> {
        serde_json::to_string(&self.alone()?.facts()?.info).ok()
    }

    /// How the upstream that stands alone calls itself and wants to be used.
    pub(crate) fn itself(&self) -> Option<(Implementation, Option<String>)> {
        let facts = self.alone()?.facts()?;
        Some((facts.info.clone(), facts.instructions.clone()))
    }

    /// Where a URI leads, and what it is there.
    pub(crate) fn resource<'u>(&self, uri: &'u str) -> Option<(Named, &'u str)> {
        let mut all = self.all(RESOURCES);
        match &self.visitor.scope {
            Scope::Source(_) => all.pop().map(|named| (named, uri)),
            Scope::Everything => {
                let (source, own) = naming::of_uri(uri)?;
                all.into_iter().find(|named| named.source == source).map(|named| (named, own))
            }
        }
    }

    fn prompt<'n>(&self, name: &'n str) -> Option<(Named, &'n str)> {
        let mut all = self.all(PROMPTS);
        match &self.visitor.scope {
            Scope::Source(_) => all.pop().map(|named| (named, name)),
            Scope::Everything => {
                let (source, own) = naming::of_prompt(name)?;
                all.into_iter().find(|named| named.source == source).map(|named| (named, own))
            }
        }
    }

    pub(crate) async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if let Some(alone) = self.one(RESOURCES) {
            return alone.list_resources(page).await;
        }
        let lists = self.all(RESOURCES).into_iter().map(|named| async move {
            let all = pages(|page| named.offering.list_resources(page), |list| list.next_cursor.take()).await;
            let mut resources: Vec<_> = all.into_iter().flat_map(|list| list.resources).collect();
            for resource in &mut resources {
                resource.uri = named.uri(&resource.uri);
            }
            resources
        });
        Ok(ListResourcesResult::with_all_items(together(lists).await))
    }

    pub(crate) async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if let Some(alone) = self.one(RESOURCES) {
            return alone.list_resource_templates(page).await;
        }
        let lists = self.all(RESOURCES).into_iter().map(|named| async move {
            let all =
                pages(|page| named.offering.list_resource_templates(page), |list| list.next_cursor.take())
                    .await;
            let mut templates: Vec<_> = all.into_iter().flat_map(|list| list.resource_templates).collect();
            for template in &mut templates {
                template.uri_template = named.uri(&template.uri_template);
            }
            templates
        });
        Ok(ListResourceTemplatesResult::with_all_items(together(lists).await))
    }

    pub(crate) async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if let Some(alone) = self.one(PROMPTS) {
            return alone.list_prompts(page).await;
        }
        let lists = self.all(PROMPTS).into_iter().map(|named| async move {
            let all = pages(|page| named.offering.list_prompts(page), |list| list.next_cursor.take()).await;
            let mut prompts: Vec<_> = all.into_iter().flat_map(|list| list.prompts).collect();
            for prompt in &mut prompts {
                prompt.name = named.prompt(&prompt.name);
            }
            prompts
        });
        Ok(ListPromptsResult::with_all_items(together(lists).await))
    }

    /// The upstream that stands alone, where the visitor may have this of it.
    fn one(&self, what: &str) -> Option<Arc<dyn Offering>> {
        self.all(what).into_iter().find(|named| named.is_alone).map(|named| named.offering)
    }

    pub(crate) async fn complete(
        &self,
        mut request: CompleteRequestParams,
    ) -> Result<CompleteResult, ErrorData> {
        let named = match &mut request.r#ref {
            Reference::Prompt(prompt) => {
                let found = self.prompt(&prompt.name).map(|(named, own)| (named, own.to_owned()));
                found.map(|(named, own)| {
                    prompt.name = own;
                    named
                })
            }
            Reference::Resource(resource) => {
                let found = self.resource(&resource.uri).map(|(named, own)| (named, own.to_owned()));
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

    /// A prompt's text: where it comes from, and what to ask there.
    pub(crate) fn asked_prompt(
        &self,
        mut request: GetPromptRequestParams,
    ) -> Result<(Named, GetPromptRequestParams), ErrorData> {
        let found = self.prompt(&request.name).map(|(named, own)| (named, own.to_owned()));
        let (named, own) = found.ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no prompt {:?}", request.name), None)
        })?;
        request.name = own;
        Ok((named, request))
    }

    /// A resource: where it comes from, and what to ask there.
    pub(crate) fn asked_resource(
        &self,
        mut request: ReadResourceRequestParams,
    ) -> Result<(Named, ReadResourceRequestParams), ErrorData> {
        let found = self.resource(&request.uri).map(|(named, own)| (named, own.to_owned()));
        let (named, own) = found.ok_or_else(|| no_such_resource(&request.uri))?;
        request.uri = own;
        Ok((named, request))
    }
}

/// Reads a resource, whose parts are then named as they are where it was asked for.
pub(crate) async fn read(
    named: Named,
    request: ReadResourceRequestParams,
    client: Arc<dyn Client>,
) -> Result<ReadResourceResponse, ErrorData> {
    let mut response = named.offering.read_resource(request, client).await?;
    if let ReadResourceResponse::Complete(result) = &mut response {
        for part in &mut result.contents {
            match part {
                ResourceContents::TextResourceContents { uri, .. }
                | ResourceContents::BlobResourceContents { uri, .. } => *uri = named.uri(uri),
                _ => {}
            }
        }
    }
    Ok(response)
}

/// A prompt's text.
pub(crate) async fn get(
    named: Named,
    request: GetPromptRequestParams,
    client: Arc<dyn Client>,
) -> Result<GetPromptResponse, ErrorData> {
    named.offering.get_prompt(request, client).await
}

pub(crate) fn no_such_resource(uri: &str) -> ErrorData {
    let data = serde_json::json!({"uri": uri});
    ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, format!("there is no resource {uri:?}"), Some(data))
}

/// All pages of a list; none of those after one that can't be had.
async fn pages<T, F>(
    mut list: impl FnMut(Option<PaginatedRequestParams>) -> F,
    next: impl Fn(&mut T) -> Option<String>,
) -> Vec<T>
where
    F: Future<Output = Result<T, ErrorData>>,
{
    let mut all = Vec::new();
    let mut cursor = None;
    while all.len() < PAGES {
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

/// All lists side by side, in order. One that takes too long is left out.
async fn together<T, F: Future<Output = Vec<T>>>(lists: impl Iterator<Item = F>) -> Vec<T> {
    let bounded = lists.map(|list| async { tokio::time::timeout(PATIENCE, list).await.unwrap_or_default() });
    futures_util::future::join_all(bounded).await.into_iter().flatten().collect()
}
