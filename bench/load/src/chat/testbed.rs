//! A gateway whose agents talk to a fake model.

use std::path::Path;

use tempfile::TempDir;
use toolway_fake_models::{ApiKind, FakeModel, FakeModels, KEY};

use crate::error::{ErrorContext, Result};
use crate::gateway::{BenchGateway, GatewayLaunchOptions, create_data_folder};

/// A gateway and the model that its agents talk to.
pub(crate) struct ChatTestbed {
    pub(crate) gateway: BenchGateway,
    pub(crate) model: FakeModels,
}

impl ChatTestbed {
    /// Starts both. `connections` is the number of connections that the gateway must hold.
    pub(crate) async fn start(settings: &GatewayLaunchOptions, connections: usize) -> Result<Self> {
        let model = FakeModels::start().await;
        model.offer(FakeModel::defaults());
        let folder = data_folder_with_model(&model)?;
        let gateway = BenchGateway::start_in(&settings.with_connections(connections), folder).await?;
        Ok(Self { gateway, model })
    }
}

/// Creates a data folder with the model. Titles are disabled, because each would be an additional request.
fn data_folder_with_model(model: &FakeModels) -> Result<TempDir> {
    let folder = create_data_folder()?;
    let data = folder.path().join("data");
    std::fs::create_dir(&data).context("making the data folder")?;
    let key = folder.path().join("model.key");
    write_file(&key, KEY)?;
    let models = format!(
        "[[model]]\nname = \"fake\"\nkind = \"openai\"\nbase_url = \"{}\"\nkey = {{ file = \"{}\" }}\nmodel = \
         \"fake-model\"\n",
        model.base_url(ApiKind::Openai),
        key.display(),
    );
    write_file(&data.join("models.toml"), &models)?;
    write_file(&data.join("toolway.toml"), "[chat]\ngenerate_titles = false\n")?;
    Ok(folder)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).context(format!("writing {}", path.display()))
}
