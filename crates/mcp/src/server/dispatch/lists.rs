//! The lists: tools of the engine, and resources and prompts of upstreams.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;
use toolway_types::ToolId;

use super::{CACHE_TTL_MS, RequestContext};
use crate::server::era;
use crate::server::json_rpc::RequestParams;
use crate::server::outgoing::to_json;

impl RequestContext {
    /// `tools/list`. The tools of a page are JSON already.
    pub(super) fn list_tools(&self, params: &RequestParams) -> Result<String, ErrorData> {
        let cursor = params.to::<PaginatedRequestParams>()?.cursor;
        if let Some(cursor) = &cursor
            && cursor.parse::<ToolId>().is_err()
        {
            return Err(ErrorData::invalid_params("the cursor is invalid; start without one", None));
        }
        let is_modern = self.is_modern();
        let shared = &self.server.shared;
        let page = shared.page_cache.page(&shared.engine, &self.server.scope, cursor.as_deref(), is_modern);
        let mut result = String::with_capacity(page.tools.len() + 128);
        result.push('{');
        if is_modern {
            result.push_str(&format!(
                r#""resultType":"complete","ttlMs":{CACHE_TTL_MS},"cacheScope":"private","#
            ));
        }
        if let Some(next) = &page.next {
            result.push_str(&format!(r#""nextCursor":{},"#, to_json(next)));
        }
        result.push_str(r#""tools":["#);
        result.push_str(&page.tools);
        result.push_str("]}");
        Ok(result)
    }

    pub(super) async fn list_resources(&self, params: &RequestParams) -> Result<String, ErrorData> {
        let mut result = self.offerings().list_resources(page(params)?).await?;
        era::set_result_type(&mut result.result_type, self.is_modern());
        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, self.is_modern());
        Ok(to_json(&result))
    }

    pub(super) async fn list_resource_templates(&self, params: &RequestParams) -> Result<String, ErrorData> {
        let mut result = self.offerings().list_resource_templates(page(params)?).await?;
        era::set_result_type(&mut result.result_type, self.is_modern());
        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, self.is_modern());
        Ok(to_json(&result))
    }

    pub(super) async fn list_prompts(&self, params: &RequestParams) -> Result<String, ErrorData> {
        let mut result = self.offerings().list_prompts(page(params)?).await?;
        era::set_result_type(&mut result.result_type, self.is_modern());
        era::set_cache_hints(&mut result.ttl_ms, &mut result.cache_scope, self.is_modern());
        Ok(to_json(&result))
    }
}

/// The requested page; `None` for the first one.
fn page(params: &RequestParams) -> Result<Option<PaginatedRequestParams>, ErrorData> {
    let requested: PaginatedRequestParams = params.to()?;
    let cursor = requested.cursor.filter(|cursor| !cursor.is_empty());
    Ok(cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))))
}
