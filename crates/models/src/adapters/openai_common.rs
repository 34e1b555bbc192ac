//! Parts that OpenAI's two APIs share.

mod call_id;
mod data_url;
mod function_definition;
mod model_list;
mod request_fields;

pub(super) use call_id::wire_call_id;
pub(super) use data_url::DataUrl;
pub(super) use function_definition::{convert_parameters, limit_description};
pub(super) use model_list::{model_list_url, parse_model_list};
pub(super) use request_fields::{effort_name, output_schema};
